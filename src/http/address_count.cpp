// SPDX-License-Identifier: BSL-1.0
// An address is counted by the bits that its owner cannot choose: all of IPv4, 64 of IPv6.
#include "http/address_count.hpp"

#include <new>

#include <beck/base/assert.hpp>

namespace beck::http::detail {

ip::address unmapped(const ip::address& a) noexcept {
  if (!a.is_v6() || !a.to_v6().is_v4_mapped()) return a;
  return ip::make_address_v4(ip::v4_mapped, a.to_v6());
}

address_count::network address_count::network_of(const ip::address& a) noexcept {
  network of{0, a.is_v6()};
  if (a.is_v6()) {
    const auto bytes = a.to_v6().to_bytes();
    for (std::size_t i = 0; i < 8; ++i) of.bits = of.bits << 8 | bytes[i];
  } else {
    of.bits = a.to_v4().to_uint();
  }
  return of;
}

bool address_count::add(const ip::address& from, std::size_t most) noexcept {
  try {
    std::size_t& count = counts_[network_of(from)];
    if (count >= most) return false;
    ++count;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void address_count::remove(const ip::address& from) noexcept {
  const auto found = counts_.find(network_of(from));
  BECK_ASSERT(found != counts_.end(), "a connection was counted for another address");
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace beck::http::detail
