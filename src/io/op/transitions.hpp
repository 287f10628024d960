// SPDX-License-Identifier: BSL-1.0
// The life of an operation as one table: where each event leads, and from where; all else is a
// defect. Every driver moves operations only through advance(), which is asserted in every build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <beck/base/assert.hpp>
#include <beck/io/operation.hpp>

#include "base/test_build.hpp"

namespace beck {

enum class op_event : std::uint8_t {
  mail,    ///< started off the runner
  queue,   ///< another operation of its direction is before it
  list,    ///< to be tried or submitted one turn later
  park,    ///< nothing to do until the descriptor is ready or its time has come
  submit,  ///< handed to the kernel
  wake,    ///< ready, or to be tried from the queue because the budget is spent
  finish,  ///< its result is known
};

inline constexpr std::size_t op_states = 8;
inline constexpr std::size_t op_events = 7;

/// Every event leads to one state; it may come in some.
struct transition {
  op_state to;
  std::uint8_t from;  ///< a bit for each state

  constexpr bool may_leave(op_state state) const noexcept {
    return (from >> static_cast<unsigned>(state) & 1) != 0;
  }
};

consteval std::uint8_t any_of(std::initializer_list<op_state> states) {
  unsigned bits = 0;
  for (const op_state state : states) bits |= 1U << static_cast<unsigned>(state);
  return static_cast<std::uint8_t>(bits);
}

consteval std::uint8_t any_but(std::initializer_list<op_state> states) {
  return static_cast<std::uint8_t>(~any_of(states));
}

/// In the order of op_event.
inline constexpr std::array<transition, op_events> transitions = [] {
  using enum op_state;
  return std::array<transition, op_events>{{
      /* mail   */ {mailed, any_of({inert})},
      /* queue  */ {waiting, any_of({inert, mailed})},
      /* list   */ {listed, any_but({listed, parked, finished})},
      /* park   */ {parked, any_but({listed, parked, in_kernel, finished})},
      /* submit */ {in_kernel, any_of({listed})},
      /* wake   */ {ready, any_but({})},
      /* finish */ {finished, any_but({finished})},
  }};
}();

inline void advance(io_op& op, op_event event) noexcept {
  const transition& change = transitions[static_cast<std::size_t>(event)];
  note_transition(static_cast<unsigned>(op.state), static_cast<unsigned>(event));
  BECK_ASSERT(change.may_leave(op.state), "an operation was moved against its transition table");
  op.state = change.to;
}

}  // namespace beck
