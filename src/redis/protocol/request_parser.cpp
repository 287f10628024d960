// SPDX-License-Identifier: BSL-1.0
// A state machine over bytes. The texts of errors are those that clients of redis-server know, and
// that its own tests look for.
#include <beck/redis/request_parser.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <beck/base/assert.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis {
namespace {

constexpr std::string_view bad_count = "Protocol error: invalid multibulk length";
constexpr std::string_view bad_length = "Protocol error: invalid bulk length";
constexpr std::string_view bad_line_end = "Protocol error: a line does not end with CR LF";
constexpr std::string_view bad_text_end = "Protocol error: an argument does not end with CR LF";
constexpr std::size_t argument_bytes_min = 6;  // "$0\r\n\r\n"

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Returns whether a word is `small` but for capital letters.
bool is_word_of_http(std::string_view word, std::string_view small) noexcept {
  return std::equal(word.begin(), word.end(), small.begin(), small.end(), [](char one, char other) {
    return (one >= 'A' && one <= 'Z' ? static_cast<char>(one | 0x20) : one) == other;
  });
}

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// Takes an escape of a word in double quotes; `at` is behind the backslash.
char take_escape(std::string_view line, std::size_t& at) noexcept {
  const char c = line[at++];
  if (c == 'x' && at + 1 < line.size() && digit_of(line[at]) >= 0 && digit_of(line[at + 1]) >= 0) {
    const int byte = digit_of(line[at]) * 16 + digit_of(line[at + 1]);
    at += 2;
    return static_cast<char>(byte);
  }
  if (c == 'n') return '\n';
  if (c == 'r') return '\r';
  if (c == 't') return '\t';
  if (c == 'b') return '\b';
  if (c == 'a') return '\a';
  return c;
}

/// Takes a word; `at` is at its first byte. Returns false if its quotes do not end, or end inside.
bool take_word(std::string_view line, std::size_t& at, std::string& word) {
  const char quote = line[at] == '"' || line[at] == '\'' ? line[at] : '\0';
  if (quote == '\0') {
    while (at < line.size() && !is_space(line[at])) {
      if (line[at] == '"' || line[at] == '\'') {  // begins inside of the word
        std::string part;
        if (!take_word(line, at, part)) return false;
        word += part;
        return true;  // a quote ends a word
      }
      word += line[at++];
    }
    return true;
  }
  ++at;
  while (at < line.size() && line[at] != quote) {
    if (quote == '"' && line[at] == '\\' && at + 1 < line.size()) {
      word += take_escape(line, ++at);
    } else if (quote == '\'' && line.substr(at, 2) == "\\'") {
      word += '\'';
      at += 2;
    } else {
      word += line[at++];
    }
  }
  if (at == line.size()) return false;
  ++at;
  return at == line.size() || is_space(line[at]);
}

/// Splits a line into words. Returns false if its quotes are wrong.
bool take_words(std::string_view line, std::vector<std::string>& words) {
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && is_space(line[at])) ++at;
    if (at == line.size()) return true;
    words.emplace_back();
    if (!take_word(line, at, words.back())) return false;
  }
}

}  // namespace

parsed_request request_parser::parse(std::string_view input) {
  if (is_whole_) {
    begin_ = 0;
    at_ = 0;
    is_whole_ = false;
    is_inline_ = false;
    stage_ = stage::start;
  }
  BECK_ASSERT(stage_ == stage::refused || at_ <= input.size(),
              "bytes of a command that is not whole were not passed again");
  while (at_ < input.size() && !is_whole_ && stage_ != stage::refused) step(input);
  parsed_request found;
  if (stage_ == stage::refused) {
    found.event = request_event::refused;
  } else if (is_whole_) {
    found.event = request_event::command;
    found.consumed = at_;
    found.command = arguments(is_inline_ ? inline_.view() : input.substr(begin_, at_ - begin_));
  } else {
    found.consumed = begin_;  // commands without arguments
    at_ -= begin_;
    begin_ = 0;
  }
  return found;
}

/// Takes one byte, or as much of an argument or a line as there is. Requires at_ < input.size().
void request_parser::step(std::string_view input) {
  const char next = input[at_];
  switch (stage_) {
    case stage::start:
      return take_start(next);
    case stage::count:
      return take_count(next);
    case stage::count_end:
      ++at_;
      return next == '\n' ? end_count() : refuse(bad_line_end);
    case stage::head:
      ++at_;
      number_ = 0;
      has_digits_ = false;
      stage_ = stage::length;
      return next == '$' ? void() : refuse_byte('$', next);
    case stage::length:
      return take_length(next);
    case stage::length_end:
      ++at_;
      return next == '\n' ? end_length() : refuse(bad_line_end);
    case stage::body: {
      const std::size_t there = std::min(body_left_, input.size() - at_);
      at_ += there;
      body_left_ -= there;
      if (body_left_ == 0) stage_ = stage::body_cr;
      return;
    }
    case stage::body_cr:
      ++at_;
      stage_ = stage::body_lf;
      return next == '\r' ? void() : refuse(bad_text_end);
    case stage::body_lf:
      ++at_;
      return next == '\n' ? end_argument() : refuse(bad_text_end);
    case stage::line:
      return take_line(input);
    case stage::line_end:
      ++at_;
      return next == '\n' ? skip() : refuse_byte('*', '\r');
    case stage::refused:
      return;
  }
}

