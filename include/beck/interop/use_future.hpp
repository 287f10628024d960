// SPDX-License-Identifier: BSL-1.0
// use_future: the result of an operation as a std::future. Opt-in, because <future> is heavy.
#pragma once

#include <beck/base/error.hpp>
#include <beck/run/async_result.hpp>
#include <exception>
#include <future>
#include <tuple>
#include <utility>

namespace beck {

namespace detail {
template <class Function>
struct packaged_future;
}  // namespace detail

/// The token whose result is a std::future. Errors become exceptions in the future (beck::io_error,
/// with the number of bytes if the operation has one), two and more values a std::tuple. If the
/// handler is destroyed un-run (its context was destroyed) the future holds
/// std::future_errc::broken_promise. Waiting for the future on the thread that runs the operation's
/// context blocks for ever.
class use_future_t : public detail::may_be_default<use_future_t> {
 public:
  /// Has no state.
  constexpr use_future_t() noexcept {}
  /// Returns a token that calls `function` with the results of the operation, an error among them,
  /// on the handler's thread. The future gets its value or exception.
  template <class Function>
  detail::packaged_future<std::decay_t<Function>> operator()(Function&& function) const {
    return detail::packaged_future<std::decay_t<Function>>(static_cast<Function&&>(function));
  }
};
/// The token: `auto n = socket.async_read_some(buffer, use_future).get();`.
inline constexpr use_future_t use_future{};

namespace detail {

/// How a signature's arguments become one value or an exception.
template <class... T>
struct future_value {
  using type = std::tuple<T...>;
};
template <>
struct future_value<> {
  using type = void;
};
template <class T>
struct future_value<T> {
  using type = T;
};
/// Stores the values of A....
template <class... A>
struct kept_values {
  template <class Promise>
  static void keep(Promise& promise, A&&... values) {
    if constexpr (sizeof...(A) == 0) {
      promise.set_value();
    } else {
      promise.set_value(typename future_value<A...>::type(static_cast<A&&>(values)...));
    }
  }
};

template <class... A>
struct future_result : future_value<A...> {
  static std::exception_ptr failure(const A&...) noexcept { return nullptr; }
  template <class Promise>
  static void keep(Promise& promise, A&&... values) {
    kept_values<A...>::keep(promise, static_cast<A&&>(values)...);
  }
};
// Only the first argument is an error: an error_code behind an exception_ptr is a value.
template <class... A>
struct future_result<error_code, A...> : future_value<A...> {
  static std::exception_ptr failure(const error_code& ec, const A&... values) {
    if (!ec) return nullptr;
    std::size_t moved = 0;
    if constexpr (sizeof...(A) == 1 && (std::is_same_v<A, std::size_t> && ...)) {
      ((moved = values), ...);
    }
    return exception_of(ec, "", moved);
  }
  template <class Promise>
  static void keep(Promise& promise, error_code&&, A&&... values) {
    kept_values<A...>::keep(promise, static_cast<A&&>(values)...);
  }
};
template <class... A>
struct future_result<std::exception_ptr, A...> : future_value<A...> {
  static std::exception_ptr failure(const std::exception_ptr& error, const A&...) { return error; }
  template <class Promise>
  static void keep(Promise& promise, std::exception_ptr&&, A&&... values) {
    kept_values<A...>::keep(promise, static_cast<A&&>(values)...);
  }
};

template <class... A>
class promise_handler {
 public:
  static constexpr bool only_keeps_result = true;
  using value_type = typename future_result<A...>::type;

  std::future<value_type> get_future() { return promise_.get_future(); }

  void operator()(A... a) {
    if (std::exception_ptr failure = future_result<A...>::failure(a...)) {
      promise_.set_exception(static_cast<std::exception_ptr&&>(failure));
    } else {
      future_result<A...>::keep(promise_, static_cast<A&&>(a)...);
    }
  }

 private:
  std::promise<value_type> promise_;
};

/// The token that use_future(function) returns.
template <class Function>
struct packaged_future {
  explicit packaged_future(Function f) : function(static_cast<Function&&>(f)) {}

  Function function;
};

/// The handler of such a token for an operation that completes with A...
template <class Function, class... A>
class packaged_handler {
 public:
  using value_type = std::invoke_result_t<Function, A...>;

  explicit packaged_handler(Function function) : function_(static_cast<Function&&>(function)) {}

  std::future<value_type> get_future() { return promise_.get_future(); }

  void operator()(A... a) {
    try {
      if constexpr (std::is_void_v<value_type>) {
        static_cast<Function&&>(function_)(static_cast<A&&>(a)...);
        promise_.set_value();
      } else {
        promise_.set_value(static_cast<Function&&>(function_)(static_cast<A&&>(a)...));
      }
    } catch (...) {
      promise_.set_exception(std::current_exception());
    }
  }

 private:
  Function function_;
  std::promise<value_type> promise_;
};

/// Starts operations for handlers that have a future.
struct future_start {
  template <class Handler, class Initiation, class... Args>
  static auto with(Handler handler, Initiation&& initiation, Args&&... args) {
    auto future = handler.get_future();
    static_cast<Initiation&&>(initiation)(static_cast<Handler&&>(handler),
                                          static_cast<Args&&>(args)...);
    return future;
  }
};

}  // namespace detail

template <class... A>
class async_result<use_future_t, void(A...)> {
 public:
  /// Starts the operation and returns the future.
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&&, Args&&... args) {
    return detail::future_start::with(detail::promise_handler<A...>(),
                                      static_cast<Initiation&&>(initiation),
                                      static_cast<Args&&>(args)...);
  }
};

template <class Function, class... A>
class async_result<detail::packaged_future<Function>, void(A...)> {
 public:
  /// Starts the operation and returns the future of the function.
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    return detail::future_start::with(
        detail::packaged_handler<Function, A...>(static_cast<Tok&&>(token).function),
        static_cast<Initiation&&>(initiation), static_cast<Args&&>(args)...);
  }
};

}  // namespace beck
