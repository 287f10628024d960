// SPDX-License-Identifier: BSL-1.0
// Parallel groups, in the namespace experimental: of operations, and of functions of a token.
#pragma once

#include <tuple>
#include <utility>
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

/// Returns the operation of a member: a function of a token is called with deferred.
template <class F>
decltype(auto) operation_of(F&& member) {
  if constexpr (token_function<F>) {
    return member(beck::deferred);
  } else {
    return static_cast<F&&>(member);
  }
}

template <class F>
using operation_for = std::decay_t<decltype(facade::operation_of(std::declval<F>()))>;

/// beck's group, which also starts outside of every context with operations that have no executor:
/// it ends on the system's pool then, as in Asio.
template <class Group>
class [[nodiscard]] parallel_group {
 public:
  parallel_group(Group&& group, const any_io_executor& executor)
      : group_(static_cast<Group&&>(group)), executor_(executor) {}

  /// As beck::parallel_group::async_wait().
  template <class Condition, class Token = beck::deferred_t>
  auto async_wait(Condition condition, Token&& token = Token()) {
    using handler = std::decay_t<Token>;
    if constexpr (requires { typename beck::async_result<handler, void()>::unspecialised; } &&
                  !beck::detail::has_associated_executor<handler>) {
      if (!executor_) executor_ = facade::default_executor();
      return group_.async_wait(static_cast<Condition&&>(condition),
                               beck::bind_executor(executor_, static_cast<Token&&>(token)));
    } else {
      return group_.async_wait(static_cast<Condition&&>(condition), static_cast<Token&&>(token));
    }
  }

 private:
  Group group_;
  any_io_executor executor_;  // of the first operation that has one
};

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
  std::tuple<facade::operation_for<Members>...> all(
      facade::operation_of(static_cast<Members&&>(members))...);
  const any_io_executor executor =
      beck::detail::fixed_members<facade::operation_for<Members>...>::executor_of(all);
  return std::apply(
      [&executor](auto&... each) {
        return facade::parallel_group(beck::make_parallel_group(std::move(each)...), executor);
      },
      all);
}
/// Returns a group of the members in a range, of one type.
template <class Range>
  requires(!facade::group_member<Range> &&
           requires(Range& r) { requires facade::group_member<decltype(*std::begin(r))>; })
auto make_parallel_group(Range&& range) {
  using operation = facade::operation_for<std::decay_t<decltype(*std::begin(range))>>;
  std::vector<operation> all;
  for (auto& one : range) all.push_back(facade::operation_of(std::move(one)));
  any_io_executor executor;
  if (!all.empty()) executor = beck::detail::executor_of_operation(all.front());
  return facade::parallel_group(beck::make_parallel_group(std::move(all)), executor);
}

}  // namespace experimental

BECK_ASIO_END
