// SPDX-License-Identifier: BSL-1.0
//
// The part of a client's talk that the proxy answers itself in front of a cluster: the state of the
// client's connection, and the words of refusals.
#pragma once

#include <beck/redis/arguments.hpp>
#include <beck/redis/reply_writer.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster_rules.hpp"
#include "statistics.hpp"

namespace beck_redis_proxy {

/// The state of a client that has no connection to a node. Thread: one at a time.
class cluster_dialogue {
 public:
  /// Makes that of a new client, with the number that CLIENT ID returns. Refers to `all`.
  cluster_dialogue(std::uint64_t number, const statistics& all) noexcept
      : all_(all), number_(number) {}

  /// Returns the version of the protocol that the client speaks.
  beck::redis::protocol version() const noexcept { return version_; }
  /// Returns whether the last command was refused.
  bool has_refused() const noexcept { return has_refused_; }
  /// Returns whether the client has said QUIT.
  bool has_ended() const noexcept { return has_ended_; }

  /// Answers a command whose way is `answer`. Returns the bytes, valid until the next call.
  /// Throws std::bad_alloc.
  std::string_view answer(const beck::redis::arguments& command);
  /// Refuses a command, with the reason of its way.
  std::string_view refuse(const beck::redis::arguments& command, cluster_way way);

 private:
  using arguments = beck::redis::arguments;

  void take(const arguments& command);
  void ping(const arguments& command);
  void hello(const arguments& command);
  void client(const arguments& command);
  void set_name(std::string_view name, bool is_answered);
  void refuse(const arguments& command, std::string_view reason, std::string_view kind = "ERR");
  void refuse_arity(const arguments& command);

  const statistics& all_;
  beck::redis::reply_writer to_;
  beck::redis::protocol version_ = beck::redis::protocol::resp2;
  std::string name_;  // of CLIENT SETNAME
  std::uint64_t number_;
  bool has_refused_ = false;
  bool has_ended_ = false;
};

/// Returns the name of a command for a message: at most 64 bytes, a container with its subcommand.
std::string shown_name(const beck::redis::arguments& command);

}  // namespace beck_redis_proxy
