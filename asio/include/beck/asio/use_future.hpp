// SPDX-License-Identifier: BSL-1.0
// The result of an operation as a std::future.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/interop/use_future.hpp>

BECK_ASIO_BEGIN

using beck::use_future;
using beck::use_future_t;

BECK_ASIO_END
