// SPDX-License-Identifier: BSL-1.0
//
// Decides by the command table of the library, and by two lists of names.
#include "cluster_rules.hpp"

#include <algorithm>
#include <beck/redis/command_table.hpp>
#include <beck/redis/key_slot.hpp>

#include "cluster_face.hpp"
#include "cluster_scripts.hpp"
#include "proxy_command.hpp"
#include "words.hpp"

namespace beck_redis_proxy {
namespace {

using beck::redis::arguments;

/// Commands that the proxy answers, or refuses with a reason of its own; see cluster_dialogue.
constexpr std::string_view answered_commands[] = {"auth",   "client",   "echo",     "hello",
                                                  "info",   "ping",     "quit",     "reset",
                                                  "select", "readonly", "readwrite"};

/// Commands without keys that any node answers for the whole cluster.
constexpr std::string_view common_commands[] = {"command", "lolwut", "publish", "time"};

template <std::size_t N>
bool has(const std::string_view (&names)[N], std::string_view name) noexcept {
  return std::any_of(names, names + N, [&](std::string_view one) { return is_word(name, one); });
}

/// Returns how many of 0, 1 and several slots the keys of a command have.
int slots_of(beck::redis::key_cursor& keys) noexcept {
  int slots = 0;
  std::uint16_t first = 0;
  while (slots < 2 && keys.next()) {
    const std::uint16_t slot = beck::redis::key_slot(keys.key());
    if (slots == 0 || slot != first) ++slots;
    if (slots == 1) first = slot;
  }
  return slots;
}

}  // namespace

cluster_way way_of(const arguments& command) noexcept {
  const std::string_view name = command[0];
  if (has(answered_commands, name) || is_proxy_info(command)) return cluster_way::answer;
  if (is_about_face(command)) return cluster_way::answer;
  if (is_script(command, "exists") && command.size() > 2) return cluster_way::answer;
  if (is_script(command, "load") && command.size() == 3) return cluster_way::send;
  const beck::redis::command_facts facts = beck::redis::facts_of(command);
  if (!facts.is_known()) return cluster_way::keys;
  if (facts.is_blocking()) return cluster_way::blocks;
  if (facts.needs_lane()) return cluster_way::connection;
  beck::redis::key_cursor keys(command);
  const int slots = slots_of(keys);
  if (keys.is_malformed()) return cluster_way::send;  // any node answers with the error
  if (slots == 0) return has(common_commands, name) ? cluster_way::send : cluster_way::node;
  const bool is_divided = facts.split() != beck::redis::split_kind::none;
  return slots == 1 || is_divided ? cluster_way::send : cluster_way::slots;
}

std::string_view refusal_text(cluster_way way) noexcept {
  switch (way) {
    case cluster_way::connection:
      return "it needs a connection of its own";
    case cluster_way::blocks:
      return "it may block the connection that all clients share";
    case cluster_way::keys:
      return "the table of commands does not have it, so its keys are unknown";
    case cluster_way::node:
      return "it has no key, and each node would answer for itself alone";
    case cluster_way::slots:
      return "its keys are in several slots";
    case cluster_way::send:
    case cluster_way::answer:
      break;
  }
  return {};
}

}  // namespace beck_redis_proxy
