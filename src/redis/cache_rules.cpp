// SPDX-License-Identifier: BSL-1.0
// A server sends a message when a key that was read has changed, and only then. So the reply has to
// depend on keys that the command names, and on nothing else.
#include "redis/cache_rules.hpp"

#include <algorithm>
#include <iterator>

#include <beck/redis/command_table.hpp>

namespace beck::redis::detail {
namespace {

/// Commands that only read and name a key, in small letters: their replies change without it.
constexpr std::string_view unsteady[] = {
    "eval_ro",    "evalsha_ro",  "fcall_ro",     // scripts may read other keys, and the clock
    "hrandfield", "srandmember", "zrandmember",  // chance
    "hscan",      "sscan",       "zscan",        // steps of a walk
    "memory",     "object",                      // the server's own state
    "pttl",       "ttl",         "xpending",    "xinfo",  // ages
    "sort_ro",                                            // other keys, by patterns
    "touch",                                              // it is called for its effect
};
constexpr std::size_t name_bytes_max = 12;

}  // namespace

std::string_view why_not_cached(const arguments& command) noexcept {
  const command_facts facts = facts_of(command);
  if (!facts.is_known()) return "the table of commands does not have it";
  if (!facts.is_read_only()) return "it may write";
  if (facts.needs_lane()) return "it needs a lane";
  const std::string_view name = command[0];
  char small[name_bytes_max] = {};
  const std::size_t bytes = std::min(name.size(), name_bytes_max);
  for (std::size_t i = 0; i < bytes; ++i) {
    const char c = name[i];
    small[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  if (std::find(std::begin(unsteady), std::end(unsteady), std::string_view(small, bytes)) !=
      std::end(unsteady))
    return "its reply does not depend on the values of its keys alone";
  if (key_cursor keys(command); !keys.next()) return "it names no key";
  return {};
}

}  // namespace beck::redis::detail
