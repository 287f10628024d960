// SPDX-License-Identifier: BSL-1.0
// Coroutines: awaitable, co_spawn and this_coro.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>

BECK_ASIO_BEGIN

using beck::co_spawn;

namespace facade {

/// What a coroutine may ask about itself after it was cancelled.
template <class T>
concept asks_coroutine = std::is_same_v<T, beck::this_coro::executor_t> ||
                         std::is_same_v<T, beck::this_coro::stop_token_t> ||
                         std::is_same_v<T, beck::this_coro::cancellation_state_t>;

/// The promise of awaitable: once the coroutine was cancelled, every later co_await throws
/// operation_aborted, as in Asio, whatever its token does with errors.
template <class T>
class awaitable_promise : public beck::task<T, true>::promise_type {
 public:
  template <class A>
  decltype(auto) await_transform(A&& a) {
    if constexpr (!asks_coroutine<std::remove_cvref_t<A>>) {
      if (this->current_scope().reason() == beck::detail::stop_reason::stop) [[unlikely]]
        throw beck::io_error(beck::error_code(beck::error::operation_aborted), "co_await");
    }
    return beck::task<T, true>::promise_type::await_transform(static_cast<A&&>(a));
  }
};

}  // namespace facade

/// A coroutine whose co_await returns the value of an operation or throws: beck::awaitable<T> as a
/// class template of two parameters, as programs deduce them. The executor is that of co_spawn(),
/// whatever the second parameter says.
template <class T, class Executor = any_io_executor>
class [[nodiscard]] awaitable : public beck::task<T, true> {
 public:
  /// The executor that the program names.
  using executor_type = Executor;
  /// The promise of the coroutine, for the compiler.
  using promise_type = facade::awaitable_promise<T>;
  /// Takes over the coroutine, for the compiler.
  awaitable(beck::task<T, true>&& base) noexcept
      : beck::task<T, true>(static_cast<beck::task<T, true>&&>(base)) {}
};

namespace this_coro = beck::this_coro;

BECK_ASIO_END
