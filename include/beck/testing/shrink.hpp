// SPDX-License-Identifier: BSL-1.0
// Shrinking: from the tape of a failing run to a smaller tape that still fails, with as few choices
// as possible that are not the calmest one.
#pragma once

#include <beck/testing/tape.hpp>
#include <cstddef>
#include <type_traits>

namespace beck::testing::sim {

/// The progress of shrinking.
struct shrink_progress {
  std::size_t tries = 0;
  std::size_t choices_before = 0;  ///< of the tape at the start
  std::size_t choices = 0;         ///< of the smallest tape yet
};

/// The options of shrink().
struct shrink_options {
  std::size_t tries_max = 4'000;  ///< the most runs of the program
  /// A function that is called, with `data`, whenever a smaller tape has been found.
  void (*on_progress)(const shrink_progress&, void* data) = nullptr;
  void* data = nullptr;
};
static_assert(std::is_trivially_destructible_v<shrink_options>);

namespace functions {

/// Shrinks without the template of shrink(); for the library.
tape shrink_erased(const tape& failing, bool (*still_fails)(const tape&, void*), void* data,
                   const shrink_options& how);

/// Returns a smaller tape for which `still_fails(const tape&)` is true: deletes and calms spans of
/// draws and lowers their values, stream by stream. The result has been run and has failed, unless
/// it is `failing` itself, which is not run. An exception of `still_fails` ends the search. Thread:
/// the caller's.
template <class StillFails>
tape shrink(const tape& failing, StillFails&& still_fails,
            const shrink_options& how = shrink_options()) {
  using callable = std::remove_reference_t<StillFails>;
  callable* object = __builtin_addressof(still_fails);
  return functions::shrink_erased(
      failing,
      [](const tape& candidate, void* data) -> bool {
        return (**static_cast<callable**>(data))(candidate);
      },
      &object, how);
}

}  // namespace functions
using namespace functions;

}  // namespace beck::testing::sim
