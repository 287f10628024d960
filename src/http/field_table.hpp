// SPDX-License-Identifier: BSL-1.0
// The known field names, and a hash that gives each a place of its own in a table: a name is looked
// up with one multiplication and one comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/http/field.hpp>

#include "base/byte_block.hpp"

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

/// This bit makes a letter a lower case one. Of the other characters of known names, '-' and
/// digits, only control characters become one by it, and those are no part of a name.
inline constexpr char lower_case_bit = 0x20;

struct field_row {
  std::array<char, byte_block::bytes> name;  ///< lower case, and zeros behind it
};
struct field_place {
  std::uint8_t id;     ///< field::other where there is none
  std::uint8_t bytes;  ///< of the name
};

/// The place of a name of at least two bytes among 256: from its first and last two characters and
/// its length. The factor was found by trial; a collision does not compile.
constexpr unsigned place_of(const char* name, std::size_t bytes) noexcept {
  const auto at = [name](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(name[i])};
  };
  const std::uint32_t ends =
      at(0) | at(1) << 8 | at(bytes - 2) << 16 | at(bytes - 1) << 24 | 0x20202020U;
  return static_cast<unsigned>(((std::uint64_t{bytes} << 32 | ends) * 0x72cfe10a41f4815b) >> 56);
}

struct field_table {
  std::array<field_row, field_count> rows{};
  std::array<field_place, 256> places{};
  bool collides = false;
};

constexpr field_table make_field_table() noexcept {
  field_table table;
  for (std::size_t id = 1; id < field_count; ++id) {
    const std::string_view name = field_names[id];
    for (std::size_t i = 0; i < name.size(); ++i)
      table.rows[id].name[i] = static_cast<char>(name[i] | lower_case_bit);
    field_place& place = table.places[place_of(name.data(), name.size())];
    table.collides = table.collides || place.id != 0;
    place = {static_cast<std::uint8_t>(id), static_cast<std::uint8_t>(name.size())};
  }
  return table;
}

alignas(64) inline constexpr field_table known_fields = make_field_table();
static_assert(!known_fields.collides, "two known names have one place: look for another factor");

/// Returns the known field with the name of which `block` begins with `bytes` bytes. Requires that
/// `bytes` is at least 2, and that no control character is among them.
inline field find_field(const byte_block& block, const char* name, std::size_t bytes) noexcept {
  const field_place place = known_fields.places[place_of(name, bytes)];
  if (place.bytes != bytes) return field::other;
  const std::uint32_t equal = block.equal_in_lower_case(known_fields.rows[place.id].name.data());
  const std::uint64_t wanted = (std::uint64_t{1} << bytes) - 1;
  return (~equal & wanted) == 0 ? static_cast<field>(place.id) : field::other;
}

}  // namespace beck::http::detail
