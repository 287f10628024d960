// SPDX-License-Identifier: BSL-1.0
// Requests of clients: every split of them gives the same commands, an accepted command written
// again is the same bytes, and the table looks for keys within its arguments only.
#include <string>
#include <vector>

#include <beck/redis/command_table.hpp>

#include "fuzz/http/fuzz.hpp"
#include "redis/requests.hpp"

namespace {

using namespace beck::redis;
using namespace beck::http::fuzz;

void check_keys(const arguments& command) {
  std::size_t keys = 0;
  key_cursor at(command);
  while (at.next()) {
    require(at.index() > 0 && at.index() < command.size(), "a key is no argument");
    require(++keys <= 3 * command.size(), "more keys than arguments");
  }
  static_cast<void>(facts_of(command));
}

/// Parses commands and writes them again.
void rewrite(const std::string& input, request_parser::inline_commands lines) {
  request_parser parser({}, lines);
  std::string_view rest = input;
  for (;;) {
    const parsed_request found = parser.parse(rest);
    if (found.event != request_event::command) return;
    check_keys(found.command);
    std::vector<std::string> texts;
    for (std::size_t i = 1; i < found.command.size(); ++i) texts.emplace_back(found.command[i]);
    request again;
    again.push_range(found.command[0], texts);
    require_equal(again.bytes(), found.command.wire(), "a command is written otherwise");
    rest.remove_prefix(found.consumed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  choices input(beck::http::fuzz::text_of(data, size));
  const unsigned choice = input.byte();
  const auto lines = (choice & 1) != 0 ? request_parser::inline_commands::allowed
                                       : request_parser::inline_commands::refused;
  request_limits most;
  if ((choice & 2) != 0) {
    most.arguments = 3;
    most.argument_bytes = 8;
  }
  if ((choice & 4) != 0) {
    most.request_bytes = 40;
    most.inline_bytes = 10;
  }
  const std::string text(input.rest());
  const std::string whole = test::commands_in(text, {}, most, lines);
  at_splits(text, [&](std::size_t at) {
    require_equal(whole, test::commands_in(text, {at}, most, lines), "a split matters");
  });
  if (text.size() <= 512) {
    std::vector<std::size_t> all;
    for (std::size_t at = 1; at < text.size(); ++at) all.push_back(at);
    require_equal(whole, test::commands_in(text, all, most, lines), "bytes one by one matter");
  }
  rewrite(text, lines);
  return 0;
}
