// SPDX-License-Identifier: BSL-1.0
// && and || between awaitables, with Asio's meaning: both run side by side in the frame of a new
// task; && waits for both, || for the first that succeeds. Opt-in: <tuple> and <variant>, and
// operators that only `using namespace beck::awaitable_operators;` makes visible.
#pragma once

#include <beck/coro/when_all.hpp>
#include <exception>
#include <tuple>
#include <variant>

namespace beck {

/// The exception of `a && b` and `a || b` if both have thrown.
class multiple_exceptions : public std::exception {
 public:
  /// Keeps `first`.
  explicit multiple_exceptions(std::exception_ptr first) noexcept
      // NOLINTNEXTLINE(bugprone-throw-keyword-missing): a member that is moved
      : first_(static_cast<std::exception_ptr&&>(first)) {}
  const char* what() const noexcept override { return "multiple exceptions"; }
  /// Returns the exception that was thrown first.
  std::exception_ptr first_exception() const noexcept { return first_; }

 private:
  std::exception_ptr first_;
};

namespace detail {

/// Lets the first branch that fails, or that succeeds, decide; and keeps the first exception.
template <bool Fails>
class end_decides {
 public:
  static constexpr const char* waits_for = Fails ? "&&" : "||";
  bool operator()(const branch& ended) noexcept {
    if (ended.failed() && !first_) first_ = ended.exception();
    return ended.failed() == Fails;
  }
  std::exception_ptr first() const noexcept { return first_; }

 private:
  std::exception_ptr first_;
};

/// How both operands have ended.
template <class T, class U>
struct pair_end {
  pair_end(std::size_t index, std::exception_ptr exception,
           result_pack<branch_outcome<T>, branch_outcome<U>>&& ends)
      : decisive(index),
        first(static_cast<std::exception_ptr&&>(exception)),
        outcomes(static_cast<result_pack<branch_outcome<T>, branch_outcome<U>>&&>(ends)) {}

  auto& left() noexcept { return outcomes.template get<0>(); }
  auto& right() noexcept { return outcomes.template get<1>(); }

