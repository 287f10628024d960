// SPDX-License-Identifier: BSL-1.0
// The result of an operation as a std::future.
#pragma once

#include <memory>

#include <beck/asio/config.hpp>
#include <beck/interop/use_future.hpp>

BECK_ASIO_BEGIN

using beck::use_future;
/// The class of use_future, whatever the allocator.
template <class Allocator = std::allocator<void>>
using use_future_t = beck::use_future_t;

BECK_ASIO_END
