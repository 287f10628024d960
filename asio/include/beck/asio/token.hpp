// SPDX-License-Identifier: BSL-1.0
// Completion tokens, and the functions that take them.
#pragma once

#include <beck/asio/async_result.hpp>
#include <beck/asio/boost_system.hpp>
#include <beck/asio/compose.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/interop/deferred_chain.hpp>
#include <beck/run/any_completion_handler.hpp>
#include <beck/run/append.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/cancellation.hpp>
#include <beck/run/default_completion_token.hpp>
#include <beck/run/deferred.hpp>
#include <beck/run/redirect_error.hpp>

BECK_ASIO_BEGIN

using beck::allocator_binder;
using beck::any_completion_handler;
using beck::append;
using beck::append_t;
using beck::as_tuple;
using beck::as_tuple_t;
using beck::async_operation;
using beck::bind_allocator;
using beck::bind_cancellation_slot;
using beck::bind_executor;
using beck::bind_immediate_executor;
using beck::cancellation_signal;
using beck::cancellation_slot;
using beck::cancellation_slot_binder;
using beck::completion_handler_for;
using beck::completion_signature_of_t;
using beck::completion_token_for;
using beck::consign;
using beck::consign_t;
using beck::default_completion_token;
using beck::default_completion_token_t;
using beck::deferred;
using beck::deferred_t;
using beck::executor_binder;
using beck::immediate_executor_binder;
using beck::prepend;
using beck::prepend_t;
using beck::redirect_error;
using beck::redirect_error_t;
using beck::use_awaitable;
using beck::use_awaitable_t;

/// The names of these tokens before Asio 1.24.
namespace experimental {

using beck::append;
using beck::as_tuple;
using beck::as_tuple_t;
using beck::deferred;
using beck::deferred_t;
using beck::prepend;

}  // namespace experimental

/// Starts an operation that never completes, and so has no signature.
template <class Initiation, class Token, class... Args>
  requires facade::of_the_facade<Token>
auto async_initiate(Initiation&& initiation, Token&& token, Args&&... args) {
  return beck::async_initiate<Token, void()>(static_cast<Initiation&&>(initiation), token,
                                             static_cast<Args&&>(args)...);
}
#if defined(BECK_ASIO_BOOST_SYSTEM)
/// As beck::async_initiate(), for signatures with Boost's code, too.
template <class Token, class Signature, class Initiation, class... Args>
auto async_initiate(Initiation&& initiation, std::type_identity_t<Token>& token, Args&&... args) {
  return beck::async_initiate<Token, facade::beck_signature<Signature>>(
      static_cast<Initiation&&>(initiation), token, static_cast<Args&&>(args)...);
}
#else
using beck::async_initiate;
#endif
/// Starts an operation that completes with one of several signatures. The token is a function.
template <class Token, class First, class Second, class... More, class Initiation, class... Args>
  requires std::is_function_v<First> && std::is_function_v<Second>
void async_initiate(Initiation&& initiation, std::type_identity_t<Token>& token, Args&&... args) {
  static_cast<Initiation&&>(initiation)(std::decay_t<Token>(static_cast<Token&&>(token)),
                                        static_cast<Args&&>(args)...);
}

/// The token that drops the result, an exception of a coroutine too, as in Asio.
struct detached_t : beck::detail::may_be_default<detached_t> {
  constexpr detached_t() noexcept = default;
  /// Drops the results.
  template <class... A>
  void operator()(A&&...) const noexcept {}
};
/// The token that drops the result.
inline constexpr detached_t detached{};

BECK_ASIO_END
