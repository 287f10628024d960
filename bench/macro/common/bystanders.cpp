// SPDX-License-Identifier: BSL-1.0
//
// Bookkeeping that runs once a millisecond, outside of the measured loop itself.
#include "bystanders.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cmath>

namespace bench {
namespace {

double percentile_us(std::vector<std::int64_t>& gaps, double part) {
  std::sort(gaps.begin(), gaps.end());
  const double rank = std::ceil(part * static_cast<double>(gaps.size()));
  return static_cast<double>(gaps[static_cast<std::size_t>(rank) - 1]) / 1e3;
}

}  // namespace

bystanders::bystanders() : sockets_(connected_sockets()) {
  timer_gaps_.reserve(100'000);
  socket_gaps_.reserve(100'000);
}

void bystanders::timer_fired() {
  const std::int64_t now = thread_cpu_now_ns();
  timer_gaps_.push_back(
      std::max<std::int64_t>(0, now - set_at_ - std::int64_t{timer_period_ms} * 1'000'000));
  if (poked_) return;
  poked_ = true;
  poked_at_ = now;
  const char byte = 1;
  if (send(sockets_.far, &byte, 1, MSG_NOSIGNAL) != 1) fail_errno("send to the watched socket");
}

void bystanders::socket_was_read() {
  require(poked_, "the watched socket was read but nothing was sent");
  poked_ = false;
  socket_gaps_.push_back(thread_cpu_now_ns() - poked_at_);
}

void bystanders::conclude(meter& m) {
  if (m.options().duration_ms < 50) return;  // too short to say anything
  require(!timer_gaps_.empty(), "the timer never fired");
  require(!socket_gaps_.empty(), "the second socket was never served");
  m.note("timer_gap_p999_us", percentile_us(timer_gaps_, 0.999));
  m.note("timer_gap_max_us", percentile_us(timer_gaps_, 1));
  m.note("socket_gap_p999_us", percentile_us(socket_gaps_, 0.999));
  m.note("socket_gap_max_us", percentile_us(socket_gaps_, 1));
}

std::string& pong_buffer() {
  static std::string buffer = "+PONG\r\n";
  return buffer;
}

}  // namespace bench
