// SPDX-License-Identifier: BSL-1.0
// Sockets whose family is chosen when the program runs: generic::stream_protocol,
// datagram_protocol and raw_protocol.
#pragma once

#include <cstddef>
#include <typeinfo>

#include <beck/asio/basic_socket_iostream.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/icmp.hpp>
#include <beck/asio/socket_base.hpp>
#include <beck/detail/endpoint_data.hpp>
#include <beck/interop/default_token_net.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// The part that the protocols of generic share: a family, a number, and a type of sockets that is
/// known when the program compiles.
template <class Derived, int Type>
class generic_protocol {
 public:
  /// Makes a protocol from the arguments of socket(2).
  constexpr generic_protocol(int family, int protocol) noexcept
      : family_(family), protocol_(protocol) {}

  /// Returns the address family, for socket(2).
  constexpr int family() const noexcept { return family_; }
  /// Returns the type, for socket(2).
  static constexpr int type() noexcept { return Type; }
  /// Returns the protocol, for socket(2).
  constexpr int protocol() const noexcept { return protocol_; }

  friend constexpr bool operator==(const Derived& a, const Derived& b) noexcept {
    return a.family() == b.family() && a.protocol() == b.protocol();
  }

 protected:
  /// Copies another protocol. Throws std::bad_cast if its type is not `Type`.
  template <class Protocol>
  static constexpr int family_of(const Protocol& other) {
    if (other.type() != Type) throw std::bad_cast();
    return other.family();
  }

 private:
  int family_;
  int protocol_;
};

template <class Protocol, class Derived>
concept other_protocol = !std::is_base_of_v<Derived, Protocol> && requires(const Protocol& p) {
  p.family();
  p.type();
  p.protocol();
};

}  // namespace facade

namespace generic {

/// The address of a socket of any family. A value; any thread.
template <class Protocol>
class basic_endpoint {
 public:
  /// The protocol.
  using protocol_type = Protocol;

  /// Makes an empty address.
  basic_endpoint() noexcept = default;
  /// Copies a sockaddr of `size` bytes. `protocol` is what protocol() shall have. Throws io_error
  /// (error::invalid_argument) if `size` is more than capacity().
  basic_endpoint(const void* address, std::size_t size, int protocol = 0)
      : address_(address, size), protocol_(protocol) {}
  /// Copies the endpoint of another protocol.
  template <class Endpoint>
    requires requires(const Endpoint& e) { e.protocol().protocol(); }
  basic_endpoint(const Endpoint& e)
      : address_(e.data(), e.size()), protocol_(e.protocol().protocol()) {}

  /// Returns the protocol: the family of the address, and the number that the endpoint was made
  /// with.
  Protocol protocol() const noexcept { return Protocol(address_.family(), protocol_); }
  /// Returns the sockaddr, to be passed to the kernel or filled by it.
  void* data() noexcept { return address_.data(); }
  /// As above.
  const void* data() const noexcept { return address_.data(); }
  /// Returns the size of the sockaddr in bytes.
  std::size_t size() const noexcept { return address_.size(); }
  /// Returns the most bytes that the kernel may write into data().
  static constexpr std::size_t capacity() noexcept {
    return beck::detail::endpoint_data::capacity();
  }
  /// Sets the size that the kernel has written. Throws io_error (error::invalid_argument) if it is
  /// more than capacity().
  void resize(std::size_t size) { address_.resize(size); }

  friend bool operator==(const basic_endpoint& a, const basic_endpoint& b) noexcept {
    return a.address_ == b.address_;
  }
  /// Compares the bytes, and behind them the sizes.
  friend bool operator<(const basic_endpoint& a, const basic_endpoint& b) noexcept {
    const std::size_t both = a.size() < b.size() ? a.size() : b.size();
    const int order = __builtin_memcmp(a.data(), b.data(), both);
    return order != 0 ? order < 0 : a.size() < b.size();
  }

 private:
  beck::detail::endpoint_data address_;
  int protocol_ = 0;
};

/// Byte streams of any family.
class stream_protocol : public facade::generic_protocol<stream_protocol, 1> {
 public:
  using endpoint = basic_endpoint<stream_protocol>;
  /// The socket. It takes over the stream socket of any other protocol.
  using socket = beck::basic_stream_socket<stream_protocol>;
  using iostream = beck::basic_socket_iostream<stream_protocol>;

  using generic_protocol::generic_protocol;
  /// Copies another protocol. Throws std::bad_cast if that is not one of byte streams.
  template <facade::other_protocol<stream_protocol> Protocol>
  constexpr stream_protocol(const Protocol& other)
      : generic_protocol(family_of(other), other.protocol()) {}
};

/// Datagrams of any family. A receive loses the rest of a long one, as with ip::udp.
class datagram_protocol : public facade::generic_protocol<datagram_protocol, 2> {
 public:
  using endpoint = basic_endpoint<datagram_protocol>;
  /// The socket. It takes over the datagram socket of any other protocol.
  using socket = beck::basic_datagram_socket<datagram_protocol>;
#if !defined(BECK_ASIO_STRICT_DATAGRAMS)
  static constexpr bool cuts_datagrams = true;
#endif

  using generic_protocol::generic_protocol;
  /// Copies another protocol. Throws std::bad_cast if that is not one of datagrams.
  template <facade::other_protocol<datagram_protocol> Protocol>
  constexpr datagram_protocol(const Protocol& other)
      : generic_protocol(family_of(other), other.protocol()) {}
};

/// Raw sockets of any family: see basic_raw_socket.
class raw_protocol : public facade::generic_protocol<raw_protocol, 3> {
 public:
  using endpoint = basic_endpoint<raw_protocol>;
  /// The socket. It takes over the raw socket of any other protocol.
  using socket = basic_raw_socket<raw_protocol>;
  static constexpr bool cuts_datagrams = true;

  using generic_protocol::generic_protocol;
  /// Copies another protocol. Throws std::bad_cast if that is not one of raw sockets.
  template <facade::other_protocol<raw_protocol> Protocol>
  constexpr raw_protocol(const Protocol& other)
      : generic_protocol(family_of(other), other.protocol()) {}
};

}  // namespace generic

BECK_ASIO_END
