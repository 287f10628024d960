// SPDX-License-Identifier: BSL-1.0
// Version 00: "00-" 32 digits "-" 16 digits "-" 2 digits, all hexadecimal and in lower case.
#include <beck/http/trace_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <beck/http/request.hpp>
#include <beck/io/context_services.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::size_t text_bytes = 55;
constexpr unsigned char flags_known = 0x01;

/// Returns the value of a digit in lower case, or 16.
unsigned hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return 16;
}

/// Reads two digits for each byte. Returns false for other characters.
bool read_hex(std::string_view from, std::span<unsigned char> to) noexcept {
  for (std::size_t i = 0; i != to.size(); ++i) {
    const unsigned high = hex_value(from[2 * i]), low = hex_value(from[2 * i + 1]);
    if (high > 15 || low > 15) return false;
    to[i] = static_cast<unsigned char>(high << 4U | low);
  }
  return true;
}

template <std::size_t Capacity>
void append_hex(beck::detail::fixed_text<Capacity>& to,
                std::span<const unsigned char> from) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const unsigned char byte : from) {
    to.append(digits.substr(byte >> 4U, 1));
    to.append(digits.substr(byte & 15U, 1));
  }
}

bool is_zero(std::span<const unsigned char> id) noexcept {
  return std::all_of(id.begin(), id.end(), [](unsigned char byte) { return byte == 0; });
}

}  // namespace

trace_context trace_context::parse(std::string_view traceparent) noexcept {
  trace_context read;
  unsigned char version[1], flags[1];
  if (traceparent.size() < text_bytes || traceparent[2] != '-' || traceparent[35] != '-' ||
      traceparent[52] != '-' || !read_hex(traceparent, version) || version[0] == 0xFF)
    return {};
  const bool is_longer = traceparent.size() != text_bytes;
  if (is_longer && (version[0] == 0 || traceparent[text_bytes] != '-')) return {};
  if (!read_hex(traceparent.substr(3), read.trace_) ||
      !read_hex(traceparent.substr(36), read.span_) || !read_hex(traceparent.substr(53), flags) ||
      is_zero(read.trace_) || is_zero(read.span_))
    return {};
  read.flags_ = flags[0] & flags_known;
  read.has_trace_ = true;
  return read;
}

trace_context trace_context::of(const request& q) noexcept {
  constexpr std::string_view name = "traceparent";
  std::size_t count = 0;
  for (const field_view one : q.head()) {
    if (detail::equal_in_any_case(one.name, name)) ++count;
  }
  const trace_context client = count == 1 ? parse(q.get(name)) : trace_context();
  return client.child(q.get_executor());
}

trace_context trace_context::child(const any_io_executor& on) const noexcept {
  struct {
    unsigned char trace[16], span[8];
  } drawn;
  do {
    random_bytes(on, mutable_buffer(&drawn, sizeof drawn));
  } while (is_zero(drawn.trace) || is_zero(drawn.span));
  trace_context made = *this;
  if (!has_trace_) std::memcpy(made.trace_, drawn.trace, sizeof made.trace_);
  std::memcpy(made.span_, drawn.span, sizeof made.span_);
  made.has_trace_ = true;
  return made;
}

bool trace_context::is_same_trace(const trace_context& other) const noexcept {
  return has_trace_ && other.has_trace_ && std::memcmp(trace_, other.trace_, sizeof trace_) == 0;
}

beck::detail::fixed_text<32> trace_context::trace_id() const noexcept {
  beck::detail::fixed_text<32> text;
  append_hex(text, trace_);
  return text;
}

beck::detail::fixed_text<16> trace_context::span_id() const noexcept {
  beck::detail::fixed_text<16> text;
  append_hex(text, span_);
  return text;
}

beck::detail::fixed_text<55> trace_context::text() const noexcept {
  beck::detail::fixed_text<55> text;
  if (!has_trace_) return text;
  text.append("00-");
  append_hex(text, trace_);
  text.append("-");
  append_hex(text, span_);
  text.append("-");
  append_hex(text, std::span(&flags_, 1));
  return text;
}

}  // namespace beck::http
