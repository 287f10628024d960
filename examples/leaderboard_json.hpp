// SPDX-License-Identifier: BSL-1.0
//
// The replies of the leaderboard as JSON.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace example {

/// Members of a sorted set, and their scores.
using score_table = std::vector<std::pair<std::string, double>>;

/// Returns a text as JSON has it, in one line whatever is in it.
inline std::string in_quotes(std::string_view text) {
  std::string to = "\"";
  for (const char c : text) {
    char escaped[8] = {c};
    if (c == '"' || c == '\\') std::snprintf(escaped, sizeof escaped, "\\%c", c);
    if (static_cast<unsigned char>(c) < 0x20) std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
    to += escaped;
  }
  return to + '"';
}
/// Returns an object with a player and a number as JSON.
inline std::string json(std::string_view name, const char* member, double number) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.15g", number);
  return "{\"name\":" + in_quotes(name) + ",\"" + member + "\":" + digits + "}";
}
/// Returns a table as JSON.
inline std::string json(const score_table& all) {
  std::string to = "[";
  for (const auto& [name, score] : all)
    to.append(to.size() > 1 ? "," : "").append(json(name, "score", score));
  return to + "]";
}

}  // namespace example
