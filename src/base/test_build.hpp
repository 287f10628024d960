// SPDX-License-Identifier: BSL-1.0
// The parts that exist only when tests build the library a second time, with BECK_TEST_BUILD: known
// bugs of this field, which a test can switch on to check that the other tests find them, and a
// hook for every transition of an operation. In all other builds these are constants and empty
// functions.
#pragma once

namespace beck::detail {

/// The bugs that a test can switch on.
enum class planted_bug : unsigned char {
  none,
  lost_wake_up,     ///< an event finds a parked operation and does not wake it
  overtaking_read,  ///< a later read is tried although an earlier one waits
  stale_event,      ///< an event of a closed descriptor reaches the next owner of its slot
  lost_bytes,       ///< a write that is cancelled after a part of it reports no bytes
  early_timer,      ///< a timer ends before its time
  // Bugs of shared loops.
  late_event,       ///< an event during another thread's attempt is forgotten
  kept_leadership,  ///< a leader that leaves the kernel to run a handler wakes no follower
  hasty_close,      ///< a descriptor is closed while another thread makes a call on it
};
inline constexpr unsigned planted_bugs = 8;

#ifdef BECK_TEST_BUILD

inline planted_bug planted_now = planted_bug::none;
inline void (*on_transition)(unsigned state, unsigned event) = nullptr;

/// Returns whether `which` is switched on.
inline bool planted(planted_bug which) noexcept { return planted_now == which; }
inline void note_transition(unsigned state, unsigned event) noexcept {
  if (on_transition != nullptr) on_transition(state, event);
}

#else

constexpr bool planted(planted_bug) noexcept { return false; }
constexpr void note_transition(unsigned, unsigned) noexcept {}

#endif

}  // namespace beck::detail
