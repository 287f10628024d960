// SPDX-License-Identifier: BSL-1.0
// The times of the phases, from the limits of the server. A connection that waits for a request is
// in two phases, so that the first second of it can be told from the rest.
#include "http/server/phase_clock.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>

namespace beck::http::detail {
namespace {

constexpr duration draining_max(1'000'000'000);
constexpr std::size_t phases = static_cast<std::size_t>(phase::linger) + 1;

}  // namespace

phase_clock::phase_clock(const any_io_executor& executor, const limits& bounds, due_function on_due)
    : on_due_(on_due) {
  duration times[phases];
  const auto time = [&times](phase p) -> duration& { return times[static_cast<std::size_t>(p)]; };
  time(phase::handshake) = bounds.handshake_timeout;
  time(phase::fresh) = bounds.idle_timeout;
  time(phase::kept) = std::min(kept_max, bounds.idle_timeout);
  time(phase::idle) = bounds.idle_timeout - time(phase::kept);
  time(phase::draining) = std::min(draining_max, bounds.idle_timeout);
  time(phase::head) = bounds.head_timeout;
  time(phase::body) = std::min(bounds.body_grace, bounds.body_timeout);
  time(phase::response) = bounds.send_timeout;
  time(phase::linger) = bounds.linger_timeout;
  const auto call = [](timeout_entry& entry, std::size_t list, void* self) {
    auto& of = static_cast<timed_entry&>(entry);
    BECK_ASSERT(of.in == static_cast<phase>(list), "an entry is due in a phase that it has left");
    of.in = phase::none;
    static_cast<phase_clock*>(self)->on_due_(of, static_cast<phase>(list));
  };
  lists_.emplace(executor, times, phases, call, this);
}

void phase_clock::enter(timed_entry& entry, phase next) noexcept {
  entry.in = next;
  if (next == phase::none || !lists_) {
    timeout_lists::remove(entry);
  } else {
    lists_->start(entry, static_cast<std::size_t>(next));
  }
}

timed_entry* phase_clock::longest_in(phase p) noexcept {
  if (!lists_) return nullptr;
  return static_cast<timed_entry*>(lists_->front(static_cast<std::size_t>(p)));
}

}  // namespace beck::http::detail
