// SPDX-License-Identifier: BSL-1.0
//
// An IPv6 address with its scope id, with Asio's interface.
#pragma once

#include <beck/net/address_v4.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::ip {

/// An IPv6 address. The scope id (the interface of a link-local address; 0 means none) is part of
/// its value. A value; any thread.
class address_v6 {
 public:
  /// The type of an address as bytes.
  using bytes_type = address_bytes<16>;
  /// The type of the scope id.
  using scope_id_type = std::uint32_t;

  /// The longest text: eight groups of four, "%" and ten digits.
  static constexpr std::size_t text_max = 50;

  /// Makes "::".
  constexpr address_v6() noexcept = default;
  /// Makes the address with these bytes, in network order, and this scope id.
  constexpr explicit address_v6(const bytes_type& bytes, scope_id_type scope_id = 0) noexcept
      : bytes_(bytes), scope_id_(scope_id) {}

  /// Returns the bytes in network order.
  constexpr bytes_type to_bytes() const noexcept { return bytes_; }
  /// Returns the scope id; 0 means none.
  constexpr scope_id_type scope_id() const noexcept { return scope_id_; }
  /// Sets the scope id.
  constexpr void scope_id(scope_id_type id) noexcept { scope_id_ = id; }

  /// Returns the canonical text of RFC 5952: lower case, the longest run of zeros shortened,
  /// "::ffff:a.b.c.d" for a mapped address; "%" and the scope id as a number if it is not 0. Throws
  /// std::bad_alloc.
  std::string to_string() const { return to_text(); }
  /// As to_string(), without allocating.
  address_text to_text() const noexcept;
  /// Writes the text as address_v4::to_chars().
  std::size_t to_chars(char* out, std::size_t capacity) const noexcept;

  /// Returns whether the bytes are those of "::".
  constexpr bool is_unspecified() const noexcept { return bytes_ == bytes_type(); }
  /// Returns whether the bytes are those of "::1".
  constexpr bool is_loopback() const noexcept { return bytes_ == loopback().bytes_; }
  /// Returns whether this is in ff00::/8.
  constexpr bool is_multicast() const noexcept { return bytes_[0] == 0xff; }
  /// Returns whether this is in fe80::/10.
  constexpr bool is_link_local() const noexcept {
    return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
  }
  /// Returns whether this is in fec0::/10, deprecated by RFC 3879.
  constexpr bool is_site_local() const noexcept {
    return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0xc0;
  }
  /// Returns whether this is in ::ffff:0:0/96: an IPv4 address in IPv6 form.
  constexpr bool is_v4_mapped() const noexcept {
    for (std::size_t i = 0; i < 10; ++i) {
      if (bytes_[i] != 0) return false;
    }
    return bytes_[10] == 0xff && bytes_[11] == 0xff;
  }
  /// Returns whether this is a multicast address of node-local scope.
  constexpr bool is_multicast_node_local() const noexcept { return has_multicast_scope(0x1); }
  /// Returns whether this is a multicast address of link-local scope.
  constexpr bool is_multicast_link_local() const noexcept { return has_multicast_scope(0x2); }
  /// Returns whether this is a multicast address of site-local scope.
  constexpr bool is_multicast_site_local() const noexcept { return has_multicast_scope(0x5); }
  /// Returns whether this is a multicast address of organization-local scope.
  constexpr bool is_multicast_org_local() const noexcept { return has_multicast_scope(0x8); }
  /// Returns whether this is a multicast address of global scope.
  constexpr bool is_multicast_global() const noexcept { return has_multicast_scope(0xe); }

  /// Returns "::".
  static constexpr address_v6 any() noexcept { return address_v6(); }
  /// Returns "::1".
  static constexpr address_v6 loopback() noexcept {
    bytes_type bytes;
    bytes[15] = 1;
    return address_v6(bytes);
  }

  /// Compares by bytes, then by scope id.
  friend constexpr auto operator<=>(const address_v6&, const address_v6&) = default;

  /// Writes the text to a stream, such as a std::ostream.
  template <class Stream>
    requires requires(Stream& s, const address_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const address_v6& a) {
    stream << a.to_text();
    return stream;
  }

 private:
  constexpr bool has_multicast_scope(unsigned scope) const noexcept {
    return is_multicast() && (bytes_[1] & 0x0f) == scope;
  }

  bytes_type bytes_;
  scope_id_type scope_id_ = 0;
};

/// Returns the address with these bytes, in network order, and this scope id.
constexpr address_v6 make_address_v6(const address_v6::bytes_type& bytes,
                                     address_v6::scope_id_type scope_id = 0) noexcept {
  return address_v6(bytes, scope_id);
}

/// Parses the texts of RFC 4291 2.2, also with "%" and a scope id in decimal. Otherwise sets `ec`
/// to error::invalid_argument and returns "::". Names of interfaces after "%" are refused: finding
/// their number is a system call (if_nametoindex(3)).
address_v6 make_address_v6(std::string_view text, error_code& ec) noexcept;
/// As above, and throws io_error on failure, whose text shows `text`.
address_v6 make_address_v6(std::string_view text);

/// Selects the conversions between an IPv4 address and its IPv6 form: make_address_v6(v4_mapped,
/// a).
enum v4_mapped_t { v4_mapped };

/// Returns the IPv6 form of an IPv4 address, "::ffff:a.b.c.d".
constexpr address_v6 make_address_v6(v4_mapped_t, const address_v4& a) noexcept {
  const auto from = a.to_bytes();
  address_v6::bytes_type bytes;
  bytes[10] = bytes[11] = 0xff;
  for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = from[i];
  return address_v6(bytes);
}

/// Returns the IPv4 address of its IPv6 form. Throws bad_address_cast unless a.is_v4_mapped().
address_v4 make_address_v4(v4_mapped_t, const address_v6& a);

}  // namespace beck::ip
