// SPDX-License-Identifier: BSL-1.0
// deferred(function), deferred.values(...), deferred.when(...) and `|`: operations one after the
// other as one operation. With Asio's names and meaning (asio/deferred.hpp).
#pragma once

#include <tuple>

#include <beck/detail/functions.hpp>
#include <beck/detail/operation_executor.hpp>
#include <beck/run/append.hpp>
#include <beck/run/post.hpp>

// The operations of a chain run one after the other. Each gets the final handler, wrapped, so its
// memory, its executor and its requests to cancel are those that the final handler asks for. A
// chain needs no memory of its own: the wrapped handler is in the block of the operation that runs,
// which is freed before the next one starts.
//
// A function of a chain runs where its operation completes: on the executor of the final handler,
// or if that has none on the one of the operation; behind deferred.values() it runs inside the call
// that starts the chain. If it throws, the exception passes through that executor, or out of that
// call, and the final handler is destroyed without a call. Inside the call that starts the chain
// the final handler is called only if it has an immediate executor, or if deferred.values() finds
// no executor at all.
// Cancellation: a request goes to the operation that runs then. Its function gets the result,
// usually operation_aborted, and decides: an operation that it returns starts, and does not know of
// the request.

namespace beck {

namespace detail {

/// The token that deferred(function) returns.
template <class Function>
class deferred_function {
 public:
  template <class F>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): made by deferred_t alone
  constexpr explicit deferred_function(F&& function) : function_(static_cast<F&&>(function)) {}

  Function&& take() && noexcept { return static_cast<Function&&>(function_); }
  const Function& take() const& noexcept { return function_; }

 private:
  [[no_unique_address]] Function function_;
};

namespace functions {

/// Starts `operation` in the completion of another one; results that are there go to the handler
/// without a start.
template <class Op, class Handler>
void go_on_with(Op&& operation, Handler&& handler) {
  if constexpr (requires { operation.initiation().pass_to(static_cast<Handler&&>(handler)); }) {
    operation.initiation().pass_to(static_cast<Handler&&>(handler));
  } else {
    static_cast<void>(static_cast<Op&&>(operation)(static_cast<Handler&&>(handler)));
  }
}

}  // namespace functions

/// The handler of an operation that `function` follows.
template <class Signature, class Function, class Handler>
class chain_handler;
template <class... A, class Function, class Handler>
class chain_handler<void(A...), Function, Handler> {
 public:
  static constexpr bool only_keeps_result = false;  // it calls the function
  static constexpr bool follows_values = true;      // of deferred.values() inside their start

  template <class H>
  chain_handler(Function&& function, H&& handler, const initiating_call& call)
      : function_(static_cast<Function&&>(function)),
        handler_(static_cast<H&&>(handler)),
        call_(&call) {}

  const Handler& wrapped_handler() const noexcept { return handler_; }
  void operator()(A... results) {
    auto next = static_cast<Function&&>(function_)(static_cast<A&&>(results)...);
    if (initiating_call::encloses(call_)) {  // where the final handler must not be called
      static_cast<void>(static_cast<decltype(next)&&>(next)(static_cast<Handler&&>(handler_)));
    } else {
      detail::go_on_with(static_cast<decltype(next)&&>(next), static_cast<Handler&&>(handler_));
    }
  }

 private:
  // In this order: the final handler is destroyed before what the function owns.
  [[no_unique_address]] Function function_;
  Handler handler_;
  const initiating_call* call_;
};

/// The operation that a function returns for the results of a signature.
template <class Function, class Signature>
struct following;
template <class Function, class... A>
struct following<Function, void(A...)> {
  using type = std::decay_t<std::invoke_result_t<Function, A...>>;
  static_assert(async_operation<type>,
                "the function of deferred() returns an operation: that of an initiating function "
                "with the token deferred, deferred.values(...), or both branches of "
                "deferred.when()");
};

/// The start of an operation that a function follows.
template <class Op, class Function>
class chain_launch {
 public:
  using signature =
      completion_signature_of_t<typename following<Function, typename Op::signature>::type>;

  template <class F>
  chain_launch(Op&& operation, F&& function)
      : operation_(static_cast<Op&&>(operation)), function_(static_cast<F&&>(function)) {}

  any_io_executor get_executor() const { return detail::executor_of_operation(operation_); }
  template <class H>
  void operator()(H&& handler) {
    using step = chain_handler<typename Op::signature, Function, std::decay_t<H>>;
    const initiating_call call;
    static_cast<void>(static_cast<Op&&>(operation_)(
        step(static_cast<Function&&>(function_), static_cast<H&&>(handler), call)));
  }

 private:
  Op operation_;
  [[no_unique_address]] Function function_;
};

/// The start of an operation whose results are there already.
template <class... V>
class values_launch {
 public:
  template <class... A>
  explicit values_launch(std::in_place_t, A&&... values) : values_(static_cast<A&&>(values)...) {}

  template <class H>
  void operator()(H&& handler) {
    using handler_type = std::decay_t<H>;
    handler_with_values<values_place::behind, handler_type, V...> call(
        static_cast<H&&>(handler), static_cast<std::tuple<V...>&&>(values_));
    if constexpr (only_keeps_result<handler_type> || requires { handler_type::follows_values; }) {
      call();
    } else {
      any_io_executor home;
      if (runner::current() != nullptr) home = current_executor();
      home = beck::get_associated_executor(call, home);
      if constexpr (has_immediate_executor<handler_type>) {
        if (const immediate_level level; level) {
          level.charge(runner::memory_weight);
          const any_io_executor immediate(beck::get_associated_immediate_executor(call, home));
          return immediate.execute(static_cast<decltype(call)&&>(call));
        }
      }
      if (!home) return call();  // there is no place to queue it
      detail::post_function(home, static_cast<decltype(call)&&>(call));
    }
  }
  template <class H>
  void pass_to(H&& handler) {
    std::apply([&](V&... values) { static_cast<H&&>(handler)(static_cast<V&&>(values)...); },
               values_);
  }

