// SPDX-License-Identifier: BSL-1.0
// Options for multicast, with Asio's names: those that have different numbers in ip(7) and ipv6(7).
#pragma once

#include <beck/net/address.hpp>
#include <beck/net/family_option.hpp>

namespace beck::ip {

/// The value of join_group and leave_group: a group, and the interface that it is for. A group of
/// IPv4 may also be used with a socket that takes both versions.
template <int NameV4, int NameV6>
class group_option {
 public:
  /// Names no group; to be assigned.
  group_option() noexcept : group_option(address_v4()) {}
  /// Names the interface that the routes choose.
  explicit group_option(const address& group) noexcept : v6_(group.is_v6()) {
    v6_ ? put_v6(group.to_v6(), 0) : put_v4(group.to_v4(), address_v4());
  }
  /// Names the interface that has the address `interface`; 0.0.0.0: as the routes choose.
  explicit group_option(const address_v4& group, const address_v4& interface = {}) noexcept
      : v6_(false) {
    put_v4(group, interface);
  }
  /// Names the interface with this number (if_nametoindex(3)); 0: as the routes choose.
  explicit group_option(const address_v6& group, unsigned interface = 0) noexcept : v6_(true) {
    put_v6(group, interface);
  }

  /// Returns the level, for setsockopt(2).
  int level() const noexcept { return v6_ ? 41 : 0; }
  /// Returns the option's name, for setsockopt(2).
  int name() const noexcept { return v6_ ? NameV6 : NameV4; }
  /// Returns the bytes of the value.
  const void* data() const noexcept { return bytes_; }
  /// Returns the number of bytes of the value.
  std::size_t size() const noexcept { return v6_ ? 20 : 8; }

 private:
  void put_v4(const address_v4& group, const address_v4& interface) noexcept {
    const auto of_group = group.to_bytes();
    const auto of_interface = interface.to_bytes();
    __builtin_memcpy(bytes_, &of_group, 4);
    __builtin_memcpy(bytes_ + 4, &of_interface, 4);
  }
  void put_v6(const address_v6& group, unsigned interface) noexcept {
    const auto of_group = group.to_bytes();
    __builtin_memcpy(bytes_, &of_group, 16);
    __builtin_memcpy(bytes_ + 16, &interface, 4);
  }

  bool v6_;
  alignas(8) unsigned char bytes_[24] = {};  // struct ip_mreq or ipv6_mreq
};

namespace multicast {

/// Joins a group: the socket receives datagrams that are sent to it, at the port it is bound to.
using join_group = group_option<35, 20>;
/// Leaves a group.
using leave_group = group_option<36, 21>;
/// The most routers that sent multicast datagrams may pass; 1 by default.
using hops = detail::family_integer_option<0, 33, 41, 18>;
/// Whether members on this host receive the datagrams sent here; on by default.
using enable_loopback = detail::family_integer_option<0, 34, 41, 19>;

/// The interface through which sent multicast datagrams leave.
class outbound_interface {
 public:
  /// Names no interface: the routes choose, of IPv4.
  outbound_interface() noexcept : outbound_interface(address_v4()) {}
  /// Names an interface by its address, for IPv4.
  explicit outbound_interface(const address_v4& interface) noexcept : level_(0), name_(32) {
    const auto bytes = interface.to_bytes();
    __builtin_memcpy(&value_, &bytes, sizeof value_);
  }
  /// Names an interface by its number, for IPv6.
  explicit outbound_interface(unsigned interface) noexcept
      : level_(41), name_(17), value_(interface) {}

  /// Returns the level, for setsockopt(2).
  int level() const noexcept { return level_; }
  /// Returns the option's name, for setsockopt(2).
  int name() const noexcept { return name_; }
  /// Returns the bytes of the value.
  const void* data() const noexcept { return &value_; }
  /// Returns the number of bytes of the value.
  static constexpr std::size_t size() noexcept { return sizeof(unsigned); }

 private:
  int level_;
  int name_;
  unsigned value_;
};

}  // namespace multicast

namespace unicast {
/// The most routers that sent unicast datagrams may pass.
using hops = detail::family_integer_option<0, 2, 41, 16>;
}  // namespace unicast

}  // namespace beck::ip
