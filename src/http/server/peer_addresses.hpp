// SPDX-License-Identifier: BSL-1.0
// The addresses of peers: counts the connections of each, knows which are proxies, and reads the
// address of the client that a proxy reports in Forwarded or X-Forwarded-For.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include <beck/http/head.hpp>
#include <beck/net/address.hpp>

namespace beck::http::detail {

/// Returns the IPv4 address of its IPv6 form, which a socket for both versions reports; else `a`.
ip::address unmapped(const ip::address& a) noexcept;

/// The number of connections of one worker from each address. A peer usually has a whole IPv6 /64,
/// so that counts as one address. A tree: no choice of addresses makes it slow. Thread: one at a
/// time.
class address_count {
 public:
  /// Counts a connection, unless there are `most` from its address already or memory is lacking.
  /// Returns whether it was counted.
  bool add(const ip::address& from, std::size_t most) noexcept;
  /// Forgets a connection that was counted.
  void remove(const ip::address& from) noexcept;
  /// Returns the number of addresses that have connections.
  std::size_t size() const noexcept { return counts_.size(); }

 private:
  struct network {
    std::uint64_t bits;
    bool is_v6;
    friend auto operator<=>(const network&, const network&) = default;
  };
  static network network_of(const ip::address& a) noexcept;

  std::map<network, std::size_t> counts_;
};

/// The addresses of trusted proxies.
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

/// Returns the rightmost address in the fields `how`, field::forwarded or field::x_forwarded_for,
/// that is not a proxy's; `peer` if that is not a proxy itself. Each proxy adds its peer at the
/// right; the client may have invented the elements to the left of its own address. An element that
/// is malformed or without an address ends the search: the result is the proxy that wrote it.
ip::address client_address(const request_head& head, field how, const proxy_list& proxies,
                           const ip::address& peer, bool is_local) noexcept;

}  // namespace beck::http::detail
