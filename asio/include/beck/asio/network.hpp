// SPDX-License-Identifier: BSL-1.0
// Networks of IP: an address and the length of its prefix.
#pragma once

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <beck/asio/address_range.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>

BECK_ASIO_BEGIN

namespace ip {
namespace facade {

/// What network_v4 and network_v6 have in common. `Network`: the class itself.
template <class Network, class Address>
class network {
  using bytes = typename Address::bytes_type;

 public:
  /// The length of the prefix of one address.
  static constexpr unsigned short prefix_max = 8 * bytes().size();

  /// Returns the address, as it was given.
  Address address() const noexcept { return address_; }
  /// Returns the number of bits that are the same in all addresses of the network.
  unsigned short prefix_length() const noexcept { return length_; }
  /// Returns the lowest address.
  Address network_address() const noexcept { return with_other_bits(0); }
  /// Returns the same network, with its lowest address.
  Network canonical() const noexcept { return Network(network_address(), length_); }
  /// Returns whether the network is a single address.
  bool is_host() const noexcept { return length_ == prefix_max; }
  /// Returns whether `other` has all addresses of this network, and more.
  bool is_subnet_of(const Network& other) const noexcept {
    return other.prefix_length() < length_ &&
           Network(address_, other.prefix_length()).network_address() == other.network_address();
  }
  /// Returns "address/length".
  std::string to_string() const {
    return std::string(address_.to_string()) + '/' + std::to_string(length_);
  }
  /// As above; `ec` is never set.
  std::string to_string(beck::error_code& ec) const {
    ec = beck::error_code();
    return to_string();
  }

  /// Parses "address/length". Sets `ec` to invalid_argument if `text` is nothing like that.
  static Network parse(std::string_view text, beck::error_code& ec) {
    const std::size_t slash = text.find('/');
    const std::string_view digits =
        slash < text.size() ? text.substr(slash + 1) : std::string_view();
    unsigned length = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    ec = error::invalid_argument;
    if (error != std::errc() || end != digits.data() + digits.size() || length > prefix_max) {
      return Network();
    }
    const Address address = Network::parse_address(text.substr(0, slash), ec);
    return ec ? Network() : Network(address, static_cast<unsigned short>(length));
  }
  /// As above, and throws system_error.
  static Network parse(std::string_view text) {
    beck::error_code ec;
    const Network result = parse(text, ec);
    if (ec) throw system_error(ec, "make_network \"" + std::string(text) + "\"");
    return result;
  }

  friend bool operator==(const network& a, const network& b) noexcept {
    return a.address_ == b.address_ && a.length_ == b.length_;
  }
  /// Writes the text to a stream.
  template <class Stream>
    requires requires(Stream& stream, std::string text) { stream << text.c_str(); }
  friend Stream& operator<<(Stream& stream, const Network& of) {
    stream << of.to_string().c_str();
    return stream;
  }

 protected:
  network() noexcept = default;
  /// Throws std::out_of_range if `length` is over prefix_max.
  network(const Address& address, unsigned short length) : address_(address), length_(length) {
    if (length > prefix_max) throw std::out_of_range("prefix length too large");
  }

  /// Returns the address with all bits behind the prefix set to those of `fill`.
  Address with_other_bits(unsigned char fill) const noexcept {
    bytes all = address_.to_bytes();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const unsigned kept = length_ <= 8 * i ? 0 : length_ - static_cast<unsigned>(8 * i);
      const unsigned mask = kept >= 8 ? 0xff : 0xff00 >> kept & 0xff;
      all[i] = static_cast<unsigned char>((all[i] & mask) | (fill & ~mask));
    }
    return Network::address_of(all, address_);
  }

 private:
  Address address_;
  unsigned short length_ = 0;
};

}  // namespace facade

/// A network of IPv4. A value; any thread.
class network_v4 : public facade::network<network_v4, address_v4> {
  using base = facade::network<network_v4, address_v4>;
  friend base;