void request_parser::take_start(char first) noexcept {
  if (first != '*') {
    if (lines_ == inline_commands::allowed) {
      stage_ = stage::line;
      return;
    }
    const bool is_end = lines_ == inline_commands::skipped && (first == '\r' || first == '\n');
    if (!is_end) return refuse_byte('*', first);
    ++at_;
    stage_ = stage::line_end;
    return first == '\n' ? skip() : void();
  }
  ++at_;
  number_ = 0;
  has_digits_ = false;
  is_negative_ = false;
  stage_ = stage::count;
}

/// Takes a digit. Returns false if `next` is CR behind a number; refuses everything else.
bool request_parser::take_digit(char next, std::size_t most, std::string_view error) noexcept {
  ++at_;
  if (next == '\r' && has_digits_) return false;
  const bool has_zero_in_front = has_digits_ && number_ == 0;
  if (next < '0' || next > '9' || has_zero_in_front) {
    refuse(error);
    return true;
  }
  const auto digit = static_cast<std::size_t>(next - '0');
  if (number_ > most / 10 || digit > most - number_ * 10) {
    refuse(error);
    return true;
  }
  number_ = number_ * 10 + digit;
  has_digits_ = true;
  return true;
}

void request_parser::take_count(char next) noexcept {
  const bool may_be_negative = lines_ != inline_commands::refused && !has_digits_ && !is_negative_;
  if (next == '-' && may_be_negative) {
    is_negative_ = true;
    ++at_;
    return;
  }
  if (!take_digit(next, limits_.arguments, bad_count)) stage_ = stage::count_end;
}

void request_parser::end_count() noexcept {
  arguments_left_ = number_;
  stage_ = stage::head;
  if (number_ != 0 && !is_negative_) return;
  if (lines_ == inline_commands::refused) return refuse(bad_count);
  skip();
}

/// Goes on behind bytes that run nothing, and are not answered.
void request_parser::skip() noexcept {
  begin_ = at_;
  stage_ = stage::start;
}

void request_parser::take_length(char next) noexcept {
  if (!take_digit(next, limits_.argument_bytes, bad_length)) stage_ = stage::length_end;
}

void request_parser::end_length() noexcept {
  body_left_ = number_;
  stage_ = body_left_ == 0 ? stage::body_cr : stage::body;
  const std::size_t so_far = at_ - begin_;
  if (so_far <= limits_.request_bytes && body_left_ + 2 <= limits_.request_bytes - so_far) return;
  beck::detail::fixed_text<127> text("Protocol error: a command of more than ");
  text.append(detail::number_text(limits_.request_bytes).view());
  text.append(" bytes");
  refuse({text.data(), text.size()});
}

void request_parser::end_argument() noexcept {
  BECK_ASSERT(arguments_left_ != 0, "a command got more arguments than it has announced");
  stage_ = stage::head;
  if (--arguments_left_ == 0) is_whole_ = true;
}

void request_parser::take_line(std::string_view input) {
  const std::size_t end = input.find('\n', at_);
  at_ = end == std::string_view::npos ? input.size() : end;
  if (at_ - begin_ > limits_.inline_bytes) return refuse("Protocol error: too big inline request");
  if (end == std::string_view::npos) return;
  split_line(input.substr(begin_, end - begin_));  // if it throws, it is called again
  ++at_;
}

/// Writes the words of a line as a command of the usual form.
void request_parser::split_line(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) return refuse("Protocol error: NUL in a line");
  std::vector<std::string> words;
  if (!take_words(line, words)) return refuse("Protocol error: unbalanced quotes in request");
  if (words.empty()) {
    begin_ = at_ + 1;
    stage_ = stage::start;
    return;
  }
  // A client of HTTP that was made to send commands as its data says these words first.
  if (is_word_of_http(words[0], "post") || is_word_of_http(words[0], "host:"))
    return refuse("Protocol error: a request of HTTP");
  detail::command_writer writer;
  detail::small_store<0> marks;
  inline_.clear();
  writer.begin(inline_, marks, limits_, words.size());
  for (const std::string& word : words) writer.add(inline_, limits_, word);
  writer.end(inline_, marks);
  if (writer.error()) {
    const auto text = writer.error_text(limits_);
    return refuse({text.data(), text.size()});
  }
  is_inline_ = true;
  is_whole_ = true;
}

void request_parser::refuse(std::string_view why) noexcept {
  stage_ = stage::refused;
  message_ = beck::detail::fixed_text<127>({why.data(), why.size()});
}

void request_parser::refuse_byte(char wanted, char got) noexcept {
  const char text[] = {
      '\'', wanted, '\'', ',', ' ', 'g', 'o', 't', ' ', '\'', got >= ' ' && got <= '~' ? got : '?',
      '\''};
  refuse("Protocol error: expected ");
  message_.append({text, sizeof text});
}

std::size_t request_parser::missing() const noexcept {
  BECK_ASSERT(!is_whole_ && stage_ != stage::refused, "no byte of the command is missing");
  switch (stage_) {
    case stage::head:
      return arguments_left_ * argument_bytes_min;
    case stage::body:
    case stage::body_cr:
      return body_left_ + 2 + (arguments_left_ - 1) * argument_bytes_min;
    case stage::start:
    case stage::count:
    case stage::count_end:
    case stage::length:
    case stage::length_end:
    case stage::body_lf:
    case stage::line:
    case stage::line_end:
    case stage::refused:
      break;
  }
  return 1;
}

}  // namespace beck::redis
