// SPDX-License-Identifier: BSL-1.0
// Options of datagram sockets. The numbers are Linux's; src/net/socket_option.cpp checks them
// against its headers.
#pragma once

#include <cstddef>

#include <beck/net/socket_option.hpp>

namespace beck::detail {

/// An option whose level and name depend on the version of IP: 2 or 10, as socket(2) takes it.
template <class Option>
concept family_option = requires(const Option& option, int family) {
  option.level(family);
  option.name(family);
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

}  // namespace beck::detail
