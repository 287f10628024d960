// SPDX-License-Identifier: BSL-1.0
// ip::tcp, with its resolver and async_connect().
#pragma once

#include <beck/asio/basic_socket_iostream.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/connect.hpp>
#include <beck/asio/ip.hpp>
#include <beck/asio/timer.hpp>  // as with Asio, whose socket streams have one
#include <beck/interop/default_token_net.hpp>
#include <beck/net/tcp.hpp>

#if defined(BECK_ASIO_OLD_NAMES)
#include <beck/asio/old_ip.hpp>
#else
BECK_ASIO_BEGIN

namespace ip {

using beck::ip::tcp;

}  // namespace ip

BECK_ASIO_END
#endif
