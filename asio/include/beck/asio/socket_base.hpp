// SPDX-License-Identifier: BSL-1.0
// The classes of sockets.
#pragma once

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/net/datagram_socket.hpp>
#include <beck/net/socket_acceptor.hpp>
#include <beck/net/stream_socket.hpp>

BECK_ASIO_BEGIN

using beck::basic_datagram_socket;
using beck::basic_socket_acceptor;
using beck::basic_stream_socket;
using beck::socket_base;

BECK_ASIO_END
