// SPDX-License-Identifier: BSL-1.0
// Writes commands: "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n". Limits are checked before anything is written.
#include <beck/redis/request.hpp>

#include <cstring>

#include <beck/base/assert.hpp>
#include <beck/redis/error.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis {
namespace detail {
namespace {

/// Returns the bytes of "*12\r\n" or "$12\r\n".
std::size_t head_size(std::size_t number) noexcept {
  std::size_t bytes = 4;
  for (; number >= 10; number /= 10) ++bytes;
  return bytes;
}

/// Writes such a line of `bytes` bytes at `to`. Returns the place behind it.
char* write_head(char* to, char kind, std::size_t number, std::size_t bytes) noexcept {
  char* at = to + bytes;
  *--at = '\n';
  *--at = '\r';
  for (; --at != to; number /= 10) *at = static_cast<char>('0' + number % 10);
  *at = kind;
  return to + bytes;
}

}  // namespace

/// Returns whether the command may go on. Keeps the first limit that is passed.
bool command_writer::check(std::size_t value, std::size_t most, request_limit limit) noexcept {
  if (failure_ != request_limit::none) return false;
  if (value <= most) return true;
  failure_ = limit;
  failed_value_ = value;
  return false;
}

void command_writer::begin(byte_store& to, byte_store& marks, const request_limits& most,
                           std::size_t texts) {
  to.truncate(bytes_);  // an exception may have left a part of another command
  marks.truncate(mark_bytes_);
  texts_ = texts;
  texts_left_ = texts;
  if (!check(texts, most.arguments, request_limit::arguments)) return;
  const std::size_t bytes = head_size(texts);
  write_head(to.extend(bytes), '*', texts, bytes);
}

void command_writer::add(byte_store& to, const request_limits& most, std::string_view text) {
  BECK_ASSERT(texts_left_ != 0, "a range has more elements than it had when they were counted");
  --texts_left_;
  if (!check(text.size(), most.argument_bytes, request_limit::argument_bytes)) return;
  const std::size_t head_bytes = head_size(text.size());
  const std::size_t bytes = head_bytes + text.size() + 2;
  if (!check(to.size() + bytes, most.request_bytes, request_limit::bytes)) return;
  char* at = write_head(to.extend(bytes), '$', text.size(), head_bytes);
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  at += text.size();
  at[0] = '\r';
  at[1] = '\n';
}

void command_writer::add(byte_store& to, const request_limits& most, long long number) {
  add(to, most, number_text(number).view());
}

void command_writer::add(byte_store& to, const request_limits& most, unsigned long long number) {
  add(to, most, number_text(number).view());
}

void command_writer::add(byte_store& to, const request_limits& most, double number) {
  add(to, most, number_text(number).view());
}

void command_writer::add(byte_store& to, const request_limits& most, float number) {
  add(to, most, number_text(number).view());
}

void command_writer::mark(byte_store& marks) {
  const key_mark place{static_cast<std::uint32_t>(commands_),
                       static_cast<std::uint32_t>(texts_ - texts_left_)};
  marks.append({reinterpret_cast<const char*>(&place), sizeof place});
}

void command_writer::end(const byte_store& to, const byte_store& marks) noexcept {
  BECK_ASSERT(texts_left_ == 0, "a range has fewer elements than it had when they were counted");
  if (failure_ != request_limit::none) return;
  bytes_ = to.size();
  mark_bytes_ = marks.size();
  ++commands_;
}

void command_writer::append(byte_store& to, byte_store& marks, const request_limits& most,
                            const command_writer& other, const byte_store& from,
                            const byte_store& from_marks) {
  BECK_ASSERT(other.bytes_ <= from.size() && other.mark_bytes_ <= from_marks.size(),
              "the commands of one request were appended with the bytes of another");
  to.truncate(bytes_);
  marks.truncate(mark_bytes_);
  if (other.failure_ != request_limit::none) {
    if (failure_ == request_limit::none) {
      failure_ = other.failure_;
      failed_value_ = other.failed_value_;
    }
    return;
  }
  if (!check(bytes_ + other.bytes_, most.request_bytes, request_limit::bytes)) return;
  marks.append(from_marks.view().substr(0, other.mark_bytes_));
  to.append(from.view().substr(0, other.bytes_));
  // The marks count the commands of this request from here on.
  char* const first = marks.extend(0) - other.mark_bytes_;
  for (std::size_t at = 0; at < other.mark_bytes_; at += sizeof(key_mark)) {
    key_mark place;
    std::memcpy(&place, first + at, sizeof place);
    place.command += static_cast<std::uint32_t>(commands_);
    std::memcpy(first + at, &place, sizeof place);
  }
  bytes_ = to.size();
  mark_bytes_ = marks.size();
  commands_ += other.commands_;
}

error_code command_writer::error() const noexcept {
  return failure_ == request_limit::none ? error_code() : error_code(error::request_too_large);
}

beck::detail::fixed_text<120> command_writer::error_text(
    const request_limits& most) const noexcept {
  beck::detail::fixed_text<120> text;
  std::size_t limit = 0;
  const char* unit = "";
  switch (failure_) {
    case request_limit::none:
      return text;
    case request_limit::arguments:
      text.append("a command of ");
      unit = " arguments";
      limit = most.arguments;
      break;
    case request_limit::argument_bytes:
      text.append("an argument of ");
      unit = " bytes";
      limit = most.argument_bytes;
      break;
    case request_limit::bytes:
      text.append("a request of ");
      unit = " bytes or more";
      limit = most.request_bytes;
      break;
  }
  text.append(number_text(failed_value_).view());
  text.append(unit);
  text.append("; at most ");
  text.append(number_text(limit).view());
  return text;
}

}  // namespace detail

command_iterator& command_iterator::operator++() noexcept {
  wire_.remove_prefix((**this).wire().size());
  ++number_;
  while (mark_count_ != 0 && marks_->command < number_) {
    ++marks_;
    --mark_count_;
  }
  return *this;
}

detail::command_bytes request::part() const noexcept {
  // The store's memory comes from new: it is aligned for everything.
  const auto* const marks = reinterpret_cast<const detail::key_mark*>(marks_.view().data());
  return {bytes(), static_cast<std::uint32_t>(size()), marks,
          writer_.mark_bytes() / sizeof(detail::key_mark)};
}

command_iterator request::begin() const noexcept {
  const detail::command_bytes all = part();
  return {all.wire, all.marks, all.mark_count};
}

request& request::append(const request& other) {
  if (&other == this) return append(request(other));
  writer_.append(bytes_, marks_, limits_, other.writer_, other.bytes_, other.marks_);
  return *this;
}

}  // namespace beck::redis
