// SPDX-License-Identifier: BSL-1.0
// error_is_value: which errors in the result of an operation an awaitable does not throw.
#pragma once

#include <beck/base/error.hpp>

namespace beck::detail {

template <class Signature>
inline constexpr bool begins_with_error = false;
template <class... A>
inline constexpr bool begins_with_error<void(error_code, A...)> = true;

/// Whether the signature of the operation (for a scoped_operation, of the operation in it) has no
/// error. Then an error in its result is a value like others: redirect_error has written it to a
/// variable, or the operation succeeds with a value that has a function error().
template <class Op>
consteval bool error_is_value() {
  if constexpr (requires { typename Op::signature; }) {
    return !begins_with_error<typename Op::signature>;
  } else if constexpr (requires { typename Op::scoped_type; }) {
    return detail::error_is_value<typename Op::scoped_type>();
  } else {
    return false;
  }
}

}  // namespace beck::detail
