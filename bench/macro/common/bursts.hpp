// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmark write_queue: bursts of small messages into a UNIX stream socket. When
// a burst is written, the frame reads it, and checks the first and the last byte of each message.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

#include "micro.hpp"

namespace bench {

class bursts {
 public:
  static constexpr int messages = 16;
  static constexpr int size = 64;

  explicit bursts(meter& m) : meter_(m), sockets_(connected_sockets()) {
    ::fcntl(sockets_.near, F_SETFL, O_NONBLOCK);
  }

  [[nodiscard]] int writer() const { return sockets_.near; }
  [[nodiscard]] bool over() const { return meter_.over(sent_); }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

  // Returns the bytes of the next message.
  const char* next() {
    for (char& byte : message_) byte = static_cast<char>(sent_);
    ++sent_;
    return message_;
  }
  // Reads and checks a burst; to be called after it was written.
  void read() {
    char all[messages * size];
    for (int have = 0; have < messages * size;) {
      const auto n = ::read(sockets_.far, all + have, sizeof all - static_cast<unsigned>(have));
      if (n <= 0) fail("write_queue: read");
      have += static_cast<int>(n);
    }
    for (int i = 0; i < messages; ++i) {
      const auto expected = static_cast<char>(sent_ - messages + static_cast<unsigned>(i));
      if (all[i * size] != expected || all[i * size + size - 1] != expected)
        fail("write_queue: a message is damaged");
    }
  }

 private:
  meter& meter_;
  socket_pair sockets_;
  std::uint64_t sent_ = 0;
  char message_[size] = {};
};

}  // namespace bench
