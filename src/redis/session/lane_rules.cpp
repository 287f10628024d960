// SPDX-License-Identifier: BSL-1.0
// Names are compared as the server does it, in small letters.
#include "redis/session/lane_rules.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

#include <beck/redis/command_table.hpp>

namespace beck::redis::detail {
namespace {

/// Returns whether a text is this word, which has only small letters.
bool is_word(std::string_view text, std::string_view word) noexcept {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != word[i]) return false;
  }
  return true;
}

bool is_word(const arguments& command, std::size_t i, std::string_view word) noexcept {
  return i < command.size() && is_word(command[i], word);
}

/// Returns whether `command` is `name`, and has the subcommand if that is not empty.
bool is_command(const arguments& command, std::string_view name, std::string_view sub) noexcept {
  return is_word(command, 0, name) && (sub.empty() || is_word(command, 1, sub));
}

struct rule_row {
  std::string_view name;
  std::string_view sub;
  lane_rule rule;
};

constexpr rule_row rule_rows[] = {
    // The protocol and the login are those of the client: see reply_mode, and RESET behind use.
    {"hello", "", lane_rule::refused},
    {"auth", "", lane_rule::refused},
    {"reset", "", lane_rule::refused},
    {"quit", "", lane_rule::refused},
    // transaction() reads the replies of EXEC.
    {"multi", "", lane_rule::refused},
    {"exec", "", lane_rule::refused},
    {"discard", "", lane_rule::refused},
    // Pushes answer them.
    {"subscribe", "", lane_rule::refused},
    {"psubscribe", "", lane_rule::refused},
    {"ssubscribe", "", lane_rule::refused},
    {"unsubscribe", "", lane_rule::refused},
    {"punsubscribe", "", lane_rule::refused},
    {"sunsubscribe", "", lane_rule::refused},
    {"script", "debug", lane_rule::refused},
    {"client", "no-evict", lane_rule::lasting},
    {"client", "no-touch", lane_rule::lasting},
    {"client", "setinfo", lane_rule::lasting},
};

constexpr std::int64_t endless = INT64_MAX;

/// Returns a time of `units` nanoseconds each, as a text; 0 and all that is no time: for ever.
std::int64_t time_of(std::string_view text, double units) noexcept {
  double number = 0;
  const std::from_chars_result read =
      std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (!is_whole || !(number > 0)) return endless;
  constexpr double most = 9e18;
  return number * units < most ? static_cast<std::int64_t>(number * units) + 1 : endless;
}

}  // namespace

lane_rule lane_rule_of(const arguments& command, bool is_whole) noexcept {
  const command_facts facts = facts_of(command);
  if (!facts.needs_lane()) return lane_rule::allowed;
  if (facts.is_relayed_only()) return lane_rule::refused;
  // Within EXEC it would cut the array of replies.
  if (is_whole && is_command(command, "client", "reply")) return lane_rule::refused;
  for (const rule_row& row : rule_rows) {
    if (is_command(command, row.name, row.sub)) return row.rule;
  }
  return lane_rule::allowed;
}

std::int64_t blocking_time(const arguments& command) noexcept {
  if (!facts_of(command).is_blocking()) return 0;
  constexpr double second = 1e9;
  constexpr double millisecond = 1e6;
  const std::string_view name = command[0];
  if (is_word(name, "xread") || is_word(name, "xreadgroup")) {
    const std::size_t time = detail::find_block(command) + 1;
    return time < command.size() ? time_of(command[time], millisecond) : endless;
  }
  if (command.size() < 2) return endless;
  if (is_word(name, "blmpop") || is_word(name, "bzmpop")) return time_of(command[1], second);
  const bool is_wait = is_word(name, "wait") || is_word(name, "waitaof");
  return time_of(command[command.size() - 1], is_wait ? millisecond : second);
}

bool reply_mode::take(const arguments& command) noexcept {
  was_silent_ = !is_answered(command);
  return !was_silent_;
}

/// Returns whether a command is answered, and takes its effect on the next ones.
bool reply_mode::is_answered(const arguments& command) noexcept {
  const mode before = mode_;
  if (mode_ == mode::skip) mode_ = mode::on;
  if (command.size() != 3 || !is_command(command, "client", "reply")) return before == mode::on;
  if (is_word(command, 2, "on")) {
    mode_ = mode::on;
    return true;
  }
  if (is_word(command, 2, "off")) {
    mode_ = mode::off;
  } else if (!is_word(command, 2, "skip")) {
    return before == mode::on;  // an error
  } else if (mode_ != mode::off) {
    mode_ = mode::skip;
  }
  return false;
}

}  // namespace beck::redis::detail
