// SPDX-License-Identifier: BSL-1.0
// Options of datagram sockets. The numbers are Linux's; src/net/socket_option.cpp checks them
// against its headers.
#pragma once

#include <cstddef>

#include <beck/net/socket_option.hpp>

namespace beck::detail {

/// An option whose level and name depend on the version of IP: 2 or 10, as in socket(2). Options of
/// a program that take any protocol (protocol_option) are none.
template <class Option>
concept family_option = requires(const Option& option, int family) {
  option.level(family);
  option.name(family);
} && !requires(const Option& option, void (*anything)()) { option.level(anything); };

/// Options of UDP sockets; ip::udp inherits the names. Source: udp(7). Kernels without them (before
/// Linux 4.18 and 5.0) and simulated ones fail with error::no_protocol_option.
struct udp_options {
  /// UDP_SEGMENT: the kernel splits each send into datagrams of this size in bytes; the last may be
  /// shorter. At most 64 datagrams and 64 KiB per send. 0 turns it off. To set it for one send, use
  /// send_batch. The send fails with error::invalid_argument if a segment does not fit into the
  /// path.
  using send_segment_size = integer_option<17, 103>;
  /// UDP_GRO: datagrams of one size that arrive together from one sender may be received as one,
  /// whose segment_size() a receive_batch returns. For buffers of 64 KiB.
  using receive_coalesced = boolean_option<17, 104>;
};

}  // namespace beck::detail
