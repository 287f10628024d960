// SPDX-License-Identifier: BSL-1.0
// State machines as tables: for each event the next state, and the states in which the event may
// occur. Any other transition is a bug. A state changes only through advance(), which asserts this
// in every build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <beck/base/assert.hpp>

#include "base/transition_log.hpp"

namespace beck::detail {

/// The state after an event, and the states in which the event may occur.
template <class State>
struct transition {
  State to;
  std::uint8_t from;  ///< a bit for each state

  constexpr bool may_leave(State state) const noexcept {
    return (from >> static_cast<unsigned>(state) & 1) != 0;
  }
};

/// A row for each event, in the order of the events.
template <class State, std::size_t Events>
using transition_table = std::array<transition<State>, Events>;

template <class State>
consteval std::uint8_t any_of(std::initializer_list<State> states) {
  unsigned bits = 0;
  for (const State state : states) {
    if (static_cast<unsigned>(state) >= 8) throw "a table has at most 8 states";
    bits |= 1U << static_cast<unsigned>(state);
  }
  return static_cast<std::uint8_t>(bits);
}

template <class State>
consteval std::uint8_t any_but(std::initializer_list<State> states) {
  return static_cast<std::uint8_t>(~any_of(states));
}

/// Moves `state` to the state after `event`. Asserts that the event may occur in `state`.
template <class State, class Event, std::size_t Events>
void advance(State& state, Event event, const transition_table<State, Events>& table) noexcept {
  const transition<State>& change = table[static_cast<std::size_t>(event)];
  BECK_ASSERT(change.may_leave(state), "a state was changed against its table of transitions");
  if constexpr (counts_transitions) {
    auto& seen = log_of<State>(table).seen[static_cast<std::size_t>(state)];
    seen[static_cast<std::size_t>(event)].store(true, std::memory_order_relaxed);
  }
  state = change.to;
}

}  // namespace beck::detail
