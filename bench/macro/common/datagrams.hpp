// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmark udp: two connected UDP sockets on the loopback, and bursts of
// datagrams from one to the other. A burst begins when the burst before it has arrived, so no
// datagram is dropped for lack of room. The frame numbers the datagrams, and checks the number,
// the order and the size of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "micro.hpp"

namespace bench {

class datagrams {
 public:
  // A burst is one message of segmentation offload: at most 64 segments and 64 KiB.
  static constexpr std::size_t size = 1000;
  static constexpr std::size_t burst = 64;

  explicit datagrams(meter& m);
  datagrams(const datagrams&) = delete;
  datagrams& operator=(const datagrams&) = delete;

  // Return the two descriptors, which are non-blocking and connected to each other.
  [[nodiscard]] int sender() const { return sender_; }
  [[nodiscard]] int receiver() const { return receiver_; }

  // Returns the datagrams of a burst, one after the other. Call number() before each burst.
  [[nodiscard]] char* outgoing() { return outgoing_.data(); }
  void number() {
    for (std::size_t i = 0; i < burst; ++i) {
      const std::uint64_t n = received_ + i;
      std::memcpy(&outgoing_[i * size], &n, sizeof n);
      std::memcpy(&outgoing_[(i + 1) * size - sizeof n], &n, sizeof n);
    }
  }

  // Returns the buffer for a received burst; it has room for the whole burst.
  [[nodiscard]] char* incoming() { return incoming_.data(); }
  static constexpr std::size_t incoming_size = 65'536;

  // Checks a received datagram. Call it for each datagram, in the order of arrival.
  void take(const char* data, std::size_t bytes) {
    std::uint64_t first = 0, last = 0;
    require(bytes == size, "a datagram has another size");
    std::memcpy(&first, data, sizeof first);
    std::memcpy(&last, data + size - sizeof last, sizeof last);
    require(first == received_ && last == received_, "a datagram was lost, repeated or overtaken");
    ++received_;
  }
  // Returns whether the whole burst has arrived: then send the next one, unless over().
  [[nodiscard]] bool burst_complete() const { return received_ % burst == 0; }
  [[nodiscard]] bool over() const { return meter_.over(received_); }

  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] meter& frame() { return meter_; }

 private:
  meter& meter_;
  int sender_;
  int receiver_;
  std::uint64_t received_ = 0;
  std::vector<char> outgoing_;
  std::vector<char> incoming_;
};

}  // namespace bench
