// SPDX-License-Identifier: BSL-1.0
//
// An IPv6 address with its scope id, with Asio's interface.
#pragma once

#include <beck/net/address_v4.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace beck::ip {

/// An IPv6 address. The scope id (which interface a link-local address is on; 0 means none) is part
/// of its value. A value; any thread.
class address_v6 {
 public:
  using bytes_type = address_bytes<16>;
  using scope_id_type = std::uint32_t;

  /// The longest text: eight groups of four, "%" and ten digits.
  static constexpr std::size_t text_max = 50;

  /// "::".
  constexpr address_v6() noexcept = default;
  constexpr explicit address_v6(const bytes_type& bytes, scope_id_type scope_id = 0) noexcept
      : bytes_(bytes), scope_id_(scope_id) {}

  constexpr bytes_type to_bytes() const noexcept { return bytes_; }
  constexpr scope_id_type scope_id() const noexcept { return scope_id_; }
  constexpr void scope_id(scope_id_type id) noexcept { scope_id_ = id; }

  /// The canonical text of RFC 5952: lower case, the longest run of zeros shortened,
  /// "::ffff:a.b.c.d" for a mapped address; "%" and the scope id as a number if it is not 0.
  address_text to_string() const noexcept;
  /// As address_v4::to_chars().
  std::size_t to_chars(char* out, std::size_t capacity) const noexcept;

  constexpr bool is_unspecified() const noexcept { return bytes_ == bytes_type(); }
  constexpr bool is_loopback() const noexcept { return bytes_ == loopback().bytes_; }
  /// ff00::/8.
  constexpr bool is_multicast() const noexcept { return bytes_[0] == 0xff; }
  /// fe80::/10.
  constexpr bool is_link_local() const noexcept {
    return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
  }
  /// fec0::/10, deprecated by RFC 3879.
  constexpr bool is_site_local() const noexcept {
    return bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0xc0;
  }
  /// ::ffff:0:0/96, an IPv4 address in IPv6 form.
  constexpr bool is_v4_mapped() const noexcept {
    for (std::size_t i = 0; i < 10; ++i) {
      if (bytes_[i] != 0) return false;
    }
    return bytes_[10] == 0xff && bytes_[11] == 0xff;
  }
  constexpr bool is_multicast_node_local() const noexcept { return has_multicast_scope(0x1); }
  constexpr bool is_multicast_link_local() const noexcept { return has_multicast_scope(0x2); }
  constexpr bool is_multicast_site_local() const noexcept { return has_multicast_scope(0x5); }
  constexpr bool is_multicast_org_local() const noexcept { return has_multicast_scope(0x8); }
  constexpr bool is_multicast_global() const noexcept { return has_multicast_scope(0xe); }

  static constexpr address_v6 any() noexcept { return address_v6(); }
  static constexpr address_v6 loopback() noexcept {
    bytes_type bytes;
    bytes[15] = 1;
    return address_v6(bytes);
  }

  /// By bytes, then by scope id.
  friend constexpr auto operator<=>(const address_v6&, const address_v6&) = default;

  template <class Stream>
    requires requires(Stream& s, const address_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const address_v6& a) {
    stream << a.to_string();
    return stream;
  }

 private:
  constexpr bool has_multicast_scope(unsigned scope) const noexcept {
    return is_multicast() && (bytes_[1] & 0x0f) == scope;
  }

  bytes_type bytes_;
  scope_id_type scope_id_ = 0;
};

constexpr address_v6 make_address_v6(const address_v6::bytes_type& bytes,
                                     address_v6::scope_id_type scope_id = 0) noexcept {
  return address_v6(bytes, scope_id);
}

/// Reads the texts of RFC 4291 2.2, also with "%" and a scope id in decimal. Else sets `ec` to
/// error::invalid_argument and gives "::". Names of interfaces after "%" are refused: finding their
/// number is a system call (if_nametoindex(3)).
address_v6 make_address_v6(detail::text_view text, error_code& ec) noexcept;
/// The same; throws io_error, whose text shows what was given.
address_v6 make_address_v6(detail::text_view text);

/// Selects the conversions between an IPv4 address and its IPv6 form: make_address_v6(v4_mapped,
/// a).
enum v4_mapped_t { v4_mapped };

constexpr address_v6 make_address_v6(v4_mapped_t, const address_v4& a) noexcept {
  const auto from = a.to_bytes();
  address_v6::bytes_type bytes;
  bytes[10] = bytes[11] = 0xff;
  for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = from[i];
  return address_v6(bytes);
}

/// Throws bad_address_cast unless a.is_v4_mapped().
address_v4 make_address_v4(v4_mapped_t, const address_v6& a);

}  // namespace beck::ip
