// SPDX-License-Identifier: BSL-1.0
// A request as its caller has described it, and as redirects have changed it. Without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beck/base/buffer.hpp>
#include <beck/base/duration.hpp>
#include <beck/base/error.hpp>
#include <beck/detail/block.hpp>
#include <beck/http/head.hpp>
#include <beck/http/method.hpp>
#include <beck/http/url.hpp>

#include "http/message/field_lines.hpp"

namespace beck::http::detail {

/// A text in a recycled block, with request_parser::padding readable bytes behind it.
class block_text {
 public:
  block_text() noexcept = default;
  ~block_text() { clear(); }
  block_text(const block_text&) = delete;
  block_text& operator=(const block_text&) = delete;
  /// Throws std::bad_alloc; then the text is unchanged.
  void assign(std::string_view text);
  void clear() noexcept {
    if (data_ != nullptr) beck::detail::free_block(data_);
    data_ = nullptr;
    bytes_ = 0;
  }
  const char* data() const noexcept { return data_; }
  std::string_view view() const noexcept { return {data_, bytes_}; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The name of the origin of a URL in lower case, such as "https://example.com:443": the key of its
/// connections.
class origin_key {
 public:
  explicit origin_key(const url& of) noexcept;
  std::string_view view() const noexcept { return {room_, bytes_}; }

 private:
  static constexpr std::size_t bytes_max = 300;  // "https://", a host of 255 bytes, "[]:65535"

  char room_[bytes_max];
  std::size_t bytes_ = 0;
};

/// How the body of a request is sent.
enum class request_body_kind : std::uint8_t { none, whole, chunked, length };

/// A request. Its call sets the members, until the head is sent. Thread: that of its call.
struct client_request {
  /// Keeps a URL; one that is refused is an error of check(). Throws std::bad_alloc.
  explicit client_request(std::string_view text);

  std::string_view method_name() const noexcept { return {method_text, method_bytes}; }
  /// Requires a name of at most 24 bytes.
  void set_method(http::method m, std::string_view name) noexcept;
  /// Sets the target of the request line; one that no server takes is an error of check().
  void set_target(std::string_view text);
  /// Returns whether the body is written in parts: it cannot be sent twice.
  bool is_stream() const noexcept {
    return kind == request_body_kind::chunked || kind == request_body_kind::length;
  }
  /// Returns the error of a URL or target that is refused.
  error_code check() const noexcept;
  /// Changes this into the request that a redirect asks for. Returns false if `from` is the result
  /// of the call, or with an error above `redirects_max` redirects. Throws std::bad_alloc.
  bool follow(const response_head& from, unsigned redirects_max, error_code& ec);
  /// Returns a sentence with the method, the origin and an error of the call. `more`: the sentence
  /// of the stream. Throws std::bad_alloc.
  std::string error_text(const error_code& failed, std::string_view more) const;

  block_text url_text;
  url to;
  url_error refused = url_error::none;  ///< of the URL, or of the target
  std::string target;                   ///< instead of that of the URL, if it is not empty
  http::method method = http::method::get;
  char method_text[24] = {};
  std::uint8_t method_bytes = 0;
  request_body_kind kind = request_body_kind::none;
  bool expects_continue = false;
  bool closes = false;
  std::uint64_t length = 0;  ///< promised, for request_body_kind::length
  const_buffer body;         ///< for request_body_kind::whole
  field_lines fields;
  std::string upgrade;  ///< the protocol, if one is asked for
  unsigned redirects = 0;
  duration time_limit;                            ///< of the call; 0: none
  std::uint64_t response_bytes_max = UINT64_MAX;  ///< of the body, if below that of the client

 private:
  void set_url(std::string_view text);
  bool resolve(std::string_view location, std::string& next) const;
};

}  // namespace beck::http::detail
