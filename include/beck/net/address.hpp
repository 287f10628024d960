// SPDX-License-Identifier: BSL-1.0
//
// An address of either version of IP. The texts are read and written by the library itself, so
// neither depends on the C library or on the locale, and nothing allocates.
#pragma once

#include <beck/net/address_v4.hpp>
#include <beck/net/address_v6.hpp>
#include <compare>
#include <cstddef>
#include <exception>
#include <string_view>

namespace beck::ip {

/// Thrown by conversions of an address to the other version of IP.
class bad_address_cast final : public std::exception {
 public:
  /// Returns a text for people.
  const char* what() const noexcept override;
};

/// An IPv4 or IPv6 address. A value; any thread.
class address {
 public:
  /// The longest text of either.
  static constexpr std::size_t text_max = address_v6::text_max;

  /// Makes 0.0.0.0.
  constexpr address() noexcept = default;
  /// Converts from an IPv4 address.
  constexpr address(const address_v4& a) noexcept : v4_(a) {}
  /// Converts from an IPv6 address.
  constexpr address(const address_v6& a) noexcept : is_v6_(true), v6_(a) {}

  /// Returns whether this is an IPv4 address.
  constexpr bool is_v4() const noexcept { return !is_v6_; }
  /// Returns whether this is an IPv6 address.
  constexpr bool is_v6() const noexcept { return is_v6_; }

  /// Returns the IPv4 address. Throws bad_address_cast if this is an IPv6 address, a mapped one,
  /// too: see make_address_v4(v4_mapped, a).
  address_v4 to_v4() const;
  /// Returns the IPv6 address. Throws bad_address_cast if this is an IPv4 address.
  address_v6 to_v6() const;

  /// Returns the text, as address_v4 and address_v6. Throws std::bad_alloc.
  std::string to_string() const { return to_text(); }
  /// As to_string(), without allocating.
  address_text to_text() const noexcept { return is_v6_ ? v6_.to_text() : v4_.to_text(); }
  /// Writes the text as address_v4::to_chars().
  std::size_t to_chars(char* out, std::size_t capacity) const noexcept {
    return is_v6_ ? v6_.to_chars(out, capacity) : v4_.to_chars(out, capacity);
  }

  /// Returns whether this is 0.0.0.0 or "::".
  constexpr bool is_unspecified() const noexcept {
    return is_v6_ ? v6_.is_unspecified() : v4_.is_unspecified();
  }
  /// Returns whether this is a loopback address of its version.
  constexpr bool is_loopback() const noexcept {
    return is_v6_ ? v6_.is_loopback() : v4_.is_loopback();
  }
  /// Returns whether this is a multicast address of its version.
  constexpr bool is_multicast() const noexcept {
    return is_v6_ ? v6_.is_multicast() : v4_.is_multicast();
  }

  /// Compares; every IPv4 address is less than every IPv6 address.
  friend constexpr auto operator<=>(const address&, const address&) = default;

  /// Writes the text to a stream, such as a std::ostream.
  template <class Stream>
    requires requires(Stream& s, const address_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const address& a) {
    stream << a.to_text();
    return stream;
  }

 private:
  bool is_v6_ = false;
  address_v4 v4_;
  address_v6 v6_;
};

/// Parses the text of an IPv6 or IPv4 address: see make_address_v6() and make_address_v4().
/// Otherwise sets `ec` to error::invalid_argument and returns 0.0.0.0.
address make_address(std::string_view text, error_code& ec) noexcept;
/// As above, and throws io_error on failure, whose text shows `text`.
address make_address(std::string_view text);

/// Returns a hash; equal addresses have equal hashes. Not stable between versions of the library,
/// and not meant to resist an attacker.
std::size_t hash_value(const address_v4& a) noexcept;
/// As above.
std::size_t hash_value(const address_v6& a) noexcept;
/// As above.
std::size_t hash_value(const address& a) noexcept;

}  // namespace beck::ip

// std::hash is declared by <system_error>, which error.hpp includes.
/// Hashes with hash_value().
template <>
struct std::hash<beck::ip::address_v4> {
  /// Returns hash_value() of the argument.
  std::size_t operator()(const beck::ip::address_v4& a) const noexcept { return hash_value(a); }
};
/// Hashes with hash_value().
template <>
struct std::hash<beck::ip::address_v6> {
  /// Returns hash_value() of the argument.
  std::size_t operator()(const beck::ip::address_v6& a) const noexcept { return hash_value(a); }
};
/// Hashes with hash_value().
template <>
struct std::hash<beck::ip::address> {
  /// Returns hash_value() of the argument.
  std::size_t operator()(const beck::ip::address& a) const noexcept { return hash_value(a); }
};
