// SPDX-License-Identifier: BSL-1.0
// Sockets of the host: local::stream_protocol and datagram_protocol.
#pragma once

#include <sys/socket.h>

#include <beck/asio/basic_socket_iostream.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/socket_base.hpp>
#include <beck/interop/default_token_net.hpp>
#include <beck/net/local.hpp>
#include <beck/net/local_datagram.hpp>

BECK_ASIO_BEGIN

namespace local = beck::local;

BECK_ASIO_END
