// SPDX-License-Identifier: BSL-1.0
// Matches without recursion: after a mismatch the last star takes one byte more, and stars before
// it never have to.
#include "redis/memory/memory_call.hpp"

#include <cstddef>
#include <utility>

namespace beck::redis::detail {
namespace {

/// Matches one byte with the element of the pattern at `at`, and goes behind the element.
bool matches_class(std::string_view pattern, std::size_t& at, char c) noexcept {
  ++at;
  const bool is_negated = at < pattern.size() && pattern[at] == '^';
  if (is_negated) ++at;
  bool is_in = false;
  for (; at < pattern.size() && pattern[at] != ']'; ++at) {
    if (pattern[at] == '\\' && at + 1 < pattern.size()) {
      is_in = is_in || pattern[++at] == c;
    } else if (at + 2 < pattern.size() && pattern[at + 1] == '-') {
      auto first = static_cast<unsigned char>(pattern[at]);
      auto last = static_cast<unsigned char>(pattern[at + 2]);
      if (first > last) std::swap(first, last);
      const auto byte = static_cast<unsigned char>(c);
      is_in = is_in || (byte >= first && byte <= last);
      at += 2;
    } else {
      is_in = is_in || pattern[at] == c;
    }
  }
  if (at < pattern.size()) ++at;
  return is_in != is_negated;
}

bool matches_one(std::string_view pattern, std::size_t& at, char c) noexcept {
  if (pattern[at] == '[') return matches_class(pattern, at, c);
  if (pattern[at] == '\\' && at + 1 < pattern.size()) return pattern[(at += 2) - 1] == c;
  const char wanted = pattern[at++];
  return wanted == '?' || wanted == c;
}

}  // namespace

bool matches_glob(std::string_view pattern, std::string_view text) noexcept {
  std::size_t at = 0;
  std::size_t i = 0;
  std::size_t star = std::string_view::npos;  // behind the last star
  std::size_t star_text = 0;                  // where its match ends
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_text = i;
      continue;
    }
    std::size_t next = at;
    if (at < pattern.size() && matches_one(pattern, next, text[i])) {
      at = next;
      ++i;
      continue;
    }
    if (star == std::string_view::npos) return false;
    at = star;
    i = ++star_text;
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace beck::redis::detail
