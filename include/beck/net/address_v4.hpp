// SPDX-License-Identifier: BSL-1.0
//
// An IPv4 address, with Asio's interface, and the two small types all addresses share: their bytes
// and their text.
#pragma once

#include <beck/base/error.hpp>
#include <beck/detail/fixed_text.hpp>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>
#include <type_traits>

namespace beck::ip {

/// The text of an address or of an endpoint; the longest is "[" IPv6 "%" scope "]:" port.
using address_text = detail::fixed_text<63>;

/// std::array<unsigned char, N> and its like, by shape.
template <class A, std::size_t N>
concept byte_array = std::is_trivially_copyable_v<A> && sizeof(A) == N && requires(A& a) {
  { a.data() } -> std::convertible_to<const unsigned char*>;
  requires sizeof(*a.data()) == 1;
};

/// The N bytes of an address in network order. Converts from and to std::array<unsigned char, N>.
template <std::size_t N>
class address_bytes {
 public:
  using value_type = unsigned char;
  using iterator = unsigned char*;
  using const_iterator = const unsigned char*;

  /// Makes zeros.
  constexpr address_bytes() noexcept = default;
  /// Makes these N bytes.
  template <std::convertible_to<unsigned char>... Bytes>
    requires(sizeof...(Bytes) == N)
  constexpr address_bytes(Bytes... bytes) noexcept : bytes_{static_cast<unsigned char>(bytes)...} {}
  /// Makes these bytes, and zeros behind them: `bytes_type b = {{0xfe, 0x80}}`, as of an array.
  template <std::size_t Count>
    requires(Count <= N)
  constexpr address_bytes(const unsigned char (&bytes)[Count]) noexcept {
    for (std::size_t i = 0; i < Count; ++i) bytes_[i] = bytes[i];
  }
  /// Converts from an array.
  template <byte_array<N> A>
    requires(!std::same_as<A, address_bytes>)
  constexpr address_bytes(const A& bytes) noexcept {
    for (std::size_t i = 0; i < N; ++i) bytes_[i] = bytes.data()[i];
  }

  /// Converts to an array.
  template <byte_array<N> A>
    requires(!std::same_as<A, address_bytes> && std::default_initializable<A>)
  constexpr operator A() const noexcept {
    A array{};
    for (std::size_t i = 0; i < N; ++i) array.data()[i] = bytes_[i];
    return array;
  }

  /// Returns byte `i`. Requires i < N; not checked.
  constexpr unsigned char& operator[](std::size_t i) noexcept { return bytes_[i]; }
  /// As above.
  constexpr unsigned char operator[](std::size_t i) const noexcept { return bytes_[i]; }
  /// Returns the first byte's position.
  constexpr unsigned char* data() noexcept { return bytes_; }
  /// As above.
  constexpr const unsigned char* data() const noexcept { return bytes_; }
  /// Returns N.
  static constexpr std::size_t size() noexcept { return N; }
  /// Returns the first byte's position.
  constexpr iterator begin() noexcept { return bytes_; }
  constexpr const_iterator begin() const noexcept { return bytes_; }
  /// Returns the position behind the last byte.
  constexpr iterator end() noexcept { return bytes_ + N; }
  constexpr const_iterator end() const noexcept { return bytes_ + N; }
  /// Sets all bytes to `value`.
  constexpr void fill(unsigned char value) noexcept {
    for (unsigned char& byte : bytes_) byte = value;
  }

  friend constexpr auto operator<=>(const address_bytes&, const address_bytes&) = default;

 private:
  unsigned char bytes_[N] = {};
};

/// An IPv4 address. A value; any thread.
class address_v4 {
 public:
  /// The type of an address as a number.
  using uint_type = std::uint32_t;
  /// The type of an address as bytes.
  using bytes_type = address_bytes<4>;

  /// The longest text: "255.255.255.255".
  static constexpr std::size_t text_max = 15;

  /// Makes 0.0.0.0.
  constexpr address_v4() noexcept = default;
  /// Makes the address with this number, in host order: 127.0.0.1 is 0x7f000001.
  constexpr explicit address_v4(uint_type number) noexcept : number_(number) {}
  /// Makes the address with these bytes, in network order.
  constexpr explicit address_v4(const bytes_type& bytes) noexcept
      : number_(uint_type{bytes[0]} << 24 | uint_type{bytes[1]} << 16 | uint_type{bytes[2]} << 8 |
                uint_type{bytes[3]}) {}

  /// Returns the address as a number in host order.
  constexpr uint_type to_uint() const noexcept { return number_; }
  /// Returns the bytes in network order.
  constexpr bytes_type to_bytes() const noexcept {
    return bytes_type(number_ >> 24 & 0xff, number_ >> 16 & 0xff, number_ >> 8 & 0xff,
                      number_ & 0xff);
  }

  /// Returns "a.b.c.d". Throws std::bad_alloc.
  std::string to_string() const { return to_text(); }
  /// As to_string(), without allocating.
  address_text to_text() const noexcept;
  /// Writes the text without NUL to `out`, at most `capacity` characters. Returns the size of the
  /// text; 0, and nothing is written, if it has no room. text_max characters always suffice.
  std::size_t to_chars(char* out, std::size_t capacity) const noexcept;

  /// Returns whether this is 0.0.0.0.
  constexpr bool is_unspecified() const noexcept { return number_ == 0; }
  /// Returns whether this is in 127.0.0.0/8.
  constexpr bool is_loopback() const noexcept { return number_ >> 24 == 127; }
  /// Returns whether this is in 224.0.0.0/4.
  constexpr bool is_multicast() const noexcept { return number_ >> 28 == 14; }

  /// Returns 0.0.0.0.
  static constexpr address_v4 any() noexcept { return address_v4(); }
  /// Returns 127.0.0.1.
  static constexpr address_v4 loopback() noexcept { return address_v4(uint_type{0x7f000001}); }
  /// Returns 255.255.255.255.
  static constexpr address_v4 broadcast() noexcept { return address_v4(uint_type{0xffffffff}); }

  friend constexpr auto operator<=>(const address_v4&, const address_v4&) = default;

  /// Writes the text to a stream, such as a std::ostream.
  template <class Stream>
    requires requires(Stream& s, const address_text& t) { s << t; }
  friend Stream& operator<<(Stream& stream, const address_v4& a) {
    stream << a.to_text();
    return stream;
  }

 private:
  uint_type number_ = 0;
};

/// Returns the address with this number, in host order.
constexpr address_v4 make_address_v4(address_v4::uint_type number) noexcept {
  return address_v4(number);
}
/// Returns the address with these bytes, in network order.
constexpr address_v4 make_address_v4(const address_v4::bytes_type& bytes) noexcept {
  return address_v4(bytes);
}

/// Parses "a.b.c.d": four decimal numbers up to 255 without leading zeros, and nothing else.
/// Otherwise sets `ec` to error::invalid_argument and returns 0.0.0.0. (The shortened and octal
/// forms of inet_aton(3) are refused: programs that check an address and programs that use it must
/// not read it in two ways.)
address_v4 make_address_v4(std::string_view text, error_code& ec) noexcept;
/// As above, and throws io_error on failure, whose text shows `text`.
address_v4 make_address_v4(std::string_view text);

}  // namespace beck::ip
