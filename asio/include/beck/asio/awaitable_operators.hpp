// SPDX-License-Identifier: BSL-1.0
// && and || between awaitables, in the namespace experimental.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/coroutine.hpp>
#include <beck/asio/token.hpp>
#include <beck/interop/awaitable_operators.hpp>

BECK_ASIO_BEGIN

using beck::multiple_exceptions;

namespace experimental {
namespace awaitable_operators = beck::awaitable_operators;
}

BECK_ASIO_END
