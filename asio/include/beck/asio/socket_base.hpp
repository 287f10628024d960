// SPDX-License-Identifier: BSL-1.0
// The classes of sockets.
#pragma once

#include <type_traits>

// Programs use the names of the system that come with Asio's sockets.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/detail_names.hpp>
#include <beck/asio/executor.hpp>
#include <beck/asio/io_context.hpp>
#include <beck/net/datagram_socket.hpp>
#include <beck/net/message_flags.hpp>
#include <beck/net/socket_acceptor.hpp>
#include <beck/net/stream_socket.hpp>

BECK_ASIO_BEGIN

using beck::basic_datagram_socket;
using beck::basic_socket_acceptor;
using beck::basic_stream_socket;
using beck::socket_base;

/// The base of the sockets of a protocol, with what streams and datagrams share.
template <class Protocol, class Executor = any_io_executor>
using basic_socket = beck::detail::basic_connected_socket<
    std::conditional_t<
        std::is_same_v<typename Protocol::socket, beck::basic_stream_socket<Protocol>>,
        beck::detail::stream_object, beck::detail::io_object>,
    Protocol, Executor>;

BECK_ASIO_END
