// SPDX-License-Identifier: BSL-1.0
// The errors of name lookups, under Asio's names.
#pragma once

#include <beck/base/error.hpp>

namespace beck {

namespace detail {

/// The category of error::netdb_errors. Any thread; valid until the process ends.
const std::error_category& netdb_category() noexcept;
/// The category of error::addrinfo_errors.
const std::error_category& addrinfo_category() noexcept;

}  // namespace detail

namespace error {

/// Errors about the host. Source: getaddrinfo(3).
enum netdb_errors : int {
  host_not_found = 1,            ///< there is no such host, or it has no address of this kind
  host_not_found_try_again = 2,  ///< no name server could answer; try again later
  no_recovery = 3,               ///< the name servers failed
  no_data = 4,                   ///< the name exists, without any address
  invalid_host_name = 5,         ///< more than 255 bytes, or a NUL among them; no lookup was made
};

/// Errors about the service.
enum addrinfo_errors : int {
  service_not_found = 8,          ///< not known for this protocol
  socket_type_not_supported = 7,  ///< the system does not support the protocol's type of socket
  invalid_service_name = 1,       ///< more than 32 bytes, or a NUL among them
};

/// Returns the error_code of `e`.
inline error_code make_error_code(netdb_errors e) noexcept {
  return {static_cast<int>(e), detail::netdb_category()};
}
/// Returns the error_code of `e`.
inline error_code make_error_code(addrinfo_errors e) noexcept {
  return {static_cast<int>(e), detail::addrinfo_category()};
}

}  // namespace error

}  // namespace beck

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::error::netdb_errors> : std::true_type {};
/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::error::addrinfo_errors> : std::true_type {};
