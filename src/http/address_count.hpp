// SPDX-License-Identifier: BSL-1.0
// Counts connections by the address of their peer. A peer usually has a whole /64 of IPv6, so that
// counts as one address.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>

#include <beck/net/address.hpp>

namespace beck::http::detail {

/// Returns an IPv4 address instead of its IPv6 form, which a socket for both versions sees.
ip::address unmapped(const ip::address& a) noexcept;

/// The counts of one worker. A tree: no choice of addresses makes it slow. Thread: one at a time.
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

}  // namespace beck::http::detail
