// SPDX-License-Identifier: BSL-1.0
// The transitions that a process has made, in all tables (base/transitions.hpp), for the tests.
// Builds with AddressSanitizer count them (cmake/sanitizers.cmake); other builds have no log.
#pragma once

#include <algorithm>
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

  /// Makes the log and adds it to the list of all logs. `name`: contains the type of the states.
  template <class Table>
  transition_log(const char* name, const Table& table) noexcept;

  const char* type;
  std::size_t events;
  std::size_t states = 1;
  std::uint8_t from[events_max] = {};  ///< of each event the states in which it may occur, as bits
  std::atomic<bool> seen[states_max][events_max] = {};
  transition_log* next;
};

/// The logs of the tables that were used.
inline std::atomic<transition_log*> transition_logs{nullptr};

template <class Table>
transition_log::transition_log(const char* name, const Table& table) noexcept
    : type(name), events(table.size()), next(transition_logs.load()) {
  static_assert(std::tuple_size_v<Table> <= events_max);
  for (std::size_t i = 0; i < events; ++i) {
    from[i] = table[i].from;
    states = std::max(states, static_cast<std::size_t>(table[i].to) + 1);
  }
  while (!transition_logs.compare_exchange_weak(next, this)) {}
}

/// Returns the log of a table. Makes it for the first transition.
template <class State, class Table>
transition_log& log_of(const Table& table) noexcept {
  static transition_log log(__PRETTY_FUNCTION__, table);
  return log;
}

}  // namespace beck::detail
