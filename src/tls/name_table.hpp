// SPDX-License-Identifier: BSL-1.0
// Which identity of a server answers to which name: exact names first, then wildcards for one
// label. Source: RFC 6066, section 3; RFC 6125, section 6.4.3.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace beck::tls::detail {

/// Names in lower case, and the index of an identity for each. Thread: any, while it does not
/// change.
class name_table {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// Adds a name of a certificate, such as "a.example" or "*.a.example". A name that is in the
  /// table already gets the new index.
  void add(std::string_view name, std::size_t index);
  /// Returns the index for the name that a client asks for, in any case, with or without a dot at
  /// its end; `none` if no name matches.
  std::size_t find(std::string_view asked) const;

 private:
  std::map<std::string, std::size_t, std::less<>> exact_;
  std::map<std::string, std::size_t, std::less<>> below_;  ///< "*.a.example" is "a.example" here
};

/// Returns the host name in the server name extension of a ClientHello; empty if it is malformed.
std::string_view server_name_in(const unsigned char* extension, std::size_t bytes) noexcept;

}  // namespace beck::tls::detail
