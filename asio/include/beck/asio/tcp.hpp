// SPDX-License-Identifier: BSL-1.0
// ip::tcp, with its resolver.
#pragma once

#include <beck/asio/address.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/connect.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/socket_base.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/tcp.hpp>

BECK_ASIO_BEGIN

namespace ip {

using beck::ip::basic_endpoint;
using beck::ip::basic_resolver;
using beck::ip::basic_resolver_entry;
using beck::ip::basic_resolver_results;
using beck::ip::port_type;
using beck::ip::resolver_base;
using beck::ip::tcp;

}  // namespace ip

BECK_ASIO_END
