// SPDX-License-Identifier: BSL-1.0
// The executor that an operation completes on if its handler names none, as far as that is known
// before it starts: for operations that contain others.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/run/deferred.hpp>

namespace beck::detail::functions {

/// Returns the executor of an operation that knows one, else that of the calling coroutine or
/// handler; an empty one outside of both.
template <class Op>
any_io_executor executor_of_operation(const Op& operation) {
  any_io_executor own;
  if constexpr (requires { callback_start<Op>::executor(operation); }) {
    own = callback_start<Op>::executor(operation);
  } else if constexpr (requires { operation.initiation().get_executor(); }) {
    own = any_io_executor(operation.initiation().get_executor());
  }
  if (own || runner::current() == nullptr) return own;
  return ambient_scope().executor();
}

}  // namespace beck::detail::functions
