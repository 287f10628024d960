// SPDX-License-Identifier: BSL-1.0
//
// Finds the body of a message in the bytes that follow its head, without I/O and without copying:
// each call reports the number of bytes of framing and the position of the data.
#pragma once

#include <beck/http/head.hpp>
#include <beck/http/parser.hpp>
#include <beck/http/refusal.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::http {

/// Bounds of a body. Larger bodies are refused. A bound above its own maximum counts as the
/// maximum.
struct body_limits {
  std::uint64_t body_bytes = 1024 * 1024;       ///< of data
  std::uint32_t chunk_line_bytes = 256;         ///< of a line with a chunk's size and extensions
  std::uint32_t chunk_extension_bytes = 16384;  ///< of all extensions of a body
  std::uint32_t trailer_bytes = 8192;  ///< of all trailers and the empty line; at most 65535
  std::uint16_t trailer_fields = 20;   ///< at most head::fields_max
};

/// The result of a call of body_decoder::decode().
struct body_part {
  parse_status status;   ///< done: the body ends after `consumed`
  std::size_t consumed;  ///< bytes of the input that belong to the body, data and framing
  std::string_view
      data;  ///< in the input; its last byte is the last one consumed, or framing follows
};

/// Decodes one body. A value of 48 bytes that never allocates. Trailers are checked and dropped.
/// Thread: one at a time.
class body_decoder {
 public:
  /// Decodes nothing: a body of no bytes.
  body_decoder() noexcept = default;
  /// Decodes the body that follows `of`.
  explicit body_decoder(const head& of, const body_limits& limits = {}) noexcept;

  /// Decodes the beginning of `input`, the bytes that follow those consumed before. Returns at most
  /// one piece of data. Call it again, with the rest of the input, until it returns
  /// parse_status::more with nothing consumed, or another status. Bytes that were not consumed are
  /// the beginning of the next input.
  /// Returns parse_status::refused, also from all further calls, if the body is malformed or too
  /// long. The first call refuses an announced length that is too long.
  body_part decode(std::string_view input) noexcept;

  /// Notes that the connection has ended. Returns parse_status::done if that ends the body, as for
  /// body_framing::until_close; parse_status::more if the body is cut short; parse_status::refused
  /// if it was refused before.
  parse_status end_of_input() noexcept;

  /// Returns whether the whole body has been decoded.
  bool is_done() const noexcept { return state_ == state::done; }
  /// Returns the number of bytes of data still to come, as far as it is known: those of the body,
  /// or of the present chunk.
  std::uint64_t known_bytes() const noexcept { return left_; }
  /// Returns the number of bytes of data decoded so far.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Returns why the body was refused; refusal::none if it was not.
  refusal reason() const noexcept { return reason_; }

 private:
  enum class state : std::uint8_t {
    done,
    refused,
    length,  ///< `left_` bytes of data
    until_close,
    chunk_line,
    chunk_data,  ///< `left_` bytes of data
    chunk_end,   ///< CR LF
    trailers,
  };

  body_part refuse(refusal why) noexcept;
  body_part take_data(std::string_view input, state next) noexcept;
  std::size_t take_plain_chunk_line(std::string_view input) noexcept;
  body_part take_chunk_line(std::string_view input) noexcept;
  body_part take_trailers(std::string_view input) noexcept;

  body_limits limits_;
  std::uint64_t left_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t extension_bytes_ = 0;
  state state_ = state::done;
  refusal reason_ = refusal::none;
};

}  // namespace beck::http
