// SPDX-License-Identifier: BSL-1.0
// IPv4 addresses and addresses of either family, from and to text.
#include <beck/net/address.hpp>

#include "net/address_text.hpp"

#include <beck/net/address_v4.hpp>

// The text of an IPv4 address.
namespace beck::ip {
using namespace detail;

bool read_dotted(text_reader& in, address_v4& a) noexcept {
  address_v4::uint_type number = 0;
  for (int i = 0; i < 4; ++i) {
    if (i != 0 && !in.take('.')) return false;
    const bool zero = in.starts_with('0');
    const std::size_t before = in.rest().size();
    std::uint32_t byte = 0;
    if (!in.take_number(10, 3, 255, byte)) return false;
    if (zero && before - in.rest().size() != 1) return false;  // inet_aton(3) would read octal
    number = number << 8 | byte;
  }
  a = address_v4(number);
  return in.at_end();
}

std::size_t address_v4::to_chars(char* out, std::size_t capacity) const noexcept {
  text_writer<text_max> text;
  write_dotted(text, *this);
  return text.copy_to(out, capacity);
}

address_text address_v4::to_text() const noexcept {
  text_writer<text_max> text;
  write_dotted(text, *this);
  return address_text(std::string_view(text.data(), text.size()));
}

address_v4 make_address_v4(std::string_view text, error_code& ec) noexcept {
  text_reader in(text);
  address_v4 a;
  if (read_dotted(in, a)) {
    ec.clear();
    return a;
  }
  ec = error::invalid_argument;
  return {};
}

address_v4 make_address_v4(std::string_view text) {
  error_code ec;
  const auto a = make_address_v4(text, ec);
  if (ec) throw_error(ec, "make_address_v4", text);
  return a;
}

}  // namespace beck::ip

// Addresses of either version: parsing, casts and hashes.
namespace beck::ip {
using namespace detail;
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input reaches every
// bit of the output.
std::uint64_t mix(std::uint64_t n) noexcept {
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  n = (n ^ n >> 27) * 0x94d049bb133111eb;
  return n ^ n >> 31;
}

}  // namespace

const char* bad_address_cast::what() const noexcept {
  return "the address is of the other version of IP";
}

address_v4 address::to_v4() const {
  if (is_v6_) throw bad_address_cast();
  return v4_;
}

address_v6 address::to_v6() const {
  if (!is_v6_) throw bad_address_cast();
  return v6_;
}

address make_address(std::string_view text, error_code& ec) noexcept {
  if (const auto v6 = make_address_v6(text, ec); !ec) return v6;
  if (const auto v4 = make_address_v4(text, ec); !ec) return v4;
  return {};
}

address make_address(std::string_view text) {
  error_code ec;
  const auto a = make_address(text, ec);
  if (ec) throw_error(ec, "make_address", text);
  return a;
}

std::size_t hash_value(const address_v4& a) noexcept { return mix(a.to_uint() + 1ULL); }

std::size_t hash_value(const address_v6& a) noexcept {
  const auto bytes = a.to_bytes();
  std::uint64_t high = 0, low = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    high = high << 8 | bytes[i];
    low = low << 8 | bytes[8 + i];
  }
  return mix(mix(mix(high + 1) ^ low) + a.scope_id());
}

std::size_t hash_value(const address& a) noexcept {
  return a.is_v6() ? hash_value(a.to_v6()) : hash_value(a.to_v4());
}

}  // namespace beck::ip
