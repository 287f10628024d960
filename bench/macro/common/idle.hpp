// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmark idle: TCP connections on the loopback with very little traffic. 16
// connections receive one message each, and when all of these have arrived the next 16 do. The
// frame also reports the memory that a waiting connection costs its peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "micro.hpp"

namespace bench {

class idle_crowd {
 public:
  static constexpr std::size_t active = 16;
  static constexpr std::size_t message = 256;
  static constexpr std::size_t buffer_size = 4096;  // of a session that has its own

  idle_crowd(meter& m, std::size_t connections);

  [[nodiscard]] const settings& options() const { return meter_.options(); }
  [[nodiscard]] std::size_t size() const { return near_.size(); }
  // Returns the descriptor of a connection, which is non-blocking. The frame has the other end.
  [[nodiscard]] int connection(std::size_t i) const { return near_[i]; }

  // Measure the memory of the sessions: call the first before the sessions are made, and the second
  // when all of them wait for data.
  void sessions_begin();
  void sessions_wait();

  // Sends the next messages. This happens inside the loop, so every peer pays the same for it.
  void speak();
  // Counts a read of `bytes` bytes. Returns true if all messages of the round have arrived: then
  // call speak(), unless over().
  [[nodiscard]] bool take(std::size_t bytes);
  [[nodiscard]] bool over() const { return meter_.over(received_); }
  [[nodiscard]] std::uint64_t received() const { return received_; }

 private:
  meter& meter_;
  std::vector<int> near_;
  std::vector<int> far_;
  std::size_t memory_before_ = 0;
  std::size_t pending_bytes_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace bench
