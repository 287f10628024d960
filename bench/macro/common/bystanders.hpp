// SPDX-License-Identifier: BSL-1.0
//
// A 1 ms timer and a second socket, which must make progress beside a loop that never waits. Every
// peer of read_until runs them, and reports their longest waits. The time is CPU time of the
// thread, so that a busy machine does not look like an unfair loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "micro.hpp"

namespace bench {

class bystanders {
 public:
  static constexpr int timer_period_ms = 1;

  bystanders();

  // Returns the socket to watch: read one byte, call socket_was_read(), read again.
  [[nodiscard]] int watched_socket() const { return sockets_.near; }

  // Notes that the timer was set, or has fired. Call the first when the timer has been set, and the
  // second at the beginning of its handler; the second makes the watched socket readable.
  void timer_was_set() { set_at_ = thread_cpu_now_ns(); }
  void timer_fired();
  void socket_was_read();

  // Adds the gaps (the 99.9th percentile and the largest, in microseconds) to the report, and fails
  // if the timer or the socket starved. Call after meter.finish().
  void conclude(meter& m);

 private:
  socket_pair sockets_;
  bool poked_ = false;
  std::int64_t set_at_ = 0;
  std::int64_t poked_at_ = 0;
  std::vector<std::int64_t> timer_gaps_;
  std::vector<std::int64_t> socket_gaps_;
};

// Returns the buffer, which holds one whole message and is never consumed. It is made in another
// translation unit, so that no compiler knows the result of the search.
std::string& pong_buffer();
inline constexpr std::size_t pong_size = 7;  // "+PONG\r\n"

}  // namespace bench
