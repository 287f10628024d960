// SPDX-License-Identifier: BSL-1.0
// What can go wrong when names are looked up, under Asio's names.
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

/// About the host. Source: getaddrinfo(3).
enum netdb_errors : int {
  host_not_found = 1,            ///< there is no such host, or it has no address of this kind
  host_not_found_try_again = 2,  ///< nobody could say for now
  no_recovery = 3,               ///< the name servers failed
  no_data = 4,                   ///< the name exists, without any address
  invalid_host_name = 5,         ///< more than 255 bytes, or a NUL among them; nobody was asked
};

/// About the service.
enum addrinfo_errors : int {
  service_not_found = 8,          ///< not known for this protocol
  socket_type_not_supported = 7,  ///< the protocol asks for what there is not
  invalid_service_name = 1,       ///< more than 32 bytes, or a NUL among them
};

inline error_code make_error_code(netdb_errors e) noexcept {
  return {static_cast<int>(e), detail::netdb_category()};
}
inline error_code make_error_code(addrinfo_errors e) noexcept {
  return {static_cast<int>(e), detail::addrinfo_category()};
}

}  // namespace error

}  // namespace beck

template <>
struct std::is_error_code_enum<beck::error::netdb_errors> : std::true_type {};
template <>
struct std::is_error_code_enum<beck::error::addrinfo_errors> : std::true_type {};
