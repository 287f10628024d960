// SPDX-License-Identifier: BSL-1.0
// The names of the Networking TS for sockets.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/io_context.hpp>
#include <beck/asio/tcp.hpp>
#include <beck/asio/udp.hpp>

BECK_ASIO_BEGIN

BECK_ASIO_END
