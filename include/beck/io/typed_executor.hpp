// SPDX-License-Identifier: BSL-1.0
// The executor of an I/O object whose type is not any_io_executor; any_io_executor lives in the
// object's slot already.
#pragma once

#include <beck/run/any_io_executor.hpp>

namespace beck {

template <class Executor>
class typed_executor {
 public:
  explicit typed_executor(const Executor& executor) noexcept : executor_(executor) {}
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

}  // namespace beck
