// SPDX-License-Identifier: BSL-1.0
// Parallel groups, in the namespace experimental: of operations, and of functions of a token.
#pragma once

#include <vector>

#include <beck/asio/config.hpp>
#include <beck/asio/token.hpp>
#include <beck/interop/parallel_group.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// A function that starts an operation with the token that it is given.
template <class F>
concept token_function = !beck::async_operation<F> && requires(F& f) {
  requires beck::async_operation<decltype(f(beck::deferred))>;
};
template <class F>
concept group_member = beck::async_operation<F> || token_function<F>;

/// Returns the operation that `member` is or, with the token deferred, gives.
template <class F>
decltype(auto) operation_of(F&& member) {
  if constexpr (token_function<F>) {
    return member(beck::deferred);
  } else {
    return static_cast<F&&>(member);
  }
}

}  // namespace facade

namespace experimental {

using beck::wait_for_all;
using beck::wait_for_one;
using beck::wait_for_one_error;
using beck::wait_for_one_success;

/// Returns a group of operations that have not started: each member is one, or a function that is
/// called with deferred and returns one.
template <facade::group_member... Members>
  requires(sizeof...(Members) > 0)
auto make_parallel_group(Members&&... members) {
  return beck::make_parallel_group(facade::operation_of(static_cast<Members&&>(members))...);
}
/// Returns a group of the members in a range, of one type.
template <class Range>
  requires(!facade::group_member<Range> &&
           requires(Range& r) { requires facade::group_member<decltype(*std::begin(r))>; })
auto make_parallel_group(Range&& range) {
  using operation = std::decay_t<decltype(facade::operation_of(std::move(*std::begin(range))))>;
  std::vector<operation> all;
  for (auto& one : range) all.push_back(facade::operation_of(std::move(one)));
  return beck::make_parallel_group(static_cast<std::vector<operation>&&>(all));
}

}  // namespace experimental

BECK_ASIO_END
