// SPDX-License-Identifier: BSL-1.0
// Proxies in front of a server: which peers are some, and the address of the client that they tell
// in Forwarded or X-Forwarded-For.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <beck/http/head.hpp>
#include <beck/net/address.hpp>

namespace beck::http::detail {

/// The addresses of proxies whose word is taken.
class proxy_list {
 public:
  /// Adds addresses and networks, separated by commas and spaces: "10.0.0.0/8, fd00::1, unix".
  /// Throws std::invalid_argument for a text that is none of them; then nothing was added.
  void add(std::string_view text);
  /// Returns whether `a` is the address of a proxy.
  bool has(const ip::address& a) const noexcept;
  /// Returns whether peers of UNIX sockets are proxies.
  bool has_local() const noexcept { return local_; }

 private:
  struct network {
    ip::address base;
    unsigned bits;
  };
  static network read(std::string_view text);

  std::vector<network> networks_;
  bool local_ = false;
};

/// Returns the address that stands rightmost in the fields `how`, which is field::forwarded or
/// field::x_forwarded_for, and is not a proxy's; `peer` if that is not a proxy itself. Each proxy
/// adds its peer at the right: what is further to the left may be the client's invention. An
/// element without an address, or that is malformed, ends the search at the proxy that wrote it.
ip::address client_address(const request_head& head, field how, const proxy_list& proxies,
                           const ip::address& peer, bool is_local) noexcept;

}  // namespace beck::http::detail
