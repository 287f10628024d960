// SPDX-License-Identifier: BSL-1.0
// The known field names, and a perfect hash of them: the lookup of a name costs one multiplication
// and one comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/http/field.hpp>

#include "base/byte_block.hpp"
#include "base/wide_block.hpp"

namespace beck::http::detail {

using beck::detail::byte_block;

inline constexpr std::string_view field_names[] = {
    "",
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Accept-Ranges",
    "Access-Control-Allow-Origin",
    "Access-Control-Request-Method",
    "Age",
    "Allow",
    "Authorization",
    "Cache-Control",
    "Connection",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Range",
    "Content-Security-Policy",
    "Content-Type",
    "Cookie",
    "Date",
    "ETag",
    "Expect",
    "Expires",
    "Forwarded",
    "Host",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Keep-Alive",
    "Last-Modified",
    "Link",
    "Location",
    "Max-Forwards",
    "Origin",
    "Pragma",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Range",
    "Referer",
    "Retry-After",
    "Sec-WebSocket-Accept",
    "Sec-WebSocket-Extensions",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Version",
    "Server",
    "Set-Cookie",
    "Strict-Transport-Security",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "User-Agent",
    "Vary",
    "Via",
    "WWW-Authenticate",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
};
inline constexpr std::size_t field_count = std::size(field_names);
static_assert(field_count <= 64, "a head keeps a bit for each known field in 64 bits");

/// The bit that makes a letter lower case. Known names also have '-' and digits; only control
/// characters become one of these by the bit, and no name contains a control character.
inline constexpr char lower_case_bit = 0x20;

struct alignas(2 * byte_block::bytes) field_row {
  std::array<char, byte_block::bytes> bits;  ///< lower_case_bit, and all bits after the colon
  std::array<char, byte_block::bytes> name;  ///< in lower case, a colon, and all bits after it
};

/// Returns two characters as a number, with the first one in its lower bits.
constexpr std::uint16_t pair_at(const char* text) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(text[0]) |
                                    static_cast<unsigned char>(text[1]) << 8);
}

/// Returns the place of a name of at least two bytes in a table of 256. It depends on the first and
/// last two characters and the length of the name. The factor was found by trial; a collision does
/// not compile.
constexpr unsigned place_of(const char* name, std::size_t bytes) noexcept {
  const std::uint32_t first = pair_at(name);
  const std::uint32_t last = pair_at(name + bytes - 2);
  const std::uint32_t ends = first | last << 16 | 0x20202020U;
  return static_cast<unsigned>(((std::uint64_t{bytes} << 32 | ends) * 0x72cfe10a41f4815b) >> 56);
}

struct field_table {
  std::array<field_row, field_count> rows{};
  std::array<field, 256> places{};  ///< field::other in empty places
  bool is_sound = true;
};

constexpr field_table make_field_table() noexcept {
  field_table table;
  for (std::size_t id = 1; id < field_count; ++id) {
    const std::string_view name = field_names[id];
    field_row& row = table.rows[id];
    row.bits.fill('\xff');
    row.name.fill('\xff');
    for (std::size_t i = 0; i <= name.size(); ++i) {
      row.bits[i] = lower_case_bit;
      row.name[i] = static_cast<char>((i < name.size() ? name[i] : ':') | lower_case_bit);
    }
    field& place = table.places[place_of(name.data(), name.size())];
    table.is_sound = table.is_sound && place == field::other;
    place = static_cast<field>(id);
  }
  return table;
}

inline constexpr field_table known_fields = make_field_table();
static_assert(known_fields.is_sound, "two known names have one place: look for another factor");

/// Returns the known field whose name begins `block`: `bytes` bytes, then a colon. `name` is the
/// same text. Requires that `bytes` is at least 2, and that no control character is among them.
template <class Block>
BECK_INLINE field find_field(const Block& block, const char* name, std::size_t bytes) noexcept {
  const field found = known_fields.places[place_of(name, bytes)];
  const field_row& row = known_fields.rows[static_cast<std::size_t>(found)];
  return block.equals(row.name.data(), row.bits.data()) ? found : field::other;
}

}  // namespace beck::http::detail
