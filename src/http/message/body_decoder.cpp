// SPDX-License-Identifier: BSL-1.0
// Chunked coding: RFC 9112, section 7.1. The line with a chunk's size, and the trailers, are
// decoded once they are whole; until then they stay in the input.
#include <beck/http/body_decoder.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"
#include "http/message/head_parser.hpp"

namespace beck::http {
namespace {

constexpr std::size_t size_digits_max = 16;
constexpr std::uint32_t trailer_bytes_max = 65535;  // offsets have 16 bits

constexpr std::size_t plain_digits_max = 8;

/// The values of hexadecimal digits; 16 for all other characters.
constexpr std::array<std::uint8_t, 256> digit_values = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t c = 0; c < 256; ++c) {
    const char as_text = static_cast<char>(c);
    const bool is_digit = detail::is_in(as_text, detail::is_hex);
    table[c] = is_digit ? static_cast<std::uint8_t>(detail::hex_value(as_text)) : 16;
  }
  return table;
}();

std::uint64_t digit_value(char c) noexcept { return digit_values[static_cast<unsigned char>(c)]; }

/// Returns whether `text` is a sequence of ";name", ";name=token" and ";name=\"text\"". Refuses
/// white space that RFC 9112 only tolerates (BWS), because recipients disagree about it.
bool are_extensions(std::string_view text) noexcept {
  while (!text.empty()) {
    if (text[0] != ';') return false;
    std::size_t end = 1;
    while (end < text.size() && detail::is_in(text[end], detail::in_token)) ++end;
    if (end == 1) return false;
    if (end < text.size() && text[end] == '=') {
      const std::size_t value = ++end;
      if (end < text.size() && text[end] == '"') {
        ++end;
        while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2U : 1U;
        if (end >= text.size()) return false;
        ++end;
      } else {
        while (end < text.size() && detail::is_in(text[end], detail::in_token)) ++end;
        if (end == value) return false;
      }
    }
    text.remove_prefix(end);
  }
  return true;
}

/// Fields that would change a decision already made (RFC 9110, section 6.5.1): framing, routing,
/// authentication, the content and its handling.
constexpr field forbidden_trailers[] = {
    field::age,
    field::authorization,
    field::cache_control,
    field::connection,
    field::content_disposition,
    field::content_encoding,
    field::content_language,
    field::content_length,
    field::content_location,
    field::content_range,
    field::content_type,
    field::cookie,
    field::date,
    field::expect,
    field::expires,
    field::forwarded,
    field::host,
    field::if_match,
    field::if_modified_since,
    field::if_none_match,
    field::if_range,
    field::if_unmodified_since,
    field::keep_alive,
    field::location,
    field::max_forwards,
    field::pragma,
    field::proxy_authenticate,
    field::proxy_authorization,
    field::proxy_connection,
    field::range,
    field::retry_after,
    field::set_cookie,
    field::te,
    field::trailer,
    field::transfer_encoding,
    field::upgrade,
    field::vary,
    field::www_authenticate,
    field::x_forwarded_for,
    field::x_forwarded_host,
    field::x_forwarded_proto,
};

struct trailer_head : head {
  trailer_head() noexcept = default;
};

}  // namespace

body_decoder::body_decoder(const head& of, const body_limits& limits) noexcept : limits_(limits) {
  // Trailers are parsed into a head, whose offsets allow no more.
  limits_.trailer_bytes = std::min(limits_.trailer_bytes, trailer_bytes_max);
  limits_.trailer_fields = std::min<std::uint16_t>(limits_.trailer_fields, head::fields_max);
  switch (of.framing()) {
    case body_framing::none:
      break;
    case body_framing::length:
      left_ = of.content_length();
      if (left_ > limits_.body_bytes) {
        static_cast<void>(refuse(refusal::body_too_long));
      } else if (left_ != 0) {
        state_ = state::length;
      }
      break;
    case body_framing::chunked:
      state_ = state::chunk_line;
      break;
    case body_framing::until_close:
      state_ = state::until_close;
      break;
  }
}

body_part body_decoder::refuse(refusal why) noexcept {
  BECK_ASSERT(state_ != state::refused, "a body is refused twice");
  state_ = state::refused;
  reason_ = why;
  return {parse_status::refused, 0, {}};
}

body_part body_decoder::decode(std::string_view input) noexcept {
  std::size_t framing = 0;
  for (;;) {
    body_part part{parse_status::more, 0, {}};
    const std::string_view rest = input.substr(framing);
    switch (state_) {
      case state::done:
        return {parse_status::done, framing, {}};
      case state::refused:
        return {parse_status::refused, 0, {}};
      case state::length:
        part = take_data(rest, state::done);
        break;
      case state::until_close:
        if (rest.size() > limits_.body_bytes - bytes_) return refuse(refusal::body_too_long);
        left_ = rest.size();
        part = take_data(rest, state::until_close);
        break;
      case state::chunk_data:
        part = take_data(rest, state::chunk_end);
        break;
      case state::chunk_line:
        part.consumed = take_plain_chunk_line(rest);
        if (part.consumed == 0) part = take_chunk_line(rest);
        break;
      case state::chunk_end:
        if (rest.size() >= 1 && rest[0] != '\r') return refuse(refusal::bad_chunk_end);
        if (rest.size() >= 2) {
          if (rest[1] != '\n') return refuse(refusal::bad_chunk_end);
          state_ = state::chunk_line;
          part.consumed = 2 + take_plain_chunk_line(rest.substr(2));
        }
        break;
      case state::trailers:
        part = take_trailers(rest);
        break;
    }
    if (part.status == parse_status::refused) return part;
    framing += part.consumed;
    if (part.consumed == 0 || !part.data.empty()) {
      part.consumed = framing;
      if (state_ == state::done) part.status = parse_status::done;
      return part;
    }
  }
}

