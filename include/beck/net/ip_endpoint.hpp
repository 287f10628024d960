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

namespace functions {

/// Returns `number` as a port. If it is not in 0..65535, sets `ec` to error::invalid_argument and
/// returns 0.
port_type make_port(long number, error_code& ec) noexcept;
/// As above, and throws io_error on failure, whose text shows the number and the limits.
port_type make_port(long number);

}  // namespace functions
using namespace functions;

/// An address and a port of no particular protocol, as a sockaddr_in or sockaddr_in6 (ip(7),
/// ipv6(7)). The base of basic_endpoint, so that its code exists once. A value; any thread.
class socket_address {
 public:
  /// Makes 0.0.0.0:0.
  socket_address() noexcept;
  /// Makes the endpoint of this address and port.
  socket_address(const ip::address& address, port_type port) noexcept;

  /// Returns the address; 0.0.0.0 if the kernel wrote another family into data().
  ip::address address() const noexcept;
  /// Sets the address and keeps the port.
  void address(const ip::address& address) noexcept;
  /// Returns the port, in host order.
  port_type port() const noexcept;
  /// Sets the port.
  void port(port_type port) noexcept;

  /// Returns whether the address is an IPv4 address.
  bool is_v4() const noexcept;
  /// Returns whether the address is an IPv6 address.
  bool is_v6() const noexcept;

  /// Returns "a.b.c.d:port" or "[v6]:port" (RFC 5952 6).
  address_text to_text() const noexcept;

  /// Returns the sockaddr, to be passed to the kernel or filled by it.
  void* data() noexcept { return bytes_; }
  /// As above.
  const void* data() const noexcept { return bytes_; }
  /// Returns the size of the sockaddr in bytes, which follows from the family.
  std::size_t size() const noexcept;
  /// Returns the most bytes that the kernel may write into data().
  static constexpr std::size_t capacity() noexcept { return sizeof bytes_; }
  /// Checks the size that the kernel has written. Throws io_error (error::invalid_argument) if it
  /// is more than capacity().
  void resize(std::size_t size);

  /// Compares address and port.
  friend bool operator==(const socket_address& a, const socket_address& b) noexcept {
    return (a <=> b) == 0;
  }
  /// Compares by address, then by port.
  friend std::strong_ordering operator<=>(const socket_address& a,
                                          const socket_address& b) noexcept;

  /// Writes the text to a stream, such as a std::ostream.
  template <class Stream>
    requires requires(Stream& s, const address_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const socket_address& e) {
    stream << e.to_text();
    return stream;
  }

 private:
  alignas(8) unsigned char bytes_[28] = {};
};

/// Returns a hash, as that of addresses.
std::size_t hash_value(const socket_address& e) noexcept;

/// An endpoint of Protocol, which is tcp, udp or a class like them: its v4() and v6() return the
/// two versions of the protocol.
template <class Protocol>
class basic_endpoint : public socket_address {
 public:
  /// The protocol.
  using protocol_type = Protocol;

  /// Makes 0.0.0.0:0.
  basic_endpoint() noexcept = default;
  /// Makes the endpoint of this address and port.
  basic_endpoint(const ip::address& address, port_type port) noexcept
      : socket_address(address, port) {}
  /// Makes the unspecified address of the version of `protocol`, which a server listens on.
  basic_endpoint(const Protocol& protocol, port_type port) noexcept
      : socket_address(protocol.family() == Protocol::v4().family()
                           ? ip::address(address_v4::any())
                           : ip::address(address_v6::any()),
                       port) {}
  /// Converts from an endpoint of no particular protocol.
  explicit basic_endpoint(const socket_address& e) noexcept : socket_address(e) {}

  /// Returns the protocol in the version of the address.
  Protocol protocol() const noexcept { return is_v6() ? Protocol::v6() : Protocol::v4(); }
};

}  // namespace beck::ip

/// Hashes with hash_value().
template <class Protocol>
struct std::hash<beck::ip::basic_endpoint<Protocol>> {
  /// Returns hash_value() of the argument.
  std::size_t operator()(const beck::ip::basic_endpoint<Protocol>& e) const noexcept {
    return beck::ip::hash_value(e);
  }
};
