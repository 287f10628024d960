// SPDX-License-Identifier: BSL-1.0
// as_tuple: a token that makes one std::tuple of the completion's arguments, the error among them.
// Built-in operations that are awaited need no handler for it.
#pragma once

#include <beck/detail/awaited_result.hpp>
#include <beck/detail/reports_error.hpp>
#include <beck/detail/token_adapter.hpp>
#include <tuple>

namespace beck {

namespace detail {

template <class Handler, class... A>
class tuple_handler {
 public:
  template <class H>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): handlers are moved, never copied
  explicit tuple_handler(H&& handler) : handler_(static_cast<H&&>(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  void operator()(A... a) {
    static_cast<Handler&&>(handler_)(std::tuple<A...>(static_cast<A&&>(a)...));
  }

 private:
  Handler handler_;
};

/// How a signature's arguments become a tuple.
template <class Signature>
struct tuple_form;
template <class... A>
struct tuple_form<void(A...)> {
  using signature = void(std::tuple<A...>);
  template <class Handler>
  using handler = tuple_handler<Handler, A...>;
  static constexpr bool maps_result = sizeof...(A) == 0;
};
template <class... A>
struct tuple_form<void(error_code, A...)> {
  using signature = void(std::tuple<error_code, A...>);
  template <class Handler>
  using handler = tuple_handler<Handler, error_code, A...>;
  static constexpr bool maps_result = true;
};

class tuple_adapter {
 public:
  template <class Signature>
  using signature = typename tuple_form<Signature>::signature;
  template <class Signature>
  static constexpr bool maps_result = tuple_form<Signature>::maps_result;

  template <class Signature, class H>
  auto adapt(H&& handler) const {
    using adapted = typename tuple_form<Signature>::template handler<std::decay_t<H>>;
    return adapted(static_cast<H&&>(handler));
  }
  static std::tuple<> map() noexcept { return std::tuple<>(); }
  static std::tuple<error_code> map(io_result<>&& r) noexcept {
    return std::tuple<error_code>(r.error_);
  }
  template <class T>
  static std::tuple<error_code, T> map(io_result<T>&& r) {
    return std::tuple<error_code, T>(r.error_, static_cast<T&&>(r.value_));
  }
  template <class T, class U>
  static std::tuple<error_code, T, U> map(io_result<T, U>&& r) {
    return std::tuple<error_code, T, U>(r.error_, static_cast<T&&>(r.first_),
                                        static_cast<U&&>(r.second_));
  }
  template <class R>
    requires reports_error<R> && std::is_object_v<R>
  static std::tuple<error_code, R> map(R&& r) {
    const error_code error = r.error();
    return std::tuple<error_code, R>(error, static_cast<R&&>(r));
  }
};

}  // namespace detail

/// The token that as_tuple() returns.
template <class Token>
using as_tuple_t = detail::token_adapter<detail::tuple_adapter, Token>;

namespace detail {

/// `as_tuple(token)`: the token gets a std::tuple; `as_tuple` alone stands for
/// as_tuple(deferred).
class as_tuple_function : public as_tuple_t<deferred_t> {
 public:
  constexpr as_tuple_function() noexcept : as_tuple_t<deferred_t>(tuple_adapter(), deferred) {}
  template <class Token>
  constexpr as_tuple_t<std::decay_t<Token>> operator()(Token&& token) const {
    return as_tuple_t<std::decay_t<Token>>(tuple_adapter(), static_cast<Token&&>(token));
  }
};

}  // namespace detail

/// `as_tuple(token)` completes `token` with one std::tuple of the operation's results; `as_tuple`
/// alone is as_tuple(deferred): `auto [ec, n] = co_await socket.async_read_some(buffer,
/// as_tuple);`.
inline constexpr detail::as_tuple_function as_tuple{};

template <class Signature>
class async_result<detail::as_tuple_function, Signature>
    : public async_result<as_tuple_t<deferred_t>, Signature> {};

}  // namespace beck
