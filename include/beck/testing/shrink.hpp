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

/// The options of shrink(). A value; each setter returns *this.
class shrink_options {
 public:
  /// Makes the defaults.
  shrink_options() noexcept {}

  /// Sets the most runs of the program. Default: 4,000.
  shrink_options& tries_max(std::size_t tries) noexcept {
    tries_max_ = tries;
    return *this;
  }
  /// Sets a function that is called whenever a smaller tape has been found.
  shrink_options& on_progress(void (*call)(const shrink_progress&, void* data),
                              void* data = nullptr) noexcept {
    call_ = call;
    data_ = data;
    return *this;
  }

 private:
  friend struct shrink_access;

  std::size_t tries_max_ = 4'000;
  void (*call_)(const shrink_progress&, void* data) = nullptr;
  void* data_ = nullptr;
};

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
