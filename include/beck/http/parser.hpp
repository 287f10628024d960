// SPDX-License-Identifier: BSL-1.0
//
// Parsers of heads, without I/O. Call a parser with all the text of a message that has arrived so
// far. It returns whether it needs more, is done, or refuses the message; it continues where the
// last call stopped. docs/http.md lists all reasons for a refusal.
#pragma once

#include <beck/http/head.hpp>
#include <beck/http/refusal.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// The result of a call of a parser or a decoder.
enum class parse_status : std::uint8_t {
  more,     ///< the input ends too early: call again with more
  done,     ///< the head, or the body, is whole
  refused,  ///< the message is malformed or too long; no byte after it may be interpreted
};

namespace detail {

/// The position of a parser in its message.
struct head_progress {
  std::uint32_t line_at = 0;  ///< the first line that is not parsed yet
  std::uint32_t scanned = 0;  ///< no control character up to here
  std::uint32_t offset = 0;   ///< of the byte that was refused
  refusal reason = refusal::none;
  bool has_first_line = false;
  bool has_skipped = false;  ///< the empty line that may precede a request
  bool is_response = false;
};

}  // namespace detail

/// Parses heads of requests. A value of 28 bytes that never allocates. Thread: one at a time.
class request_parser {
 public:
  /// The number of bytes after the input that parse_padded() may read: buffer_lease::padding.
  static constexpr std::size_t padding = 64;

  /// Makes a parser with these bounds. Requires, asserted, head_bytes < 65536 and fields <=
  /// head::fields_max.
  explicit request_parser(const head_limits& limits = {});

  /// Parses `input`, which begins with the first byte of the message and contains all bytes that
  /// have arrived. It may be at another address than in the last call, but must begin with the same
  /// bytes.
  /// Returns parse_status::done once `to` is whole. head::bytes() is then the number of bytes of
  /// the head; the body or the next message follows. Until then do not read `to`, and pass the same
  /// object to each call.
  /// Returns parse_status::refused, also from all further calls, for a malformed head.
  parse_status parse(std::string_view input, request_head& to) noexcept;
  /// As parse(), and faster. Requires that `padding` bytes after the input are readable, with any
  /// values. A buffer_lease has them.
  parse_status parse_padded(std::string_view input, request_head& to) noexcept;

  /// Returns why the message was refused; refusal::none if it was not.
  refusal reason() const noexcept { return progress_.reason; }
  /// Returns the offset of the byte for which the message was refused.
  std::size_t offset() const noexcept { return progress_.offset; }
  /// Prepares for the next message.
  void reset() noexcept { progress_ = {}; }

 private:
  template <class Text>
  parse_status parse_text(std::string_view input, request_head& to) noexcept;

  head_limits limits_;
  detail::head_progress progress_;
};

/// Parses heads of responses. A value of 28 bytes that never allocates. Thread: one at a time.
class response_parser {
 public:
  /// Makes a parser with these bounds; target_bytes bounds the reason phrase. Requires as
  /// request_parser.
  explicit response_parser(const head_limits& limits = {});

  /// Parses `input` as request_parser::parse() does. `asked` is the method of the request: it
  /// decides whether a body follows. Heads with a status of 1xx, except 101, precede the head of
  /// the response itself: call reset() after each of them, and parse the bytes that follow.
  parse_status parse(std::string_view input, method asked, response_head& to) noexcept;
  /// As parse(), and faster. Requires that request_parser::padding bytes after the input are
  /// readable.
  parse_status parse_padded(std::string_view input, method asked, response_head& to) noexcept;

  /// Returns why the response was refused; refusal::none if it was not.
  refusal reason() const noexcept { return progress_.reason; }
  /// Returns the offset of the byte for which the response was refused.
  std::size_t offset() const noexcept { return progress_.offset; }
  /// Prepares for the next message.
  void reset() noexcept { progress_ = {}; }

 private:
  template <class Text>
  parse_status parse_text(std::string_view input, method asked, response_head& to) noexcept;

  head_limits limits_;
  detail::head_progress progress_;
};

}  // namespace beck::http
