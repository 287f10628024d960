// SPDX-License-Identifier: BSL-1.0
// Addresses, endpoints and resolvers of IP: the names that ip::tcp and ip::udp share.
#pragma once

#include <beck/asio/address.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/socket_base.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/socket_option.hpp>

BECK_ASIO_BEGIN

namespace ip {

using beck::ip::basic_endpoint;
using beck::ip::basic_resolver;
using beck::ip::basic_resolver_entry;
using beck::ip::basic_resolver_results;
using beck::ip::port_type;
using beck::ip::resolver_base;
using beck::ip::v6_only;

}  // namespace ip

BECK_ASIO_END
