// SPDX-License-Identifier: BSL-1.0
//
// Addresses of either version: which one a text is, casts, hashes.
#include <beck/net/address.hpp>

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

address make_address(text_view text, error_code& ec) noexcept {
  if (const auto v6 = make_address_v6(text, ec); !ec) return v6;
  if (const auto v4 = make_address_v4(text, ec); !ec) return v4;
  return {};
}

address make_address(text_view text) {
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
