// SPDX-License-Identifier: BSL-1.0
// The executor that an I/O object stores when its type is the user's own: the slot in the loop has
// only an any_io_executor.
#pragma once

#include <beck/run/any_io_executor.hpp>

namespace beck::detail {

/// The executor type of an object that may become an object with the type `Executor`.
template <class Other, class Executor>
concept other_executor =
    !std::is_same_v<Other, Executor> && std::is_convertible_v<const Other&, Executor>;

/// The executor of an object whose type is not any_io_executor; an any_io_executor is in the slot
/// already.
template <class Executor>
class typed_executor {
 public:
  explicit typed_executor(const Executor& executor) noexcept : executor_(executor) {}
  // There is no move: a moved-from object keeps its executor.
  typed_executor(const typed_executor&) = default;
  typed_executor& operator=(const typed_executor&) = default;
  Executor get(const any_io_executor&) const noexcept { return executor_; }

 private:
  Executor executor_;
};
template <>
class typed_executor<any_io_executor> {
 public:
  explicit typed_executor(const any_io_executor&) noexcept {}
  any_io_executor get(const any_io_executor& own) const noexcept { return own; }
};

}  // namespace beck::detail
