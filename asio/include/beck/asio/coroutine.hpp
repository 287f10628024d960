// SPDX-License-Identifier: BSL-1.0
// Coroutines: awaitable, co_spawn and this_coro.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>

BECK_ASIO_BEGIN

using beck::co_spawn;

/// A coroutine whose co_await returns the value of an operation or throws: beck::awaitable<T> as a
/// class template of two parameters, as programs deduce them. The executor is that of co_spawn(),
/// whatever the second parameter says.
template <class T, class Executor = any_io_executor>
class [[nodiscard]] awaitable : public beck::task<T, true> {
 public:
  /// The executor that the program names.
  using executor_type = Executor;
  /// Takes over the coroutine, for the compiler.
  awaitable(beck::task<T, true>&& base) noexcept
      : beck::task<T, true>(static_cast<beck::task<T, true>&&>(base)) {}
};

namespace this_coro = beck::this_coro;

BECK_ASIO_END
