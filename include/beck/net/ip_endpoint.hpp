// SPDX-License-Identifier: BSL-1.0
//
// The endpoint of an IP protocol: an address and a port, kept as the sockaddr that the kernel
// takes.
#pragma once

#include <beck/net/address.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace beck::ip {

/// A port in host order.
using port_type = std::uint16_t;

/// Checks a number from outside. Out of 0..65535: sets `ec` to error::invalid_argument and gives 0.
port_type make_port(long number, error_code& ec) noexcept;
/// The same; throws io_error, whose text shows the number and the limits.
port_type make_port(long number);

/// An address and a port of no particular protocol, as a sockaddr_in or sockaddr_in6 (ip(7),
/// ipv6(7)). The base of basic_endpoint, so that its code exists once. A value; any thread.
class socket_address {
 public:
  /// 0.0.0.0:0.
  socket_address() noexcept;
  socket_address(const ip::address& address, port_type port) noexcept;

  /// 0.0.0.0 if the kernel put another family into data().
  ip::address address() const noexcept;
  /// Keeps the port.
  void address(const ip::address& address) noexcept;
  port_type port() const noexcept;
  void port(port_type port) noexcept;

  bool is_v4() const noexcept;
  bool is_v6() const noexcept;

  /// "a.b.c.d:port" or "[v6]:port" (RFC 5952 6).
  address_text to_text() const noexcept;

  /// The sockaddr, to be given to the kernel or filled by it.
  void* data() noexcept { return bytes_; }
  const void* data() const noexcept { return bytes_; }
  /// Follows from the family.
  std::size_t size() const noexcept;
  static constexpr std::size_t capacity() noexcept { return sizeof bytes_; }
  /// After the kernel wrote `size` bytes. Throws io_error(error::invalid_argument) if it is more
  /// than capacity().
  void resize(std::size_t size);

  /// By address, then by port.
  friend bool operator==(const socket_address& a, const socket_address& b) noexcept {
    return (a <=> b) == 0;
  }
  friend std::strong_ordering operator<=>(const socket_address& a,
                                          const socket_address& b) noexcept;

  template <class Stream>
    requires requires(Stream& s, const address_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const socket_address& e) {
    stream << e.to_text();
    return stream;
  }

 private:
  alignas(8) unsigned char bytes_[28] = {};
};

std::size_t hash_value(const socket_address& e) noexcept;

/// An endpoint of Protocol, which is tcp, udp and their like: its v4() and v6() give the two
/// versions of the protocol.
template <class Protocol>
class basic_endpoint : public socket_address {
 public:
  using protocol_type = Protocol;

  /// 0.0.0.0:0.
  basic_endpoint() noexcept = default;
  basic_endpoint(const ip::address& address, port_type port) noexcept
      : socket_address(address, port) {}
  /// Any address of the given version: what a server listens on.
  basic_endpoint(const Protocol& protocol, port_type port) noexcept
      : socket_address(protocol.family() == Protocol::v4().family()
                           ? ip::address(address_v4::any())
                           : ip::address(address_v6::any()),
                       port) {}
  explicit basic_endpoint(const socket_address& e) noexcept : socket_address(e) {}

  Protocol protocol() const noexcept { return is_v6() ? Protocol::v6() : Protocol::v4(); }
};

}  // namespace beck::ip

template <class Protocol>
struct std::hash<beck::ip::basic_endpoint<Protocol>> {
  std::size_t operator()(const beck::ip::basic_endpoint<Protocol>& e) const noexcept {
    return beck::ip::hash_value(e);
  }
};