body_part body_decoder::take_data(std::string_view input, state next) noexcept {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  left_ -= taken;
  bytes_ += taken;
  BECK_ASSERT(bytes_ <= limits_.body_bytes, "more of a body was decoded than its limit");
  if (left_ == 0) state_ = next;
  return {parse_status::more, taken, input.substr(0, taken)};
}

/// Takes a chunk line that is whole, has few digits and no extension, and begins another chunk, as
/// nearly all do. Returns its length, or 0 for any other line.
std::size_t body_decoder::take_plain_chunk_line(std::string_view input) noexcept {
  const std::size_t most = std::min(input.size(), plain_digits_max + 2);
  std::size_t digits = 0;
  std::uint64_t bytes = 0;
  while (digits < most && digit_value(input[digits]) < 16) {
    bytes = bytes << 4 | digit_value(input[digits]);
    ++digits;
  }
  if (most - digits < 2 || input[digits] != '\r' || input[digits + 1] != '\n') return 0;
  if (bytes == 0 || bytes > limits_.body_bytes - bytes_ || digits > limits_.chunk_line_bytes)
    return 0;
  left_ = bytes;
  state_ = state::chunk_data;
  return digits + 2;
}

body_part body_decoder::take_chunk_line(std::string_view input) noexcept {
  std::size_t digits = 0;
  std::uint64_t bytes = 0;
  while (digits < input.size() && digit_value(input[digits]) < 16) {
    if (digits == size_digits_max) return refuse(refusal::bad_chunk_size);
    bytes = bytes << 4 | digit_value(input[digits]);
    ++digits;
  }
  if (digits == input.size()) return {parse_status::more, 0, {}};
  if (digits == 0) return refuse(refusal::bad_chunk_size);
  std::size_t end = digits;
  if (input[digits] == ';') {
    while (end < input.size() && end <= limits_.chunk_line_bytes) {
      const auto value = static_cast<unsigned char>(input[end]);
      if (value < 0x20 || value == 0x7f) break;
      ++end;
    }
  }
  if (end > limits_.chunk_line_bytes) return refuse(refusal::chunk_line_too_long);
  if (end == input.size()) return {parse_status::more, 0, {}};
  if (input[end] != '\r')
    return refuse(end == digits ? refusal::bad_chunk_size : refusal::bad_chunk_extension);
  if (end + 1 == input.size()) return {parse_status::more, 0, {}};
  if (input[end + 1] != '\n') return refuse(refusal::bad_line_end);
  if (!are_extensions(input.substr(digits, end - digits)))
    return refuse(refusal::bad_chunk_extension);
  extension_bytes_ += static_cast<std::uint32_t>(end - digits);
  if (extension_bytes_ > limits_.chunk_extension_bytes)
    return refuse(refusal::chunk_extensions_too_long);
  if (bytes > limits_.body_bytes - bytes_) return refuse(refusal::body_too_long);
  left_ = bytes;
  state_ = bytes == 0 ? state::trailers : state::chunk_data;
  return {parse_status::more, end + 2, {}};
}

body_part body_decoder::take_trailers(std::string_view input) noexcept {
  // Nearly always there are no trailers.
  if (input.size() >= 2 && input[0] == '\r' && input[1] == '\n') {
    state_ = state::done;
    return {parse_status::more, 2, {}};
  }
  if (input.empty()) return {parse_status::more, 0, {}};
  trailer_head fields;
  detail::head_progress progress;
  head_limits limits;
  limits.head_bytes = limits_.trailer_bytes;
  limits.fields = limits_.trailer_fields;
  const parse_status status =
      detail::parse_trailers(input.substr(0, limits_.trailer_bytes), fields, progress, limits);
  if (status == parse_status::refused) {
    const bool too_many = progress.reason == refusal::too_many_fields;
    return refuse(too_many ? refusal::trailers_too_long : progress.reason);
  }
  if (status == parse_status::more) {
    if (input.size() >= limits_.trailer_bytes) return refuse(refusal::trailers_too_long);
    return {parse_status::more, 0, {}};
  }
  BECK_ASSERT(fields.bytes() <= input.size(), "trailers are longer than the input");
  for (const field each : forbidden_trailers)
    if (fields.has(each)) return refuse(refusal::bad_trailer);
  state_ = state::done;
  return {parse_status::more, fields.bytes(), {}};
}

parse_status body_decoder::end_of_input() noexcept {
  if (state_ == state::until_close) state_ = state::done;
  switch (state_) {
    case state::done:
      return parse_status::done;
    case state::refused:
      return parse_status::refused;
    case state::length:
    case state::until_close:
    case state::chunk_line:
    case state::chunk_data:
    case state::chunk_end:
    case state::trailers:
      break;
  }
  return parse_status::more;
}

}  // namespace beck::http
