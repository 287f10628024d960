// SPDX-License-Identifier: BSL-1.0
//
// Questions to blocks of bytes: each kind of block must answer as a loop over the bytes does. Every
// byte is tried at every place.
#include "base/byte_block.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string_view>

#include "base/wide_block.hpp"
#include "support/small_random.hpp"

namespace {

using beck::detail::byte_block;
using beck::detail::wide_block;

struct answers {
  std::uint32_t colons, controls, not_in_target, in_host_name;
  bool equals;
  friend bool operator==(const answers&, const answers&) = default;
};

using text = std::array<char, byte_block::bytes>;

struct question {
  text bytes, wanted, bits;
};

template <class Block>
BECK_INLINE answers ask(const question& q) {
  const Block block(q.bytes.data());
  return {block.equal(':'), block.controls(), block.not_in_target(), block.in_host_name(),
          block.equals(q.wanted.data(), q.bits.data())};
}

answers ask_narrow(const question& q) { return ask<byte_block>(q); }
BECK_WIDE answers ask_wide(const question& q) { return ask<wide_block>(q); }

answers ask_each_byte(const question& q) {
  answers found{0, 0, 0, 0, true};
  for (unsigned i = 0; i < byte_block::bytes; ++i) {
    const char c = q.bytes[i];
    const auto value = static_cast<unsigned char>(c);
    const std::uint32_t bit = std::uint32_t{1} << i;
    constexpr std::string_view host =
        "-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (c == ':') found.colons |= bit;
    if (value < 0x20 || value == 0x7f) found.controls |= bit;
    if (value < 0x21 || value > 0x7e || c == '#') found.not_in_target |= bit;
    if (host.find(c) != std::string_view::npos) found.in_host_name |= bit;
    if (static_cast<char>(c | q.bits[i]) != q.wanted[i]) found.equals = false;
  }
  return found;
}

void check(const question& q) {
  const answers wanted = ask_each_byte(q);
  CHECK(ask_narrow(q) == wanted);
  if (beck::detail::has_wide_blocks()) CHECK(ask_wide(q) == wanted);
}

TEST_CASE("a block of bytes answers as a loop over its bytes does") {
  for (unsigned value = 0; value < 256; ++value) {
    question q{};
    q.bytes.fill(static_cast<char>(value));
    check(q);
    for (unsigned at = 0; at < byte_block::bytes; ++at) {
      q.bytes.fill('x');
      q.bytes[at] = static_cast<char>(value);
      check(q);
    }
  }
}

TEST_CASE("a block equals a text once the bits are set, and no other one") {
  beck::testing::small_random random(1);
  for (unsigned round = 0; round < 1000; ++round) {
    question q{};
    for (unsigned i = 0; i < byte_block::bytes; ++i) {
      q.bytes[i] = static_cast<char>(random.below(256));
      q.bits[i] = static_cast<char>(random.below(256));
      q.wanted[i] = static_cast<char>(q.bytes[i] | q.bits[i]);
    }
    CHECK(ask_each_byte(q).equals);
    check(q);
    const unsigned at = random.below(byte_block::bytes);
    q.wanted[at] = static_cast<char>(q.wanted[at] ^ (1 << random.below(8)));
    CHECK_FALSE(ask_each_byte(q).equals);
    check(q);
  }
}

TEST_CASE("the lowest bit of a mask is found, and the width if there is none") {
  using beck::detail::first_in;
  CHECK(first_in(std::uint32_t{0}) == 32);
  CHECK(first_in(std::uint64_t{0}) == 64);
  for (unsigned i = 0; i < 32; ++i) CHECK(first_in(~std::uint32_t{0} << i) == i);
  for (unsigned i = 0; i < 64; ++i) CHECK(first_in(~std::uint64_t{0} << i) == i);
}

}  // namespace
