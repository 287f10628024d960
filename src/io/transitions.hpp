// SPDX-License-Identifier: BSL-1.0
// The life of an operation as one table: state and event give the next state, or a defect. Every
// driver moves operations only through advance(), which is asserted in every build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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
inline constexpr op_state no_state = static_cast<op_state>(0xff);

/// Rows: states in the order of op_state; columns: events in the order of op_event.
inline constexpr std::array<std::array<op_state, op_events>, op_states> transition_table = [] {
  using enum op_state;
  constexpr op_state none = no_state;
  return std::array<std::array<op_state, op_events>, op_states>{{
      //            mail    queue    list    park    submit     wake   finish
      /* inert     */ {{mailed, waiting, listed, parked, none, ready, finished}},
      /* mailed    */ {{none, waiting, listed, parked, none, ready, finished}},
      /* waiting   */ {{none, none, listed, parked, none, ready, finished}},
      /* listed    */ {{none, none, none, none, in_kernel, ready, finished}},
      /* parked    */ {{none, none, none, none, none, ready, finished}},
      /* in_kernel */ {{none, none, listed, none, none, ready, finished}},
      /* ready     */ {{none, none, listed, parked, none, ready, finished}},
      /* finished  */ {{none, none, listed, parked, none, ready, none}},
  }};
}();

/// The table by columns, a byte for each state: where the event is a constant, so is its column.
inline constexpr std::array<std::uint64_t, op_events> transition_columns = [] {
  std::array<std::uint64_t, op_events> columns{};
  for (std::size_t event = 0; event < op_events; ++event) {
    for (std::size_t state = 0; state < op_states; ++state) {
      columns[event] |= std::uint64_t{static_cast<unsigned char>(transition_table[state][event])}
                        << (8 * state);
    }
  }
  return columns;
}();

inline void advance(io_op& op, op_event event) noexcept {
  const auto next = static_cast<op_state>(transition_columns[static_cast<std::size_t>(event)] >>
                                              (8 * static_cast<unsigned>(op.state)) &
                                          0xff);
  note_transition(static_cast<unsigned>(op.state), static_cast<unsigned>(event));
  BECK_ASSERT(next != no_state, "an operation was moved against its transition table");
  op.state = next;
}

}  // namespace beck
