// SPDX-License-Identifier: BSL-1.0
// Each call first checks its arguments and the room, and then copies.
#include <beck/http/head_writer.hpp>

#include <charconv>
#include <cstring>

#include <beck/base/assert.hpp>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::string_view version = "HTTP/1.1";
constexpr std::size_t digits_max = 20;  // of a number of 64 bits

bool is_target(std::string_view text) noexcept {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x21 || byte > 0x7e || c == '#') return false;
  }
  return !text.empty();
}

}  // namespace

head_writer& head_writer::fail(head_error why) noexcept {
  if (error_ == head_error::none) error_ = why;
  return *this;
}

/// Returns whether there is room for `bytes`; sets the error otherwise.
bool head_writer::fits(std::size_t bytes) noexcept {
  if (error_ == head_error::none && static_cast<std::size_t>(end_ - at_) < bytes)
    error_ = head_error::no_room;
  return error_ == head_error::none;
}

void head_writer::put(std::string_view text) noexcept {
  BECK_ASSERT(text.size() <= static_cast<std::size_t>(end_ - at_), "a head needs more room");
  if (!text.empty()) std::memcpy(at_, text.data(), text.size());
  at_ += text.size();
}

head_writer& head_writer::start(status s, std::string_view reason) noexcept {
  const unsigned number = number_of(s);
  if (reason.empty()) reason = reason_of(s);
  if (number < 100 || number > 599 || !detail::is_field_value(reason))
    return fail(head_error::bad_start);
  if (!fits(version.size() + 5 + reason.size() + 2)) return *this;
  put(version);
  const char code[] = {' ', static_cast<char>('0' + number / 100),
                       static_cast<char>('0' + number / 10 % 10),
                       static_cast<char>('0' + number % 10), ' '};
  put({code, sizeof code});
  put(reason);
  put("\r\n");
  return *this;
}

head_writer& head_writer::start(std::string_view method, std::string_view target) noexcept {
  if (!detail::is_token(method) || !is_target(target)) return fail(head_error::bad_start);
  if (!fits(method.size() + target.size() + version.size() + 4)) return *this;
  put(method);
  put(" ");
  put(target);
  put(" ");
  put(version);
  put("\r\n");
  return *this;
}

head_writer& head_writer::add(field name, std::string_view value) noexcept {
  BECK_ASSERT(name != field::other, "field::other has no name to write");
  return add_line(name_of(name), value);
}

head_writer& head_writer::add(field name, std::uint64_t value) noexcept {
  char digits[digits_max];
  const std::to_chars_result end = std::to_chars(digits, digits + digits_max, value);
  return add(name, std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

head_writer& head_writer::add(std::string_view name, std::string_view value) noexcept {
  if (!detail::is_token(name)) return fail(head_error::bad_name);
  return add_line(name, value);
}

/// Adds a field whose name is a token.
head_writer& head_writer::add_line(std::string_view name, std::string_view value) noexcept {
  BECK_ASSERT(at_ != begin_ || error_ != head_error::none, "a field before the first line");
  if (!detail::is_field_value(value)) return fail(head_error::bad_value);
  if (!fits(name.size() + value.size() + 4)) return *this;
  put(name);
  put(": ");
  put(value);
  put("\r\n");
  return *this;
}

std::string_view head_writer::finish() noexcept {
  BECK_ASSERT(at_ != begin_ || error_ != head_error::none, "a head without a first line");
  if (!fits(2)) return {};
  put("\r\n");
  return {begin_, static_cast<std::size_t>(at_ - begin_)};
}

}  // namespace beck::http
