// SPDX-License-Identifier: BSL-1.0
//
// The command table of the library has nearly all of it.
#include "shared_rules.hpp"

#include <beck/redis/command_table.hpp>
#include <string_view>

#include "proxy_command.hpp"
#include "words.hpp"

namespace beck_redis_proxy {
namespace {

struct own_command {
  std::string_view name;
  std::string_view sub;  // empty: any
};

/// Commands that the table allows on any connection, but not on a shared one. Some are about the
/// client's own connection. The others must reach a server that is busy with a script, or pauses
/// writes for a failover, and it reads nothing more from a connection that waits for that.
constexpr own_command private_commands[] = {
    {"client", ""},        {"debug", ""},      {"failover", ""}, {"function", "kill"},
    {"function", "stats"}, {"script", "kill"}, {"shutdown", ""},
};

}  // namespace

bool may_be_answered(const beck::redis::arguments& command) noexcept {
  if (is_word(command[0], "select")) return command.size() == 2 && command[1] == "0";
  // The number of a connection is for CLIENT UNBLOCK and KILL, so it has to be true.
  if (is_word(command[0], "client")) return command.size() > 1 && !is_word(command[1], "id");
  return is_word(command[0], "hello") || is_word(command[0], "quit") || is_proxy_info(command);
}

move_reason reason_to_move(const beck::redis::arguments& command) noexcept {
  const beck::redis::command_facts facts = beck::redis::facts_of(command);
  if (!facts.is_known()) return move_reason::unknown;
  if (facts.needs_lane()) return move_reason::state;
  for (const own_command& own : private_commands) {
    if (!is_word(command[0], own.name)) continue;
    if (own.sub.empty()) return move_reason::state;
    if (command.size() > 1 && is_word(command[1], own.sub)) return move_reason::state;
  }
  return move_reason::none;
}

bool waits_for_replicas(const beck::redis::arguments& command) noexcept {
  return command.size() != 0 && (is_word(command[0], "wait") || is_word(command[0], "waitaof"));
}

}  // namespace beck_redis_proxy
