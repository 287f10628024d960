// SPDX-License-Identifier: BSL-1.0
// error_is_value: which errors in the result of an operation an awaitable does not throw.
#pragma once

#include <beck/detail/awaited_result.hpp>

namespace beck::detail {

template <class Signature>
inline constexpr bool has_error = true;  // or is no signature
template <class... A>
inline constexpr bool has_error<void(A...)> =
    !std::is_same_v<awaited_result_t<A...>, bare_result<A...>>;

/// Whether the signature of the operation (for a scoped_operation, of the operation in it) has no
/// error. Then one in its result, unless that is an io_result, is a value like others:
/// redirect_error has written it to a variable, or the operation succeeds with an object that has a
/// function error().
template <class Op>
consteval bool error_is_value() {
  if constexpr (requires { typename Op::signature; }) {
    using result = decltype(std::declval<Op&>().await_resume());
    return !has_error<typename Op::signature> && !is_io_result<result>;
  } else if constexpr (requires { typename Op::scoped_type; }) {
    return detail::error_is_value<typename Op::scoped_type>();
  }
  return false;
}

}  // namespace beck::detail
