// SPDX-License-Identifier: BSL-1.0
// Options of IP that have different numbers in IPv4 and IPv6. Datagram sockets choose the number of
// their version.
#pragma once

#include <cstddef>

namespace beck {

namespace detail {

/// One int that has a place for each version.
template <int LevelV4, int NameV4, int LevelV6, int NameV6>
class family_integer_option {
 public:
  /// Makes the option with the value 0.
  constexpr family_integer_option() noexcept = default;
  /// Makes the option with this value.
  constexpr explicit family_integer_option(int value) noexcept : value_(value) {}
  /// Sets the value.
  constexpr family_integer_option& operator=(int value) noexcept {
    value_ = value;
    return *this;
  }
  /// Returns the value.
  constexpr int value() const noexcept { return value_; }
  /// Returns whether the value is not 0.
  constexpr explicit operator bool() const noexcept { return value_ != 0; }

  static constexpr int level(int family) noexcept { return family == 10 ? LevelV6 : LevelV4; }
  static constexpr int name(int family) noexcept { return family == 10 ? NameV6 : NameV4; }
  const void* data() const noexcept { return &value_; }
  void* data() noexcept { return &value_; }
  static constexpr std::size_t size() noexcept { return sizeof(int); }

 private:
  int value_ = 0;
};

}  // namespace detail

namespace ip {
/// Whether the datagrams of a receive_batch tell their destination: destination() and
/// interface_index(). Source: ip(7), IP_PKTINFO; ipv6(7), IPV6_RECVPKTINFO.
using receive_packet_info = detail::family_integer_option<0, 8, 41, 49>;
}  // namespace ip

}  // namespace beck
