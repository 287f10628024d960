// SPDX-License-Identifier: BSL-1.0
// throws_error: which results an awaitable replaces by their value or an exception.
#pragma once

#include <beck/detail/awaited_result.hpp>

namespace beck::detail {

/// Whether a completion with this signature says that it has failed; true for what is no signature.
template <class Signature>
inline constexpr bool has_error = true;
template <class... A>
inline constexpr bool has_error<void(A...)> =
    !std::is_same_v<awaited_result_t<A...>, bare_result<A...>>;

/// Whether an error in the result of an operation is a value like others: use_awaitable has thrown
/// that of the operation, or the signature has none, because redirect_error has written it to a
/// variable or because the operation succeeds with an object that has a function error(), and is no
/// io_result. For an operation in a scope, that operation counts.
template <class Op>
consteval bool error_is_value() {
  if constexpr (requires { Op::has_thrown; }) {
    return true;
  } else if constexpr (requires { typename Op::signature; }) {
    using result = decltype(std::declval<Op&>().await_resume());
    return !has_error<typename Op::signature> && !is_io_result<std::remove_cvref_t<result>>;
  } else if constexpr (requires { typename Op::operation_in_scope; }) {
    return detail::error_is_value<typename Op::operation_in_scope>();
  }
  return false;
}

/// An operation for whose result use_awaitable and an awaitable return the value() or throw.
template <class Op>
concept throws_error = requires(Op& op) {
  op.await_resume().error();
  op.await_resume().value();
} && !detail::error_is_value<Op>();

}  // namespace beck::detail
