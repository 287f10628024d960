// SPDX-License-Identifier: BSL-1.0
// Tokens with a time limit.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/io/cancel_after.hpp>

BECK_ASIO_BEGIN

using beck::cancel_after;
using beck::cancel_after_t;
using beck::cancel_at;

BECK_ASIO_END
