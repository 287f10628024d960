// SPDX-License-Identifier: BSL-1.0
// Which errors of accept(2) belong to the listener, which to one connection, and which to the
// process; and the pause after the last kind.
#include "io/op/accept_pause.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "io/loop/io_loop.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {
namespace {

constexpr std::int64_t accept_pause_ns_min = 10'000'000;
constexpr std::int64_t accept_pause_ns_max = 1'000'000'000;
constexpr std::int64_t log_pause_ns = 1'000'000'000;
/// The number of lost connections in a row after which an acceptor pauses, too: a filter that
/// refuses the call looks like them. Its error is reported when the pauses have reached their
/// maximum without a connection.
constexpr unsigned lost_connections_max = 64;

/// Returns whether `result` is an error of the new connection, not of the listener (S2, accept(2)).
/// EPERM is that of a firewall. EOPNOTSUPP, which accept(2) names among them, is that of a socket
/// that cannot accept.
bool is_lost_connection(std::ptrdiff_t result) noexcept {
  switch (-result) {
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

bool is_exhaustion(std::ptrdiff_t result) noexcept {
  return result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS;
}

}  // namespace

accept_pause::accept_pause(io_loop& loop) noexcept : loop_(loop) {
  log_entry_.owner = this;
  log_entry_.run = &log_entry;
}

accept_pause::verdict accept_pause::judge(std::ptrdiff_t result) noexcept {
  const bool lost = is_lost_connection(result);
  if (lost && ++lost_connections_ <= lost_connections_max) return verdict::again;
  lost_connections_ = 0;
  if (result >= 0) pause_ns_ = 0;
  if (result == -EPERM &&
      pause_ns_ == accept_pause_ns_max) {  // after eight pauses and no connection
    pause_ns_ = 0;
    return verdict::deliver;
  }
  return lost || is_exhaustion(result) ? verdict::pause : verdict::deliver;
}

void accept_pause::add(io_op& op) noexcept {
  ++loop_.core().counters.retries;
  const std::int64_t now = loop_.sys().now();
  const bool is_first = pause_ns_ == 0 && now >= quiet_until_;
  if (is_first && reason_.load(std::memory_order_acquire) == 0) {
    quiet_until_ = now + log_pause_ns;
    reason_.store(op.result, std::memory_order_relaxed);
    loop_.engine().enqueue(
        &log_entry_);  // the sink is the program's: it is called without any lock
  }
  pause_ns_ = std::clamp(pause_ns_ * 2, accept_pause_ns_min, accept_pause_ns_max);
  retry_at_ = (duration(now) + duration(pause_ns_)).nanoseconds();
  advance(op, op_event::park);
  paused_.push(&op);
}

void accept_pause::log_entry(queue_entry* entry, runner* where) {
  accept_pause& self = *static_cast<log_message*>(entry)->owner;
  const int reason = self.reason_.exchange(0, std::memory_order_release);
  if (where == nullptr) return;
  char line[160];
  std::snprintf(line, sizeof line, "accept: %s; the acceptor pauses and tries again",
                make_error(reason).message().c_str());
  self.loop_.log(line);
}

void accept_pause::resume() noexcept {
  retry_at_ = no_deadline;
  entry_queue paused = paused_;
  paused_ = entry_queue();
  while (!paused.empty()) {
    auto& op = *static_cast<io_op*>(paused.pop());
    const descriptor_lock held(loop_.core(), *op.target);
    op.flags &= static_cast<std::uint8_t>(~io_op::flag_exhausted);
    loop_.engine().queue_attempt(op);
  }
}

void accept_pause::remove(io_op& op) noexcept { paused_.remove(&op); }

}  // namespace beck::detail
