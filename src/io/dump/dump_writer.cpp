// SPDX-License-Identifier: BSL-1.0
// Makes compilers' names readable. g++ names sometimes the function that it generates for a
// coroutine and sometimes the coroutine itself; clang and g++ spell lambdas and unnamed namespaces
// differently.
#include "io/dump/dump_writer.hpp"

#include <algorithm>
#include <string_view>

namespace beck::detail {
namespace {

bool starts(std::string_view text, std::string_view with) noexcept {
  return text.substr(0, with.size()) == with;
}

constexpr std::string_view unnamed[] = {"{anonymous}::", "(anonymous namespace)::"};

/// Returns `text` without the names of unnamed namespaces.
short_text<512> without_unnamed(std::string_view text) noexcept {
  short_text<512> result;
  while (!text.empty()) {
    const auto* const found = std::find_if(std::begin(unnamed), std::end(unnamed),
                                           [&](std::string_view u) { return starts(text, u); });
    const std::size_t bytes = found != std::end(unnamed) ? found->size() : 1;
    if (found == std::end(unnamed)) result.put(text.substr(0, 1));
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

function_text readable_function(std::string_view signature) noexcept {
  const auto named = without_unnamed(signature);
  const std::string_view whole = named.text();
  std::size_t begin = 0;
  std::size_t end = 0;
  for (int depth = 0; end < whole.size(); ++end) {
    const char c = whole[end];
    if (c == '<') ++depth;
    if (c == '>') --depth;
    if (depth != 0) continue;
    if (c == '(') break;  // its parameters, or those of the function around a lambda
    if (c == ' ' || c == '*' || c == '&') begin = end + 1;
  }
  const std::string_view name = whole.substr(begin, end - begin);
  function_text result;
  result.put(name);
  if (name.size() >= 8 && name.substr(name.size() - 8) == "operator") result.put("()");
  if (whole.find("<lambda") != whole.npos || whole.find("(anonymous class)") != whole.npos) {
    result.put("::lambda");
  }
  return result;
}

function_text readable_wait(std::string_view name) noexcept {
  constexpr std::string_view before = "Derived = ";
  const std::size_t at = name.find(before);
  function_text result;
  if (at == name.npos) {
    result.put(name);
    return result;
  }
  const auto named = without_unnamed(name.substr(at + before.size()));
  int depth = 0;
  for (const char c : named.text()) {
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (depth == 0 && (c == ';' || c == ',' || c == ']')) break;
    if (c == '>' || c == ')' || c == '}') --depth;
    result.put(std::string_view(&c, 1));
  }
  return result;
}

std::string_view readable_file(std::string_view path) noexcept {
  const std::size_t last = path.rfind('/');
  if (last == path.npos || last == 0) return path;
  const std::size_t before = path.rfind('/', last - 1);
  return before == path.npos ? path : path.substr(before + 1);
}

namespace {
number_text digits_of(std::uint64_t number, bool grouped) noexcept {
  std::array<char, 32> digits;
  std::size_t first = digits.size();
  for (unsigned n = 0; n == 0 || number != 0; ++n, number /= 10) {
    if (grouped && n != 0 && n % 3 == 0) digits[--first] = ',';
    digits[--first] = static_cast<char>('0' + number % 10);
  }
  number_text result;
  result.put({digits.data() + first, digits.size() - first});
  return result;
}
}  // namespace

number_text readable_number(std::uint64_t number) noexcept { return digits_of(number, true); }
number_text plain_number(std::uint64_t number) noexcept { return digits_of(number, false); }

number_text readable_age(std::int64_t nanoseconds) noexcept {
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0) / 1'000'000);
  number_text result;
  const auto put = [&](std::uint64_t number, std::string_view unit) {
    result.put(readable_number(number).text());
    result.put(unit);
  };
  if (ms < 1'000) {
    put(ms, " ms");
  } else if (ms < 60'000) {
    put(ms / 1'000, ".");
    put(ms / 100 % 10, " s");
  } else if (ms < 7'200'000) {
    put(ms / 60'000, " min");
  } else {
    put(ms / 3'600'000, " h");
  }
  return result;
}

void dump_writer::put_place(const std::source_location& at) noexcept {
  if (at.line() == 0) return put("?");
  const number_text line = plain_number(at.line());
  put(readable_file(at.file_name()), ":", line, " in ", readable_function(at.function_name()));
}

void dump_writer::put_one(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = std::min(text.size(), pending_.size() - size_);
    text.copy(pending_.data() + size_, bytes);
    size_ += bytes;
    text.remove_prefix(bytes);
    if (size_ == pending_.size()) flush();
  }
}

void dump_writer::flush() noexcept {
  if (size_ != 0 && !failed_) {
    try {
      out_.write({pending_.data(), size_});
    } catch (...) {
      failed_ = true;
    }
  }
  size_ = 0;
}

}  // namespace beck::detail
