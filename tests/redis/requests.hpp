// SPDX-License-Identifier: BSL-1.0
// Parses the commands of clients at every split and writes them as text: "[GET,k][PING]more".
#pragma once

#include <beck/redis/request_parser.hpp>

#include <string>
#include <vector>

namespace beck::redis::test {

/// Returns the commands in `input`, which arrives in parts that end at `cuts` and at its end.
inline std::string commands_in(
    const std::string& input, const std::vector<std::size_t>& cuts, const request_limits& most = {},
    request_parser::inline_commands lines = request_parser::inline_commands::refused) {
  request_parser parser(most, lines);
  std::string text;
  std::string kept;  // the bytes that were not consumed, in a place of their own
  std::size_t at = 0;
  bool more = false;
  for (std::size_t part = 0; part <= cuts.size(); ++part) {
    const std::size_t end = part < cuts.size() ? cuts[part] : input.size();
    kept = kept + input.substr(at, end - at);
    kept.shrink_to_fit();
    at = end;
    for (;;) {
      const parsed_request found = parser.parse(kept);
      if (found.event == request_event::refused)
        return text + "refused:" + std::string(parser.error_text());
      if (found.consumed > kept.size()) return "more was consumed than there is";
      if (found.event == request_event::command) {
        text += "[";
        for (std::size_t i = 0; i < found.command.size(); ++i) {
          if (i != 0) text += ",";
          text += found.command[i];
        }
        text += "]";
      }
      kept.erase(0, found.consumed);
      more = found.event == request_event::more;
      if (more) break;
    }
  }
  return more && !kept.empty() ? text + "more" : text;
}

/// Parses `input` whole, split in two at every place, and byte by byte. Returns the commands if all
/// agree; else a text that names the split that differs.
inline std::string commands_at_all_splits(
    const std::string& input, const request_limits& most = {},
    request_parser::inline_commands lines = request_parser::inline_commands::refused) {
  const std::string whole = commands_in(input, {}, most, lines);
  std::vector<std::size_t> all;
  for (std::size_t at = 1; at < input.size(); ++at) {
    const std::string split = commands_in(input, {at}, most, lines);
    if (split != whole) return "split at " + std::to_string(at) + ": " + split;
    all.push_back(at);
  }
  const std::string bytes = commands_in(input, all, most, lines);
  return bytes == whole ? whole : "byte by byte: " + bytes;
}

}  // namespace beck::redis::test
