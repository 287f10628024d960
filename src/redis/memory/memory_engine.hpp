// SPDX-License-Identifier: BSL-1.0
// The commands of a memory_server, without I/O: commands and times in, bytes for each connection
// out. It has the keys and the connections; its parts have the state that several of them share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beck/redis/arguments.hpp>
#include <beck/redis/memory_server.hpp>

#include "redis/memory/memory_audience.hpp"
#include "redis/memory/memory_peer.hpp"

namespace beck::redis::detail {

struct memory_call;
struct memory_found;
struct memory_row;

/// The time of a steady clock, and of the date.
struct memory_time {
  std::int64_t steady_ns = 0;
  std::int64_t date_ns = 0;
};

/// The address of the primary of a replica.
struct memory_primary {
  std::string host;  ///< empty: the server is a primary itself
  std::uint16_t port = 0;
};

/// All keys and connections. Thread: one at a time. Lifetime: outlives its peers.
class memory_engine {
 public:
  explicit memory_engine(std::string_view password);
  ~memory_engine();
  memory_engine(const memory_engine&) = delete;
  memory_engine& operator=(const memory_engine&) = delete;

  /// Adds a connection, with the next number.
  void join(memory_peer& peer);
  /// Removes a connection: its subscriptions, and the command that it waits in. Idempotent.
  void leave(memory_peer& peer);
  void set_time(memory_time now) noexcept;
  /// Runs a command. Requires a peer that has joined and does not wait.
  void execute(memory_peer& peer, const arguments& command);

  /// Refuses the next `times` commands of a name with an error.
  void fail_next(std::string_view name, std::string_view error, std::size_t times);
  /// Refuses commands that write, and names this primary; without a host: takes them again.
  void replicate(memory_primary from) noexcept { primary_ = static_cast<memory_primary&&>(from); }
  void on_command(command_hook hook) noexcept { hook_ = static_cast<command_hook&&>(hook); }
  std::uint64_t commands() const noexcept { return commands_; }

  const memory_time& now() const noexcept { return now_; }
  const std::string& password() const noexcept { return password_; }
  const memory_primary& primary() const noexcept { return primary_; }
  const memory_peers& peers() const noexcept { return peers_; }
  memory_store& store() noexcept { return store_; }
  memory_outbox& outbox() noexcept { return outbox_; }
  memory_channels& channels() noexcept { return channels_; }
  memory_waits& waits() noexcept { return waits_; }
  memory_caches& caches() noexcept { return caches_; }

  /// Runs the commands of the transaction of a peer, for its EXEC, which ends it.
  void execute_all(memory_call& exec);

 private:
  struct planned_failure {
    std::string name;
    std::string error;
    std::size_t left;
  };

  void run(memory_call& call, const memory_found& found);
  void call_row(memory_call& call, const memory_row& row);
  void refuse(memory_call& call, std::string_view error);
  bool refuse_by_state(memory_call& call, const memory_row& row);
  bool fail_as_planned(memory_call& call, std::string_view name);
  void note_changes(const memory_peer& by);

  memory_store store_;
  memory_peers peers_;
  memory_outbox outbox_;
  memory_channels channels_{outbox_};
  memory_waits waits_{outbox_};
  memory_caches caches_{outbox_};
  std::string password_;
  memory_primary primary_;
  memory_time now_;
  std::uint64_t commands_ = 0;
  long long last_id_ = 0;
  std::vector<planned_failure> failures_;
  command_hook hook_;
  reply_writer dropped_;  // replies that CLIENT REPLY has turned off
};

}  // namespace beck::redis::detail
