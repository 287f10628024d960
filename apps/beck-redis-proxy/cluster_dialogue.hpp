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
#include <utility>

#include "client_identity.hpp"
#include "cluster_face.hpp"
#include "cluster_rules.hpp"
#include "cluster_scripts.hpp"
#include "statistics.hpp"

namespace beck_redis_proxy {

/// The state of a client that has no connection to a node. Thread: one at a time.
class cluster_dialogue {
 public:
  /// Makes that of a new client, with the number that CLIENT ID returns, at an address of the
  /// proxy. Refers to the others.
  cluster_dialogue(std::uint64_t number, cluster_face face, const statistics& all,
                   const cluster_scripts& scripts) noexcept
      : all_(all), scripts_(scripts), identity_(number), face_(std::move(face)) {}

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

  // MULTI is refused, and a client that sends a whole transaction in one go must not have its
  // commands run one by one

  /// Takes the next command, before it is answered, refused or sent.
  void note(const beck::redis::arguments& command) noexcept;
  /// Returns whether a MULTI was refused whose EXEC or DISCARD has not come.
  bool is_in_multi() const noexcept { return is_in_multi_; }
  /// Refuses a command that would be sent. Requires is_in_multi().
  std::string_view refuse_in_multi(const beck::redis::arguments& command);
  /// Takes that the client has the replies to all that it has sent. If MULTI was the last of that,
  /// its EXEC may never come: the next command that is refused for it ends the client.
  void note_pause() noexcept { is_multi_alone_ = is_in_multi_ && is_multi_last_; }

 private:
  using arguments = beck::redis::arguments;

  void take(const arguments& command);
  void ping(const arguments& command);
  void hello(const arguments& command);
  void info(const arguments& command);
  void refuse(const arguments& command, std::string_view reason, std::string_view kind = "ERR");
  void refuse_arity(const arguments& command);

  const statistics& all_;
  const cluster_scripts& scripts_;
  client_identity identity_;
  cluster_face face_;
  beck::redis::reply_writer to_;
  beck::redis::protocol version_ = beck::redis::protocol::resp2;
  bool has_refused_ = false;
  bool has_ended_ = false;
  bool is_in_multi_ = false;
  bool is_multi_last_ = false;  // of all commands
  bool is_multi_alone_ = false;
};

/// Returns the name of a command for a message: at most 64 bytes, a container with its subcommand.
std::string shown_name(const beck::redis::arguments& command);

}  // namespace beck_redis_proxy
