// SPDX-License-Identifier: BSL-1.0
// The timer rings for the earliest entry that there was when it was set. Entries move all the time;
// the timer only when it rings.
#include "http/phase_clock.hpp"

#include <algorithm>
#include <new>

namespace beck::http::detail {
namespace {

constexpr long long draining_ns = 1'000'000'000;

}  // namespace

phase_clock::phase_clock(const any_io_executor& executor, const limits& bounds, due_function on_due,
                         std::weak_ptr<void> keep_alive)
    : timer_(executor), on_due_(on_due), keep_alive_(std::move(keep_alive)) {
  const auto wait = [this](phase p) -> std::int64_t& {
    return waits_[static_cast<std::size_t>(p)];
  };
  wait(phase::none) = INT64_MAX;
  wait(phase::handshake) = bounds.handshake().nanoseconds();
  wait(phase::fresh) = bounds.idle().nanoseconds();
  wait(phase::kept) = std::min(kept_max.nanoseconds(), bounds.idle().nanoseconds());
  wait(phase::idle) = wait(phase::fresh) - wait(phase::kept);
  wait(phase::draining) = std::min(draining_ns, bounds.idle().nanoseconds());
  wait(phase::head) = bounds.head().nanoseconds();
  wait(phase::body) =
      std::min(bounds.body_grace().nanoseconds(), bounds.body_pause().nanoseconds());
  wait(phase::reply) = bounds.reply().nanoseconds();
  wait(phase::linger) = bounds.linger().nanoseconds();
  for (std::int64_t& one : waits_) one = std::max<std::int64_t>(one, 1);  // the future, always
}

void phase_clock::enter(timed_entry& entry, phase next) noexcept {
  entry.hook.unlink();
  entry.in = next;
  if (next == phase::none || stopped_) return;
  const std::int64_t wait = waits_[static_cast<std::size_t>(next)];
  const std::int64_t now = loop_time();
  entry.due = now > INT64_MAX - wait ? INT64_MAX : now + wait;
  in(next).push_back(entry);
  if (entry.due < armed_) arm();
}

/// Sets the timer for the entry that is due first. Without memory for that it is not set, so that
/// the next entry tries again: otherwise no limit would ever be kept again.
void phase_clock::arm() noexcept {
  std::int64_t first = INT64_MAX;
  for (list& waiting : lists_) {
    if (!waiting.empty()) first = std::min(first, waiting.front()->due);
  }
  timer_.expires_at(time_point(duration(first)));
  armed_ = INT64_MAX;
  if (first == INT64_MAX) return;
  try {
    timer_.async_wait([this, keep = keep_alive_.lock()](const error_code& ec) {
      if (ec == error::operation_aborted || stopped_) return;
      armed_ = INT64_MAX;
      if (!ec) ring();
    });
    armed_ = first;
  } catch (const std::bad_alloc&) {}
}

void phase_clock::ring() {
  const std::int64_t now = loop_time();
  armed_ = now;  // entries that are made meanwhile need no timer of their own
  for (list& waiting : lists_) {
    while (!waiting.empty() && waiting.front()->due <= now) {
      timed_entry& entry = *waiting.pop_front();
      const phase was = entry.in;
      entry.in = phase::none;
      on_due_(entry, was);
      if (stopped_) return;
    }
  }
  arm();
}

void phase_clock::stop() {
  stopped_ = true;
  for (list& waiting : lists_) {
    while (!waiting.empty()) waiting.pop_front()->in = phase::none;
  }
  static_cast<void>(timer_.cancel());
}

}  // namespace beck::http::detail
