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

namespace beck::ip {

/// Thrown where an address is asked for as the other version.
class bad_address_cast final : public std::exception {
 public:
  const char* what() const noexcept override;
};

/// An IPv4 or IPv6 address. A value; any thread.
class address {
 public:
  /// The longest text of either.
  static constexpr std::size_t text_max = address_v6::text_max;

  /// 0.0.0.0.
  constexpr address() noexcept = default;
  constexpr address(const address_v4& a) noexcept : v4_(a) {}
  constexpr address(const address_v6& a) noexcept : is_v6_(true), v6_(a) {}

  constexpr bool is_v4() const noexcept { return !is_v6_; }
  constexpr bool is_v6() const noexcept { return is_v6_; }

  /// Throw bad_address_cast if the address is of the other version. A mapped address is not
  /// unpacked; see make_address_v4(v4_mapped, a).
  address_v4 to_v4() const;
  address_v6 to_v6() const;

  /// As address_v4 and address_v6 do.
  address_text to_string() const noexcept { return is_v6_ ? v6_.to_string() : v4_.to_string(); }
  std::size_t to_chars(char* out, std::size_t capacity) const noexcept {
    return is_v6_ ? v6_.to_chars(out, capacity) : v4_.to_chars(out, capacity);
  }

  constexpr bool is_unspecified() const noexcept {
    return is_v6_ ? v6_.is_unspecified() : v4_.is_unspecified();
  }
  constexpr bool is_loopback() const noexcept {
    return is_v6_ ? v6_.is_loopback() : v4_.is_loopback();
  }
  constexpr bool is_multicast() const noexcept {
    return is_v6_ ? v6_.is_multicast() : v4_.is_multicast();
  }

  /// Every IPv4 address is less than every IPv6 address.
  friend constexpr auto operator<=>(const address&, const address&) = default;

  template <class Stream>
    requires requires(Stream& s, const address_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const address& a) {
    stream << a.to_string();
    return stream;
  }

 private:
  bool is_v6_ = false;
  address_v4 v4_;
  address_v6 v6_;
};

/// Reads what make_address_v6() or make_address_v4() reads. Else sets `ec` to
/// error::invalid_argument and gives 0.0.0.0.
address make_address(detail::text_view text, error_code& ec) noexcept;
/// The same; throws io_error, whose text shows what was given.
address make_address(detail::text_view text);

/// Equal addresses have equal hashes. Not stable between versions, not meant to resist an attacker.
std::size_t hash_value(const address_v4& a) noexcept;
std::size_t hash_value(const address_v6& a) noexcept;
std::size_t hash_value(const address& a) noexcept;

}  // namespace beck::ip

// std::hash is declared by <system_error>, which error.hpp includes.
template <>
struct std::hash<beck::ip::address_v4> {
  std::size_t operator()(const beck::ip::address_v4& a) const noexcept { return hash_value(a); }
};
template <>
struct std::hash<beck::ip::address_v6> {
  std::size_t operator()(const beck::ip::address_v6& a) const noexcept { return hash_value(a); }
};
template <>
struct std::hash<beck::ip::address> {
  std::size_t operator()(const beck::ip::address& a) const noexcept { return hash_value(a); }
};
