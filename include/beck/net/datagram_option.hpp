// SPDX-License-Identifier: BSL-1.0
// Options of datagram sockets, and those that have a number for each version of IP. The numbers are
// Linux's; src/net/socket_option.cpp checks them against its headers.
#pragma once

#include <cstddef>

#include <beck/net/socket_option.hpp>

namespace beck {

/// An option whose level and name depend on the version of IP: 2 or 10, as socket(2) takes it.
template <class Option>
concept family_option = requires(const Option& option, int family) {
  option.level(family);
  option.name(family);
};

/// One int that has a place for each version.
template <int LevelV4, int NameV4, int LevelV6, int NameV6>
class family_integer_option {
 public:
  constexpr family_integer_option() noexcept = default;
  constexpr explicit family_integer_option(int value) noexcept : value_(value) {}
  constexpr int value() const noexcept { return value_; }
  constexpr explicit operator bool() const noexcept { return value_ != 0; }

  static constexpr int level(int family) noexcept { return family == 10 ? LevelV6 : LevelV4; }
  static constexpr int name(int family) noexcept { return family == 10 ? NameV6 : NameV4; }
  const void* data() const noexcept { return &value_; }
  void* data() noexcept { return &value_; }
  static constexpr std::size_t size() noexcept { return sizeof(int); }

 private:
  int value_ = 0;
};

/// Options of UDP sockets; ip::udp inherits the names. Source: udp(7). A kernel without them
/// (before Linux 4.18 and 5.0) and a simulated one give error::no_protocol_option.
struct udp_options {
  /// What is sent is cut into datagrams of so many bytes, the last of which may be shorter, below
  /// the socket and all at once: at most 64 of them and 64 KiB. 0: no more. Of one send:
  /// send_batch. error::invalid_argument from the send if a segment does not fit into the path.
  using send_segment_size = integer_option<17, 103>;
  /// Datagrams of one size that come together from one sender may be received as one, whose
  /// segment_size() a receive_batch tells: for buffers of 64 KiB.
  using receive_coalesced = boolean_option<17, 104>;
};

namespace ip {
/// Whether what is received says where it was sent to: received_datagram::destination() and
/// interface_index(). Source: ip(7), IP_PKTINFO; ipv6(7), IPV6_RECVPKTINFO.
using receive_packet_info = family_integer_option<0, 8, 41, 49>;
}  // namespace ip

}  // namespace beck
