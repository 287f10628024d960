// SPDX-License-Identifier: BSL-1.0
// The handshake without I/O: checks requests for WebSocket and the answers to them (RFC 6455,
// section 4), with SHA-1 as far as needed. SHA-1 protects nothing here: it only shows
// that the server has read the request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/http/head.hpp>
#include <beck/websocket/accept.hpp>
#include <beck/websocket/connect.hpp>
#include <beck/websocket/error.hpp>

namespace beck::websocket::detail {

/// The result of the check of a request.
struct upgrade_check {
  /// Makes the result for a refused request.
  upgrade_check(http::status answers, error_code why) noexcept : answer(answers), error(why) {
    BECK_ASSERT(error, "a request was refused without an error");  // it would be accepted
  }
  /// Makes the result for a valid request.
  upgrade_check(std::string_view of_client, std::string_view chosen) noexcept
      : key(of_client), protocol(chosen) {}

  http::status answer = http::status::switching_protocols;
  error_code error;           ///< of a refused request; no error if it is valid
  std::string_view key;       ///< a part of the request
  std::string_view protocol;  ///< a part of the options
};

/// Checks a request. `is_secure`: it came over TLS.
upgrade_check check_request(const http::request_head& head, const accept_options& how,
                            bool is_secure = false) noexcept;

/// Returns whether a response with status 101 answers a request with this key. `protocol` becomes
/// the subprotocol, a part of `offered`.
bool check_response(const http::response_head& head, std::string_view key, std::string_view offered,
                    std::string_view& protocol);

/// Returns the HTTP URL for a WebSocket URL; an empty text if `url` is none. Throws std::bad_alloc.
std::string http_url(std::string_view url);

/// A SHA-1 hash (FIPS 180-4).
struct sha1_hash {
  static constexpr std::size_t bytes_max = 20;
  unsigned char bytes[bytes_max];
};

/// Returns the hash of a text.
sha1_hash sha1(std::string_view text) noexcept;

/// Returns whether `key` is a Sec-WebSocket-Key: 16 bytes in base64.
bool is_key(std::string_view key) noexcept;

/// Returns the Sec-WebSocket-Accept that answers a key (RFC 6455, section 4.2.2). Throws
/// std::bad_alloc.
std::string accept_value(std::string_view key);

}  // namespace beck::websocket::detail