 public:
  /// Makes 0.0.0.0/0.
  network_v4() noexcept = default;
  /// Makes the network of `address` with a prefix of `length` bits. Throws std::out_of_range if
  /// it is over 32.
  network_v4(const address_v4& address, unsigned short length) : base(address, length) {}
  /// Makes the network of `address` with this mask. Throws std::invalid_argument if a 1 follows a 0
  /// in it.
  network_v4(const address_v4& address, const address_v4& mask) : base(address, length_of(mask)) {}

  /// Returns the mask: ones, as many as the prefix is long, then zeros.
  address_v4 netmask() const noexcept {
    return network_v4(address_v4::broadcast(), prefix_length()).network();
  }
  /// Returns the lowest address.
  address_v4 network() const noexcept { return network_address(); }
  /// Returns the highest address.
  address_v4 broadcast() const noexcept { return with_other_bits(0xff); }
  /// Returns the address itself if it is a host, else the addresses between network() and
  /// broadcast().
  address_v4_range hosts() const noexcept {
    address_v4_iterator first(network());
    if (is_host()) return address_v4_range(first, std::next(first));
    return address_v4_range(++first, address_v4_iterator(broadcast()));
  }

 private:
  static unsigned short length_of(const address_v4& mask) {
    unsigned short length = 0;
    while (length < prefix_max && (mask.to_uint() << length & 0x80000000) != 0) ++length;
    if (network_v4(mask, length).network() != mask) {
      throw std::invalid_argument("non-contiguous netmask");
    }
    return length;
  }
  static address_v4 parse_address(std::string_view text, beck::error_code& ec) {
    return make_address_v4(text, ec);
  }
  static address_v4 address_of(const address_v4::bytes_type& bytes, const address_v4&) noexcept {
    return address_v4(bytes);
  }
};

/// A network of IPv6. A value; any thread.
class network_v6 : public facade::network<network_v6, address_v6> {
  using base = facade::network<network_v6, address_v6>;
  friend base;

 public:
  /// Makes ::/0.
  network_v6() noexcept = default;
  /// Makes the network of `address` with a prefix of `length` bits. Throws std::out_of_range if
  /// it is over 128.
  network_v6(const address_v6& address, unsigned short length) : base(address, length) {}

  /// Returns the lowest address.
  address_v6 network() const noexcept { return network_address(); }
  /// Returns all addresses.
  address_v6_range hosts() const noexcept {
    return address_v6_range(address_v6_iterator(network()),
                            std::next(address_v6_iterator(with_other_bits(0xff))));
  }

 private:
  static address_v6 parse_address(std::string_view text, beck::error_code& ec) {
    return make_address_v6(text, ec);
  }
  static address_v6 address_of(const address_v6::bytes_type& bytes,
                               const address_v6& scope) noexcept {
    return address_v6(bytes, scope.scope_id());
  }
};

/// Makes a network of an address and the length of its prefix, or its mask.
inline network_v4 make_network_v4(const address_v4& address, unsigned short length) {
  return network_v4(address, length);
}
/// As above.
inline network_v4 make_network_v4(const address_v4& address, const address_v4& mask) {
  return network_v4(address, mask);
}
/// Parses "a.b.c.d/length". Throws system_error.
inline network_v4 make_network_v4(std::string_view text) { return network_v4::parse(text); }
/// As above, and sets `ec`.
inline network_v4 make_network_v4(std::string_view text, beck::error_code& ec) {
  return network_v4::parse(text, ec);
}
/// Makes a network of an address and the length of its prefix.
inline network_v6 make_network_v6(const address_v6& address, unsigned short length) {
  return network_v6(address, length);
}
/// Parses "address/length". Throws system_error.
inline network_v6 make_network_v6(std::string_view text) { return network_v6::parse(text); }
/// As above, and sets `ec`.
inline network_v6 make_network_v6(std::string_view text, beck::error_code& ec) {
  return network_v6::parse(text, ec);
}

}  // namespace ip

BECK_ASIO_END
