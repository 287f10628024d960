// SPDX-License-Identifier: BSL-1.0
//
// The scripts that clients have loaded in front of a cluster. A node knows the scripts that were
// sent to it alone, so the proxy keeps their texts, and sends the text where a node does not know
// the digest.
#pragma once

#include <beck/redis/arguments.hpp>
#include <beck/redis/reply_writer.hpp>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace beck_redis_proxy {

/// Texts by their digests. Thread: one at a time.
class cluster_scripts {
 public:
  /// Beyond these bounds the oldest texts make way; programs load them again, as behind a restart
  /// of a server.
  static constexpr std::size_t scripts_most = 1024;
  static constexpr std::size_t bytes_most = 16 * 1024 * 1024;

  /// Keeps a text under the digest that a node has returned. Throws std::bad_alloc.
  void add(std::string_view digest, std::string_view text);
  /// Returns the text of EVALSHA or EVALSHA_RO; nullptr if the command is another one, or the
  /// digest is not known. Valid until add().
  const std::string* text_of(const beck::redis::arguments& command) const;
  /// Answers SCRIPT EXISTS.
  void answer_exists(const beck::redis::arguments& command, beck::redis::reply_writer& to) const;

 private:
  const std::string* find(std::string_view digest) const;

  std::unordered_map<std::string, std::string> texts_;
  std::deque<std::string> order_;  // of the digests
  std::size_t bytes_ = 0;
};

/// Returns the digest in the reply to SCRIPT LOAD; empty if there is none.
std::string_view digest_of(std::string_view reply) noexcept;

/// Returns whether a command is SCRIPT with this subcommand.
bool is_script(const beck::redis::arguments& command, std::string_view sub) noexcept;

}  // namespace beck_redis_proxy
