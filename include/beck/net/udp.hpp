// SPDX-License-Identifier: BSL-1.0
// ip::udp: the protocol and the names of its objects.
#pragma once

#include <beck/net/address.hpp>
#include <beck/net/datagram_socket.hpp>
#include <beck/net/ip_endpoint.hpp>

namespace beck::ip {

template <class Protocol>
class basic_resolver;  // net/resolver.hpp

/// UDP over IPv4 or IPv6, with the names that Asio gives it.
class udp : public detail::udp_options {
 public:
  using endpoint = basic_endpoint<udp>;
  using socket = basic_datagram_socket<udp>;
  using resolver = basic_resolver<udp>;
  template <std::size_t Capacity>
  using receive_batch = beck::receive_batch<udp, Capacity>;
  template <std::size_t Capacity>
  using send_batch = beck::send_batch<udp, Capacity>;

  static constexpr udp v4() noexcept { return udp(2); }
  static constexpr udp v6() noexcept { return udp(10); }

  /// As socket(2) takes them.
  constexpr int family() const noexcept { return family_; }
  static constexpr int type() noexcept { return 2; }
  static constexpr int protocol() noexcept { return 17; }

  friend constexpr bool operator==(const udp& a, const udp& b) noexcept {
    return a.family_ == b.family_;  // the base, a list of names, has no comparison
  }

 private:
  template <class>
  friend class basic_endpoint;

  constexpr explicit udp(int family) noexcept : family_(family) {}

  int family_;
};

}  // namespace beck::ip