 private:
  std::tuple<V...> values_;
};

/// A handler that converts results to the types of `Signature`.
template <class Signature, class Handler>
class converting_handler;
template <class... A, class Handler>
class converting_handler<void(A...), Handler> {
 public:
  template <class H>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): handlers are moved, never copied
  explicit converting_handler(H&& handler) : handler_(static_cast<H&&>(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... T>
    requires(std::is_convertible_v<T, A> && ...)
  void operator()(T&&... results) {
    static_cast<Handler&&>(handler_)(static_cast<A>(static_cast<T&&>(results))...);
  }

 private:
  Handler handler_;
};

/// The start of one of two operations. Completes with the signature of the first.
template <class Then, class Otherwise>
class branch_launch {
 public:
  using signature = typename Then::signature;

  branch_launch(bool condition, Then&& then, Otherwise&& otherwise)
      : then_(static_cast<Then&&>(then)),
        otherwise_(static_cast<Otherwise&&>(otherwise)),
        condition_(condition) {}

  any_io_executor get_executor() const {
    return condition_ ? detail::executor_of_operation(then_)
                      : detail::executor_of_operation(otherwise_);
  }
  template <class H>
  void operator()(H&& handler) {
    if (condition_) {
      static_cast<void>(static_cast<Then&&>(then_)(static_cast<H&&>(handler)));
    } else {
      static_cast<void>(static_cast<Otherwise&&>(otherwise_)(
          branch_launch::for_otherwise(static_cast<H&&>(handler))));
    }
  }
  template <class H>
  void pass_to(H&& handler) {
    if (condition_) {
      detail::go_on_with(static_cast<Then&&>(then_), static_cast<H&&>(handler));
    } else {
      detail::go_on_with(static_cast<Otherwise&&>(otherwise_),
                         branch_launch::for_otherwise(static_cast<H&&>(handler)));
    }
  }

 private:
  /// Returns `handler`, or one that takes the results of the second operation.
  template <class H>
  static decltype(auto) for_otherwise(H&& handler) {
    if constexpr (std::is_same_v<typename Otherwise::signature, signature>) {
      return static_cast<H&&>(handler);
    } else {
      return converting_handler<signature, std::decay_t<H>>(static_cast<H&&>(handler));
    }
  }

  Then then_;
  Otherwise otherwise_;
  bool condition_;
};

/// A condition with the operation for true.
template <class Then>
class [[nodiscard]] condition_with_then {
 public:
  condition_with_then(bool condition, Then&& then)
      : then_(static_cast<Then&&>(then)), condition_(condition) {}

  /// Returns the operation: the one of then() if the condition is true, else `operation`. It has
  /// the signature of the first, and the results of the second convert to it.
  template <async_operation Op>
  auto otherwise(Op operation) && {
    using launch = branch_launch<Then, Op>;
    return deferred_operation<typename Then::signature, launch>(
        launch(condition_, static_cast<Then&&>(then_), static_cast<Op&&>(operation)));
  }

 private:
  Then then_;
  bool condition_;
};

/// The result of deferred.when(): a condition, for which then() and otherwise() name operations.
class [[nodiscard]] deferred_condition {
 public:
  explicit deferred_condition(bool condition) noexcept : condition_(condition) {}

  /// Sets the operation for a true condition. otherwise() follows.
  template <async_operation Op>
  condition_with_then<Op> then(Op operation) && {
    return condition_with_then<Op>(condition_, static_cast<Op&&>(operation));
  }

 private:
  bool condition_;
};

/// Starts or packages `operation` as `token` says: `operation(token)`. With deferred(function) as
/// the token the result is the longer operation.
template <async_operation Op, class Token>
  requires completion_token_for<Token, completion_signature_of_t<Op>>
auto operator|(Op operation, Token&& token) {
  return static_cast<Op&&>(operation)(static_cast<Token&&>(token));
}

}  // namespace detail

template <class Function, class... A>
  requires std::is_invocable_v<Function, A...>
class async_result<detail::deferred_function<Function>, void(A...)> {
 public:
  /// Returns an operation: the one that `initiation` starts, and behind it the function of `token`.
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    auto operation = async_result<deferred_t, void(A...)>::initiate(
        static_cast<Initiation&&>(initiation), deferred, static_cast<Args&&>(args)...);
    using launch = detail::chain_launch<decltype(operation), Function>;
    return detail::deferred_operation<typename launch::signature, launch>(
        launch(static_cast<decltype(operation)&&>(operation), static_cast<Tok&&>(token).take()));
  }
};

template <class Function>
detail::deferred_function<std::decay_t<Function>> deferred_t::operator()(
    Function&& function) const {
  return detail::deferred_function<std::decay_t<Function>>(static_cast<Function&&>(function));
}
template <async_operation Op>
std::decay_t<Op> deferred_t::operator()(Op&& operation) const {
  return static_cast<Op&&>(operation);
}
template <class... Values>
detail::deferred_operation<void(std::decay_t<Values>...),
                           detail::values_launch<std::decay_t<Values>...>>
deferred_t::values(Values&&... values) {
  using launch = detail::values_launch<std::decay_t<Values>...>;
  return detail::deferred_operation<void(std::decay_t<Values>...), launch>(
      launch(std::in_place, static_cast<Values&&>(values)...));
}
inline detail::deferred_condition deferred_t::when(bool condition) noexcept {
  return detail::deferred_condition(condition);
}

}  // namespace beck
