// SPDX-License-Identifier: BSL-1.0
// The two categories of name errors. Errors that Asio has too have the text of Asio.
#include <beck/net/name_error.hpp>

#include <string>

#include <netdb.h>

namespace beck::detail {
namespace {

static_assert(error::service_not_found == -EAI_SERVICE);
static_assert(error::socket_type_not_supported == -EAI_SOCKTYPE);

class netdb_category_type final : public std::error_category {
 public:
  constexpr netdb_category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.netdb"; }
  std::string message(int value) const override {
    switch (static_cast<error::netdb_errors>(value)) {
      case error::host_not_found:
        return "Host not found (authoritative)";
      case error::host_not_found_try_again:
        return "Host not found (non-authoritative), try again later";
      case error::no_recovery:
        return "A non-recoverable error occurred during database lookup";
      case error::no_data:
        return "The query is valid, but it does not have associated data";
      case error::invalid_host_name:
        return "Host name with a NUL or of more than 255 bytes";
    }
    return "Unknown error " + std::to_string(value);
  }
};

class addrinfo_category_type final : public std::error_category {
 public:
  constexpr addrinfo_category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.addrinfo"; }
  std::string message(int value) const override {
    switch (static_cast<error::addrinfo_errors>(value)) {
      case error::service_not_found:
        return "Service not found";
      case error::socket_type_not_supported:
        return "Socket type not supported";
      case error::invalid_service_name:
        return "Service name with a NUL or of more than 32 bytes";
    }
    return "Unknown error " + std::to_string(value);
  }
};

// The categories are never destroyed, because codes are also compared in static destructors.
template <class Category>
union storage {
  Category value;
  constexpr storage() noexcept : value() {}
  ~storage() {}
};
constinit storage<netdb_category_type> netdb;
constinit storage<addrinfo_category_type> addrinfo_errors;

}  // namespace

const std::error_category& netdb_category() noexcept { return netdb.value; }
const std::error_category& addrinfo_category() noexcept { return addrinfo_errors.value; }

}  // namespace beck::detail
