// SPDX-License-Identifier: BSL-1.0
// The results of operations where they are awaited: the type that keeps the arguments of a
// completion, the value that co_await makes of it, and the call that spreads it over the parameters
// of a handler again.
#pragma once

#include <beck/base/io_result.hpp>
#include <beck/detail/functions.hpp>
#include <exception>
#include <type_traits>
#include <utility>

namespace beck::detail {

/// The outcome of an operation whose signature carries no error: void(), void(T) or void(T, U).
/// `spread(handler, first...)` calls the handler with `first...` and the values. More values are in
/// detail/many_results.hpp, which needs <tuple>.
template <class... T>
struct bare_result;
template <>
struct bare_result<> {
  bare_result() noexcept {}
  void value() && noexcept {}
  template <class H, class... First>
  void spread(H&& handler, First&&... first) && {
    static_cast<H&&>(handler)(static_cast<First&&>(first)...);
  }
};
template <class T>
struct bare_result<T> {
  explicit bare_result(T v) : value_(static_cast<T&&>(v)) {}
  T value() && { return static_cast<T&&>(value_); }
  template <class H, class... First>
  void spread(H&& handler, First&&... first) && {
    static_cast<H&&>(handler)(static_cast<First&&>(first)..., static_cast<T&&>(value_));
  }
  T value_;
};
template <class T, class U>
struct bare_result<T, U> {
  bare_result(T first, U second) : value_(static_cast<T&&>(first), static_cast<U&&>(second)) {}
  std::pair<T, U> value() && { return static_cast<std::pair<T, U>&&>(value_); }
  template <class H, class... First>
  void spread(H&& handler, First&&... first) && {
    static_cast<H&&>(handler)(static_cast<First&&>(first)..., static_cast<T&&>(value_.first),
                              static_cast<U&&>(value_.second));
  }
  std::pair<T, U> value_;
};

/// The outcome of an operation whose signature starts with an exception.
template <class... T>
struct exception_result {
  template <class... U>
  explicit exception_result(std::exception_ptr e, U&&... values)
      : exception_(static_cast<std::exception_ptr&&>(e)), values_(static_cast<U&&>(values)...) {}
  decltype(auto) value() && {
    if (exception_) std::rethrow_exception(exception_);
    return static_cast<bare_result<T...>&&>(values_).value();
  }
  std::exception_ptr exception_;
  [[no_unique_address]] bare_result<T...> values_;
};

/// Maps a signature's arguments to the result. Signatures with more than two values behind
/// an error_code are awaited through as_tuple.
template <class... A>
struct awaited_result {
  using type = bare_result<A...>;
};
template <class... T>
struct awaited_result<error_code, T...> {
  using type = io_result<T...>;
};
template <class... T>
struct awaited_result<std::exception_ptr, T...> {
  using type = exception_result<T...>;
};
template <class... A>
using awaited_result_t = typename awaited_result<A...>::type;

/// True for results that co_await hands out as they are: an error is a value there.
template <class R>
inline constexpr bool is_io_result = false;
template <class... T>
inline constexpr bool is_io_result<io_result<T...>> = true;

namespace functions {

/// Calls `handler(arguments of the completion)`.
template <class H, class... T>
void call_with_result(H&& handler, bare_result<T...>&& r) {
  static_cast<bare_result<T...>&&>(r).spread(static_cast<H&&>(handler));
}
template <class H, class... T>
void call_with_result(H&& handler, exception_result<T...>&& r) {
  static_cast<bare_result<T...>&&>(r.values_).spread(
      static_cast<H&&>(handler), static_cast<std::exception_ptr&&>(r.exception_));
}
template <class H>
void call_with_result(H&& handler, io_result<>&& r) {
  static_cast<H&&>(handler)(r.error_);
}
template <class H, class T>
void call_with_result(H&& handler, io_result<T>&& r) {
  static_cast<H&&>(handler)(r.error_, static_cast<T&&>(r.value_));
}
template <class H, class T, class U>
void call_with_result(H&& handler, io_result<T, U>&& r) {
  static_cast<H&&>(handler)(r.error_, static_cast<T&&>(r.first_), static_cast<U&&>(r.second_));
}

}  // namespace functions

}  // namespace beck::detail
