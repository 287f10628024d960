// SPDX-License-Identifier: BSL-1.0
// The transitions that a process has made, of all tables (base/transitions.hpp), for the tests:
// builds with AddressSanitizer count them (cmake/sanitizers.cmake), all others have none of this.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace beck::detail {

#ifdef BECK_COUNT_TRANSITIONS
inline constexpr bool counts_transitions = true;
#else
inline constexpr bool counts_transitions = false;
#endif

/// The log of one table. Never destroyed. Thread: any.
struct transition_log {
  static constexpr std::size_t states_max = 8;
  static constexpr std::size_t events_max = 16;

  const char* type = nullptr;  ///< a text that names the type of the states
  std::size_t events = 0;
  std::uint8_t from[events_max] = {};  ///< of each event the states in which it may occur, as bits
  std::size_t states = 1;
  std::atomic<bool> seen[states_max][events_max] = {};
  transition_log* next = nullptr;
};

/// The logs of the tables that were used.
inline std::atomic<transition_log*> transition_logs{nullptr};

/// Returns the log of a table, and lists it with its first transition.
template <class State, class Table>
transition_log& log_of(const Table& table) noexcept {
  static transition_log& log = [&]() -> transition_log& {
    static transition_log made;
    made.type = __PRETTY_FUNCTION__;
    made.events = table.size();
    for (std::size_t i = 0; i < table.size(); ++i) {
      made.from[i] = table[i].from;
      const auto to = static_cast<std::size_t>(table[i].to);
      if (to >= made.states) made.states = to + 1;
    }
    made.next = transition_logs.load();
    while (!transition_logs.compare_exchange_weak(made.next, &made)) {}
    return made;
  }();
  return log;
}

}  // namespace beck::detail
