// SPDX-License-Identifier: BSL-1.0
// connect_pair: two UNIX domain sockets that are connected with each other from the start.
#pragma once

#include <concepts>

#include <beck/base/io_result.hpp>
#include <beck/detail/socket_object.hpp>

namespace beck {

namespace detail {

/// Sockets of one UNIX domain protocol; their executors may differ.
template <class A, class B>
concept local_socket_pair = std::same_as<typename A::protocol_type, typename B::protocol_type> &&
                            A::protocol_type::family() == 1;

}  // namespace detail

/// Connects two closed sockets with each other (socketpair(2)). Found by ADL. Errors: already_open
/// if one of them is open or both are one socket; those of socketpair(2).
template <class A, class B>
  requires detail::local_socket_pair<A, B>
error_code connect_pair(A& a, B& b, error_code& ec) {
  using protocol = typename A::protocol_type;
  detail::socket_calls::open_pair(*a.slot_to_open(), *b.slot_to_open(), protocol::family(),
                                  protocol::type(), protocol::protocol(), ec);
  return ec;
}
/// As above, and throws io_error on failure.
template <class A, class B>
  requires detail::local_socket_pair<A, B>
void connect_pair(A& a, B& b) {
  error_code ec;
  beck::connect_pair(a, b, ec);
  detail::throw_if(ec, "connect_pair");
}

namespace local {
using beck::connect_pair;
}

}  // namespace beck
