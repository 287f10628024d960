// SPDX-License-Identifier: BSL-1.0
//
// The kinds of handlers that a server calls: functions, coroutines, callbacks, handlers with
// middlewares around them, and routers, which choose among handlers.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/exchange.hpp>
#include <beck/http/pending.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace beck::http {

/// A function that responds before it returns: `void(request&, response&)`.
template <class H>
concept plain_handler = requires(H& h, request& q, response& r) {
  { h(q, r) } -> std::same_as<void>;
};
/// A coroutine that responds: `task<>(request&, response&)`, or one that returns awaitable<>.
template <class H>
concept coroutine_handler = requires(H& h, request& q, response& r) {
  requires beck::detail::is_task<decltype(h(q, r))>;
  requires std::is_void_v<typename decltype(h(q, r))::value_type>;
};
/// A function that responds, or returns the work that is left to do:
/// `pending(request&, response&)`. A handler with middlewares around it is one; see with().
template <class H>
concept pending_handler = requires(H& h, request& q, response& r) {
  { h(q, r) } -> std::same_as<pending>;
};
/// A function that takes the exchange over, and responds at once or later: `void(exchange)`.
template <class H>
concept exchange_handler = requires(H& h, http::exchange x) {
  { h(static_cast<http::exchange&&>(x)) } -> std::same_as<void>;
};

namespace detail {

struct handler_table;

/// The handler of one request.
struct route_choice {
  const handler_table* table;
  void* handler;
  std::uint64_t body_bytes;       ///< the limit of the request's body; 0: that of the server
  bool waits_for_events = false;  ///< see route_options::waits_for_events
  bool is_answer = false;         ///< a router answers by itself, for want of a handler
  duration handler_timeout = duration();  ///< see route_options::handler_timeout
};

/// The functions of a handler of any type. One of the first four is set.
struct handler_table {
  void (*plain)(void* handler, request& q, response& r);
  pending (*call)(void* handler, request& q, response& r);
  void (*callback)(void* handler, http::exchange&& x);
  /// Chooses the handler of a request whose head has arrived. The result is no router.
  route_choice (*choose)(void* handler, request& q);
  void (*destroy)(void* handler) noexcept;
};

}  // namespace detail

/// A handler that chooses another one for each request, such as a router.
template <class H>
concept routing_handler = requires(H& h, request& q) {
  { h.choose(q) } -> std::same_as<detail::route_choice>;
};
/// Anything that can serve requests.
template <class H>
concept any_handler = plain_handler<H> || coroutine_handler<H> || pending_handler<H> ||
                      exchange_handler<H> || routing_handler<H>;

namespace detail {

/// Calls a handler that takes an exchange, inside middlewares. The result waits until the exchange
/// has ended. Throws std::logic_error if the handler has the exchange already.
pending call_with_exchange(request& q, void* handler,
                           void (*call)(void* handler, http::exchange&& x));

/// Calls of handlers through pointers, and inside middlewares.
struct handler_calls {
  /// Calls the callback of a handler_table.
  template <class H>
  static void call_back(void* handler, http::exchange&& x) {
    (*static_cast<H*>(handler))(static_cast<http::exchange&&>(x));
  }
  /// Calls a handler of any kind inside middlewares.
  template <class H>
  static pending call(H& handler, request& q, response& r) {
    if constexpr (plain_handler<H>) {
      handler(q, r);
      return {};
    } else if constexpr (exchange_handler<H>) {
      return detail::call_with_exchange(q, &handler, &call_back<H>);
    } else {
      return handler(q, r);
    }
  }
};

template <class H>
constexpr handler_table table_of() noexcept {
  handler_table table{nullptr, nullptr, nullptr, nullptr,
                      [](void* handler) noexcept { delete static_cast<H*>(handler); }};
  if constexpr (routing_handler<H>) {
    table.choose = [](void* handler, request& q) { return static_cast<H*>(handler)->choose(q); };
  } else if constexpr (plain_handler<H>) {
    table.plain = [](void* handler, request& q, response& r) { (*static_cast<H*>(handler))(q, r); };
  } else if constexpr (exchange_handler<H>) {
    table.callback = &handler_calls::call_back<H>;
  } else {
    table.call = [](void* handler, request& q, response& r) -> pending {
      return (*static_cast<H*>(handler))(q, r);
    };
  }
  return table;
}
template <class H>
inline constexpr handler_table handler_table_of = detail::table_of<H>();

}  // namespace detail

}  // namespace beck::http
