// SPDX-License-Identifier: BSL-1.0
//
// Parsers of heads, without I/O. A parser is called with all the text of a message that has arrived
// so far. It says whether it needs more, is done, or refuses the message, and goes on where the
// last call stopped. docs/http.md lists everything that is refused.
#pragma once

#include <beck/http/head.hpp>
#include <beck/http/refusal.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// What a parser or a decoder says of its input.
enum class parse_status : std::uint8_t {
  more,     ///< the input ends too early: call again with more
  done,     ///< the head, or the body, is whole
  refused,  ///< the message is malformed or too long, and nothing behind it may be interpreted
};

namespace detail {

/// How far a parser has got.
struct head_progress {
  std::uint32_t line_at = 0;  ///< the first line that is not parsed yet
  std::uint32_t scanned = 0;  ///< up to here it has no control character
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
  /// Bytes behind the input that parse_padded() may read: buffer_lease::padding.
  static constexpr std::size_t padding = 64;

  /// Makes a parser with these bounds. Requires, asserted, head_bytes < 65536 and fields <=
  /// head::fields_max.
  explicit request_parser(const head_limits& limits = {});

  /// Parses `input`, which begins with the first byte of the message and contains all that has
  /// arrived. It may lie elsewhere than in the last call, but must begin with the same bytes.
  /// Returns parse_status::done once `to` is whole; head::bytes() is then the number of bytes that
  /// belong to it, and the body or the next message follows. Until then `to` is not to be read, and
  /// each call is given the same object.
  /// Returns parse_status::refused, also from all further calls, for a malformed head.
  parse_status parse(std::string_view input, request_head& to) noexcept;
  /// As parse(), and faster. Requires that `padding` bytes behind the input are readable, whatever
  /// their values, as they are behind a buffer_lease.
  parse_status parse_padded(std::string_view input, request_head& to) noexcept;

  /// Returns why the message was refused; refusal::none if it was not.
  refusal reason() const noexcept { return progress_.reason; }
  /// Returns the offset of the byte at which it was refused.
  std::size_t offset() const noexcept { return progress_.offset; }
  /// Prepares for the next message.
  void reset() noexcept { progress_ = {}; }

 private:
  template <class Text>
  parse_status parse_text(std::string_view input, request_head& to) noexcept;

  head_limits limits_;
  detail::head_progress progress_;
};

/// Parses heads of replies. A value of 28 bytes that never allocates. Thread: one at a time.
class response_parser {
 public:
  /// Makes a parser with these bounds, of which target_bytes bounds the reason phrase. Requires as
  /// request_parser.
  explicit response_parser(const head_limits& limits = {});

  /// Parses `input` as request_parser::parse() does. `asked` is the method of the request: it
  /// decides whether a body follows. Heads with a status of 1xx but 101 precede the head of the
  /// reply itself: call reset() after them, and parse on behind them.
  parse_status parse(std::string_view input, method asked, response_head& to) noexcept;
  /// As parse(), and faster. Requires that request_parser::padding bytes behind the input are
  /// readable.
  parse_status parse_padded(std::string_view input, method asked, response_head& to) noexcept;

  /// Returns why the reply was refused; refusal::none if it was not.
  refusal reason() const noexcept { return progress_.reason; }
  /// Returns the offset of the byte at which it was refused.
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