  std::size_t decisive;
  std::exception_ptr first;
  result_pack<branch_outcome<T>, branch_outcome<U>> outcomes;
};

template <bool Fails, class Left, class Right>
class [[nodiscard]] pair_operation : public branches_operation<end_decides<Fails>, Left, Right> {
 public:
  using branches_operation<end_decides<Fails>, Left, Right>::branches_operation;
  auto await_resume() {
    return pair_end<typename Left::value_type, typename Right::value_type>(
        this->decisive(), this->decides_.first(), this->branches_.outcomes());
  }
};

template <class A>
using task_of = decltype(detail::as_task(std::declval<A>()));
template <bool Fails, class A, class B>
using pair_of = pair_operation<Fails, task_of<A>, task_of<B>>;
template <class A>
using value_of = typename task_of<A>::value_type;

/// Appends a value to those of &&: void adds none, and a tuple on the left is continued.
template <class T>
struct values_of {
  using list = std::tuple<T>;
  using result = T;
};
template <>
struct values_of<void> {
  using list = std::tuple<>;
  using result = void;
};
template <class... T>
struct values_of<std::tuple<T...>> {
  using list = std::tuple<T...>;
  using result = list;
};
template <class T, class U>
struct and_values {
  using type = decltype(std::tuple_cat(std::declval<typename values_of<T>::list>(),
                                       std::declval<std::tuple<U>>()));
};
template <class T>
struct and_values<T, void> {
  using type = typename values_of<T>::result;
};
template <class U>
struct and_values<void, U> {
  using type = U;
};
template <>
struct and_values<void, void> {
  using type = void;
};

/// Appends an alternative to those of ||: void is std::monostate, and a variant on the left is
/// continued.
template <class T>
using alternative = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
template <class T, class U>
struct or_values {
  using type = std::variant<alternative<T>, alternative<U>>;
};
template <class... T, class U>
struct or_values<std::variant<T...>, U> {
  using type = std::variant<T..., alternative<U>>;
};

/// Whether the task of `a && b` or `a || b` is an awaitable<T>: unless an operand is a task<T>.
template <class A>
inline constexpr bool is_plain_task = false;
template <class T>
inline constexpr bool is_plain_task<task<T, false>> = true;
template <class A>
inline constexpr bool takes_values = is_task<A> && is_plain_task<task_of<A>>;

template <class A, class B>
using and_task = task<typename and_values<value_of<A>, value_of<B>>::type,
                      !(takes_values<A> || takes_values<B>)>;
template <class A, class B>
using or_task =
    task<typename or_values<value_of<A>, value_of<B>>::type, !(takes_values<A> || takes_values<B>)>;

namespace functions {

/// The result of && after both have succeeded.
template <class T, class U>
auto joined(pair_end<T, U>& ended) -> typename and_values<T, U>::type {
  if constexpr (std::is_void_v<U>) {
    if constexpr (!std::is_void_v<T>) return std::move(ended.left()).value();
  } else if constexpr (std::is_void_v<T>) {
    return std::move(ended.right()).value();
  } else {
    return std::tuple_cat(typename values_of<T>::list(std::move(ended.left()).value()),
                          std::tuple<U>(std::move(ended.right()).value()));
  }
}

/// Makes the alternative at `index` of a continued variant from that of the shorter one.
template <class Wide, std::size_t I = 0, class Narrow>
Wide widened(Narrow&& from) {
  if constexpr (I + 1 < std::variant_size_v<std::decay_t<Narrow>>) {
    if (from.index() != I) return functions::widened<Wide, I + 1>(static_cast<Narrow&&>(from));
  }
  return Wide(std::in_place_index<I>, std::get<I>(static_cast<Narrow&&>(from)));
}

/// The result of || if the left operand has won.
template <class Result, class T, class U>
Result left_of(pair_end<T, U>& ended) {
  if constexpr (std::is_void_v<T>) {
    return Result(std::in_place_index<0>);
  } else if constexpr (std::variant_size_v<Result> == 2) {
    return Result(std::in_place_index<0>, std::move(ended.left()).value());
  } else {
    return functions::widened<Result>(std::move(ended.left()).value());
  }
}
template <class Result, class T, class U>
Result right_of(pair_end<T, U>& ended) {
  constexpr std::size_t last = std::variant_size_v<Result> - 1;
  if constexpr (std::is_void_v<U>) {
    return Result(std::in_place_index<last>);
  } else {
    return Result(std::in_place_index<last>, std::move(ended.right()).value());
  }
}

}  // namespace functions

}  // namespace detail

/// The operators: `using namespace beck::awaitable_operators;`. Asio has them in
/// asio::experimental::awaitable_operators.
namespace awaitable_operators {

/// Runs both side by side and returns the values of both: `auto [n, text] = co_await (count() &&
/// read());`. A void operand adds no value; without values the result is void, with one it is that
/// value, else a std::tuple, which a further && continues. If one throws, the other is stopped;
/// when both have ended the exception is thrown, or multiple_exceptions if both have thrown (a
/// stopped operand mostly does). Takes tasks and operations. The error of an operation is an
/// exception only with use_awaitable; without it the value is an io_result.
/// Cancellation: a stop of the awaiting coroutine's scope stops both. Memory: a frame, and one more
/// for each operation.
template <detail::scoped_awaitable A, detail::scoped_awaitable B>
auto operator&&(A a, B b) -> detail::and_task<A, B> {
  detail::pair_of<true, A, B> both(detail::as_task(static_cast<A&&>(a)),
                                   detail::as_task(static_cast<B&&>(b)));
  auto ended = co_await static_cast<decltype(both)&&>(both);
  if (ended.left().failed() && ended.right().failed()) throw multiple_exceptions(ended.first);
  if (ended.first) std::rethrow_exception(ended.first);
  co_return detail::joined(ended);
}

/// Runs both side by side until one has succeeded, stops the other, and returns, when that has
/// ended too, the value as a std::variant, whose index says which: `auto r = co_await (read() ||
/// timer.async_wait(use_awaitable));`. The alternative of a void operand is std::monostate; a
/// further || continues a variant. An operand that throws does not stop the other. If both throw,
/// so does the task: multiple_exceptions. The value of an operand that finished although it was
/// stopped is dropped; if it must not be lost, use when_any. Everything else as &&.
template <detail::scoped_awaitable A, detail::scoped_awaitable B>
auto operator||(A a, B b) -> detail::or_task<A, B> {
  using result = typename detail::or_task<A, B>::value_type;
  detail::pair_of<false, A, B> both(detail::as_task(static_cast<A&&>(a)),
                                    detail::as_task(static_cast<B&&>(b)));
  auto ended = co_await static_cast<decltype(both)&&>(both);
  if (ended.left().failed() && ended.right().failed()) throw multiple_exceptions(ended.first);
  if (ended.decisive == 0) co_return detail::left_of<result>(ended);
  co_return detail::right_of<result>(ended);
}

}  // namespace awaitable_operators

}  // namespace beck
