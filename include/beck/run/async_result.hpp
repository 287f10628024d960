// SPDX-License-Identifier: BSL-1.0
// Completion tokens: how the caller of an initiating function receives the result (a callback, an
// awaitable, a future). async_initiate and async_result are the customisation points, with Asio's
// names; operations of the library take a shorter way for plain callables
// (detail/callback_operation.hpp).
#pragma once

#include <type_traits>

#include <beck/detail/functions.hpp>
#include <beck/run/associated.hpp>

namespace beck {

/// An operation that has not started, as initiating functions return it with the token deferred: it
/// names its signature, and it is started with `std::move(operation)(token)`.
template <class Op>
concept async_operation = requires { typename std::decay_t<Op>::signature; };

/// The signature of an operation.
template <async_operation Op>
using completion_signature_of_t = typename std::decay_t<Op>::signature;

namespace detail {

template <class Signature, class Launch>
class deferred_operation;  // run/deferred.hpp
// interop/deferred_chain.hpp
template <class Function>
class deferred_function;
template <class... Values>
class values_launch;
class deferred_condition;
// interop/default_token.hpp
template <class Token, class Inner>
class executor_with_token;
template <class Object, class Executor>
class rebound;

/// The base of tokens that an object can have as its default. With Asio's names; they need
/// interop/default_token.hpp, for sockets interop/default_token_net.hpp.
template <class Token>
struct may_be_default {
  /// An executor whose objects have the token as their default.
  template <class Executor>
  using executor_with_default = executor_with_token<Token, Executor>;
  /// The type of an object that has the token as its default.
  template <class T>
  using as_default_on_t =
      typename T::template rebind_executor<executor_with_default<typename T::executor_type>>::other;
  /// Returns an object that is moved from `object`, and has the token as its default.
  template <class T>
  static as_default_on_t<std::decay_t<T>> as_default_on(T&& object) {
    return as_default_on_t<std::decay_t<T>>(static_cast<T&&>(object));
  }

 private:
  friend Token;
  constexpr may_be_default() noexcept = default;
};

}  // namespace detail

/// The default token: it packages an operation for later. The operation starts when it is awaited
/// or called with another token. Its functions, which join operations, are those of Asio's
/// asio/deferred.hpp and need interop/deferred_chain.hpp.
struct deferred_t : detail::may_be_default<deferred_t> {
  constexpr deferred_t() noexcept = default;

  /// Returns a token that goes on with `function`: `operation(deferred(function))` is one
  /// operation, with the results of the operation that `function(results...)` returns.
  template <class Function>
  detail::deferred_function<std::decay_t<Function>> operator()(Function&& function) const;
  /// Returns `operation`.
  template <async_operation Op>
  std::decay_t<Op> operator()(Op&& operation) const;
  /// Returns an operation that completes at once with `values`, decayed copies.
  template <class... Values>
  static detail::deferred_operation<void(std::decay_t<Values>...),
                                    detail::values_launch<std::decay_t<Values>...>>
  values(Values&&... values);
  /// Chooses between two operations: `deferred.when(condition).then(one).otherwise(other)`.
  static detail::deferred_condition when(bool condition) noexcept;
};
/// The default token: `co_await socket.async_read_some(buffer, deferred)`.
inline constexpr deferred_t deferred{};

/// The token that drops the result.
struct detached_t : detail::may_be_default<detached_t> {
  constexpr detached_t() noexcept = default;
  /// Drops the results.
  template <class... A>
  void operator()(A&&...) const noexcept {}
};
/// The token that drops the result: `co_spawn(context, work(), detached)`.
inline constexpr detached_t detached{};

/// The token whose awaited result is the value, or an exception: as Asio's.
template <class Executor = any_io_executor>
struct use_awaitable_t : detail::may_be_default<use_awaitable_t<Executor>> {
  constexpr use_awaitable_t() noexcept = default;
};
/// The token for Asio's style: co_await returns the value or throws io_error.
inline constexpr use_awaitable_t<> use_awaitable{};

/// Maps a token and a signature to a handler and a return value. The primary template is for
/// callables: the token is the handler and the function returns the initiation's result. Specialise
/// it for other tokens with `template <class Init, class Tok, class... Args> static auto
/// initiate(Init&&, Tok&&, Args&&...)`.
template <class Token, class Signature>
class async_result {
 public:
  /// Tells the primary template from specialisations.
  using unspecialised = void;
  /// Calls `initiation(token, args...)`.
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    return static_cast<Initiation&&>(initiation)(static_cast<Tok&&>(token),
                                                 static_cast<Args&&>(args)...);
  }
};

/// Defined in run/deferred.hpp.
template <class Signature>
class async_result<deferred_t, Signature>;
template <class Executor, class Signature>
class async_result<use_awaitable_t<Executor>, Signature>;

namespace detail {

/// A token that is only a callable: no association, no specialised async_result.
template <class T, class Signature>
concept plain_handler = requires {
  typename async_result<T, Signature>::unspecialised;
} && !has_associated_executor<T> && !has_immediate_executor<T> && !has_associated_allocator<T>;

/// Whether H can be called with the signature's arguments. Does not instantiate the bodies of
/// generic call operators, unless their return type must be deduced.
template <class H, class Signature>
inline constexpr bool accepts_signature = false;
template <class H, class R, class... A>
inline constexpr bool accepts_signature<H, R(A...)> =
    requires(H& h, A... a) { h(static_cast<A&&>(a)...); };

}  // namespace detail

/// A callable that can be moved and called with the arguments of the signature.
template <class H, class Signature>
concept completion_handler_for =
    std::is_move_constructible_v<H> && detail::accepts_signature<H, Signature>;

/// A token that an initiating function with this signature accepts: a handler for it, or a type
/// with its own async_result.
template <class T, class Signature>
concept completion_token_for = std::is_move_constructible_v<std::decay_t<T>> &&
                               (detail::accepts_signature<std::decay_t<T>, Signature> || !requires {
                                 typename async_result<std::decay_t<T>, Signature>::unspecialised;
                               });

namespace detail {

/// For the message of a static_assert that fails whenever it is reached.
template <class...>
inline constexpr bool is_possible = false;

namespace functions {

/// Reports a token that does not fit. Its template arguments show the expected signature and the
/// given token.
template <class ExpectedSignature, class GivenToken>
void refuse_token() {
  static_assert(is_possible<ExpectedSignature, GivenToken>,
                "the last argument must be a completion token, or a handler that can be moved and "
                "called with the operation's results: the ExpectedSignature of refuse_token");
}

}  // namespace functions

}  // namespace detail

/// Calls `initiation(handler, args...)` with the handler of `token`, now or (deferred tokens) when
/// the result is awaited. Returns the result of the token's async_result::initiate().
template <class Token, class Signature, class Initiation, class... Args>
auto async_initiate(Initiation&& initiation, std::type_identity_t<Token>& token, Args&&... args) {
  if constexpr (completion_token_for<Token, Signature>) {
    return async_result<std::decay_t<Token>, Signature>::initiate(
        static_cast<Initiation&&>(initiation), static_cast<Token&&>(token),
        static_cast<Args&&>(args)...);
  } else {
    detail::refuse_token<Signature, std::decay_t<Token>>();
  }
}

}  // namespace beck
