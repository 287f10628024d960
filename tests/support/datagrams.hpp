// SPDX-License-Identifier: BSL-1.0
// UDP sockets on the loopback, for cases about datagrams.
#pragma once

#include <beck/net/udp.hpp>

#include <doctest/doctest.h>

#include "support/connections.hpp"
#include "support/context_options.hpp"

namespace beck::test {

using udp = ip::udp;

inline udp::endpoint any_port_v4() { return {ip::address_v4::loopback(), 0}; }
inline udp::endpoint any_port_v6() { return {ip::address_v6::loopback(), 0}; }

/// Two sockets, each connected to the other.
struct udp_pair {
  explicit udp_pair(io_context& context) : udp_pair(context, any_port_v4()) {}
  udp_pair(io_context& context, const udp::endpoint& where) : a(context, where), b(context, where) {
    a.connect(b.local_endpoint());
    b.connect(a.local_endpoint());
  }

  udp::socket a;
  udp::socket b;
};

/// Returns a port of the loopback that no socket has.
inline udp::endpoint closed_port(io_context& context) {
  return udp::socket(context, any_port_v4()).local_endpoint();
}

}  // namespace beck::test
