// SPDX-License-Identifier: BSL-1.0
// The states of a blocking command.
#include "redis/session/blocking_state.hpp"

#include <algorithm>

#include "base/transitions.hpp"

namespace beck::redis::detail {
namespace {

/// In the order of blocking_event.
constexpr beck::detail::transition_table<blocking, 5> blocking_transitions = [] {
  using beck::detail::any_of;
  using enum blocking;
  return beck::detail::transition_table<blocking, 5>{{
      /* begin   */ {waiting, any_of({none})},
      /* stop    */ {stopping, any_of({waiting})},
      /* unblock */ {unblocked, any_of({stopping})},
      /* detach  */ {waiting, any_of({stopping})},
      /* end     */ {none, any_of({waiting, stopping, unblocked})},
  }};
}();

}  // namespace

void blocking_state::begin(std::int64_t time, std::int64_t now) noexcept {
  advance(state_, blocking_event::begin, blocking_transitions);
  time_ = time;
  begun_at_ = now;
}

void blocking_state::stop(exchange& one, const error_code& why) noexcept {
  advance(state_, blocking_event::stop, blocking_transitions);
  stopped_ = &one;
  reason_ = why;
}

void blocking_state::unblock() noexcept {
  advance(state_, blocking_event::unblock, blocking_transitions);
}

void blocking_state::end() noexcept {
  advance(state_, blocking_event::end, blocking_transitions);
  stopped_ = nullptr;
}

void blocking_state::detach(const exchange& one) noexcept {
  if (stopped_ != &one) return;
  if (is_unblocked()) return end();
  advance(state_, blocking_event::detach, blocking_transitions);
  stopped_ = nullptr;
}

std::int64_t blocking_state::until(std::int64_t heard_at) const noexcept {
  if (!is_blocked()) return INT64_MIN;
  const std::int64_t since = std::max(begun_at_, heard_at);
  return time_ < INT64_MAX - since ? since + time_ : INT64_MAX;
}

}  // namespace beck::redis::detail
