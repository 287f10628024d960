// SPDX-License-Identifier: BSL-1.0
// Connecting to the first endpoint that accepts.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/net/connect.hpp>

BECK_ASIO_BEGIN

using beck::async_connect;
using beck::connect;

BECK_ASIO_END
