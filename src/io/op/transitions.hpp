// SPDX-License-Identifier: BSL-1.0
// The states of operations and descriptors as tables (base/transitions.hpp).
#pragma once

#include <cstdint>

#include <beck/detail/operation.hpp>

#include "base/test_build.hpp"
#include "base/transitions.hpp"
#include "io/op/descriptor.hpp"

namespace beck::detail {

enum class op_event : std::uint8_t {
  mail,    ///< started off the runner
  queue,   ///< another operation of its direction is before it
  list,    ///< to be attempted or submitted one poll later
  park,    ///< nothing to do until its descriptor is ready or its time has come
  submit,  ///< passed to the kernel
  wake,    ///< to be attempted from the run queue: it is ready, or the budget was spent
  finish,  ///< its result is known
};

inline constexpr std::size_t op_states = 8;
inline constexpr std::size_t op_events = 7;

/// In the order of op_event.
inline constexpr transition_table<op_state, op_events> transitions = [] {
  using enum op_state;
  return transition_table<op_state, op_events>{{
      /* mail   */ {mailed, any_of({inert})},
      /* queue  */ {waiting, any_of({inert, mailed})},
      /* list   */ {listed, any_but({listed, parked, finished})},
      /* park   */ {parked, any_but({listed, parked, in_kernel, finished})},
      /* submit */ {in_kernel, any_of({listed})},
      /* wake   */ {ready, any_but<op_state>({})},
      /* finish */ {finished, any_but({finished})},
  }};
}();

inline void advance(io_op& op, op_event event) noexcept {
  note_transition(static_cast<unsigned>(op.state), static_cast<unsigned>(event));
  advance(op.state, event, transitions);
}

// --- descriptors ---------------------------------------------------------------------------------

enum class slot_event : std::uint8_t {
  open,    ///< it has a descriptor number
  detach,  ///< its operations end, for a close, a release or the end of the context
  stay,    ///< it was detached, and stays open
  wait,    ///< it was detached, but the kernel still holds operations of it
  close,   ///< it has no descriptor number any more
};

/// In the order of slot_event. A slot without a number may be detached: an open of a file may be
/// under way.
inline constexpr transition_table<slot_state, 5> slot_transitions = [] {
  using enum slot_state;
  return transition_table<slot_state, 5>{{
      /* open   */ {open, any_of({closed})},
      /* detach */ {detaching, any_of({closed, open})},
      /* stay   */ {open, any_of({detaching})},
      /* wait   */ {closing, any_of({detaching})},
      /* close  */ {closed, any_of({detaching, closing})},
  }};
}();

inline void advance(descriptor& d, slot_event event) noexcept {
  advance(d.slot, event, slot_transitions);
}

enum class watch_event : std::uint8_t {
  ask,      ///< events are wanted; the driver asks for them in its next poll
  watch,    ///< the kernel was asked
  unwatch,  ///< they are not wanted any more; the driver says so in its next poll
  unasked,  ///< the kernel was asked for the end, and will report it
  end,      ///< nothing more comes
};

/// In the order of watch_event.
inline constexpr transition_table<watch_state, 5> watch_transitions = [] {
  using enum watch_state;
  return transition_table<watch_state, 5>{{
      /* ask     */ {arming, any_of({none})},
      /* watch   */ {watched, any_of({none, arming})},
      /* unwatch */ {unwatching, any_of({watched})},
      /* unasked */ {watched, any_of({unwatching})},
      /* end     */ {none, any_but<watch_state>({})},
  }};
}();

inline void advance(descriptor& d, watch_event event) noexcept {
  advance(d.watch, event, watch_transitions);
}

}  // namespace beck::detail
