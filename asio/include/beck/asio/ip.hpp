// SPDX-License-Identifier: BSL-1.0
// Addresses, endpoints and resolvers of IP: the names that ip::tcp and ip::udp share.
#pragma once

#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <beck/asio/address.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/socket_base.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/socket_option.hpp>

BECK_ASIO_BEGIN

namespace ip {

using beck::ip::basic_endpoint;
using beck::ip::basic_resolver_entry;
using beck::ip::basic_resolver_results;
using beck::ip::port_type;
using beck::ip::resolver_base;
using beck::ip::v6_only;

/// The resolver of a protocol, whatever executor the program names: it converts to any_io_executor.
template <class Protocol, class Executor = beck::any_io_executor>
using basic_resolver = beck::ip::basic_resolver<Protocol>;

/// Returns the name of this host.
inline std::string host_name(beck::error_code& ec) {
  char name[HOST_NAME_MAX + 1];
  ec = beck::error_code();
  if (::gethostname(name, sizeof name) == 0) return name;
  ec = beck::error_code(errno, std::system_category());
  return std::string();
}
/// As above. Throws a system_error.
inline std::string host_name() {
  beck::error_code ec;
  std::string name = BECK_ASIO::ip::host_name(ec);
  if (ec) throw system_error(ec, "host_name");
  return name;
}

}  // namespace ip

BECK_ASIO_END
