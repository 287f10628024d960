// SPDX-License-Identifier: BSL-1.0
// SHA-1 and base64, as far as the handshake of WebSocket needs them. SHA-1 protects nothing here:
// it only shows that the server has read the request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace beck::websocket::detail {

/// A SHA-1 hash (FIPS 180-4).
struct sha1_hash {
  static constexpr std::size_t bytes_max = 20;
  unsigned char bytes[bytes_max];
};

/// Returns the hash of a text.
sha1_hash sha1(std::string_view text) noexcept;

/// Returns bytes in base64 (RFC 4648, section 4). Throws std::bad_alloc.
std::string base64(const void* data, std::size_t bytes);

/// Returns whether `key` is a Sec-WebSocket-Key: 16 bytes in base64.
bool is_key(std::string_view key) noexcept;

/// Returns the Sec-WebSocket-Accept that answers a key (RFC 6455, section 4.2.2). Throws
/// std::bad_alloc.
std::string accept_value(std::string_view key);

}  // namespace beck::websocket::detail
