// SPDX-License-Identifier: BSL-1.0
// Walks through commands in the form of the wire. They are known to be good, so nothing is checked
// but the index.
#include <beck/redis/arguments.hpp>

#include <beck/base/assert.hpp>

namespace beck::redis {
namespace {

constexpr std::size_t line_end_bytes = 2;  // CR and LF

/// Reads digits up to CR; `at` is then behind LF.
std::size_t read_number(const char*& at) noexcept {
  std::size_t number = 0;
  for (; *at != '\r'; ++at) number = number * 10 + static_cast<std::size_t>(*at - '0');
  at += line_end_bytes;
  return number;
}

}  // namespace

arguments::arguments(std::string_view wire) noexcept : wire_(wire.data()) {
  BECK_ASSERT(!wire.empty() && wire[0] == '*', "a command on the wire begins with '*'");
  first_ = wire_ + 1;
  count_ = read_number(first_);
  text_ = first_;
  read_text();
}

arguments::arguments(std::string_view wire, const detail::key_mark* marks, std::size_t mark_count,
                     std::uint32_t number) noexcept
    : arguments(wire) {
  marks_ = marks;
  while (mark_count_ < mark_count && marks[mark_count_].command == number) ++mark_count_;
}

/// Reads the head of a text: text_ goes from its "$" to its first byte.
void arguments::read_text() const noexcept {
  ++text_;
  text_bytes_ = read_number(text_);
}

std::string_view arguments::operator[](std::size_t i) const noexcept {
  BECK_ASSERT(i < count_, "the command has fewer arguments");
  if (texts_ != nullptr) return texts_[i];
  if (i < at_) {
    at_ = 0;
    text_ = first_;
    read_text();
  }
  for (; at_ < i; ++at_) {
    text_ += text_bytes_ + line_end_bytes;
    read_text();
  }
  return {text_, text_bytes_};
}

std::size_t arguments::marked(std::size_t m) const noexcept {
  BECK_ASSERT(m < mark_count_, "the command has fewer marks");
  return marks_[m].argument;
}

bool arguments::is_marked(std::size_t i) const noexcept {
  for (std::size_t m = 0; m < mark_count_; ++m)
    if (marks_[m].argument == i) return true;
  return false;
}

std::string_view arguments::wire() const noexcept {
  if (wire_ == nullptr) return {};
  const std::string_view last = (*this)[count_ - 1];
  return {wire_, static_cast<std::size_t>(last.data() + last.size() + line_end_bytes - wire_)};
}

}  // namespace beck::redis
