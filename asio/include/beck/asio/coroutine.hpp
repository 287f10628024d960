// SPDX-License-Identifier: BSL-1.0
// Coroutines: awaitable, co_spawn and this_coro.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>

BECK_ASIO_BEGIN

using beck::co_spawn;

/// A coroutine whose co_await returns the value of an operation or throws. The executor is that of
/// co_spawn(), whatever the second parameter says.
template <class T, class Executor = any_io_executor>
using awaitable = beck::awaitable<T>;

namespace this_coro = beck::this_coro;

BECK_ASIO_END
