// SPDX-License-Identifier: BSL-1.0
// The commands of a memory_server, without I/O: commands and times in, bytes for each connection
// out. Its state is that of several connections: channels, blocked clients, caches, faults.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <beck/redis/arguments.hpp>
#include <beck/redis/memory_server.hpp>

#include "redis/memory/memory_peer.hpp"

namespace beck::redis::detail {

struct memory_call;
struct memory_found;
struct memory_row;

/// All keys and connections. Thread: one at a time. Lifetime: outlives its peers.
class memory_engine {
 public:
  explicit memory_engine(std::string_view password);
  ~memory_engine();
  memory_engine(const memory_engine&) = delete;
  memory_engine& operator=(const memory_engine&) = delete;

  /// Adds a connection, with the next number.
  void join(memory_peer& peer);
  /// Removes a connection: its subscriptions, and the command that it waits in.
  void leave(memory_peer& peer);
  /// Sets the time: of a steady clock, and of the date.
  void set_time(std::int64_t steady_ns, std::int64_t date_ns) noexcept;
  /// Runs a command. Requires a peer that does not wait.
  void execute(memory_peer& peer, const arguments& command);
  /// Ends the waits that are over, each with a null.
  void end_late_waits();
  /// Returns when the first wait is over; memory_wait::never if none will be.
  std::int64_t next_deadline() const noexcept;
  /// Returns the peers that have got something to send, or no longer wait, since the last call.
  std::vector<memory_peer*> take_noted();

  /// Refuses the next `times` commands of a name with an error.
  void fail_next(std::string_view name, std::string_view error, std::size_t times);
  /// Refuses commands that write, and names this primary; an empty host: takes them again.
  void replicate(std::string_view host, std::uint16_t port) {
    primary_host_ = host;
    primary_port_ = port;
  }
  void on_command(command_hook hook) noexcept { hook_ = static_cast<command_hook&&>(hook); }
  std::uint64_t commands() const noexcept { return commands_; }

  // For commands.
  memory_store& store() noexcept { return store_; }
  std::int64_t now_ns() const noexcept { return now_ns_; }
  std::int64_t date_ns() const noexcept { return date_ns_; }
  const std::string& password() const noexcept { return password_; }
  /// Returns the host of the primary; empty: this is one.
  const std::string& primary_host() const noexcept { return primary_host_; }
  std::uint16_t primary_port() const noexcept { return primary_port_; }
  std::size_t peers() const noexcept { return peers_.size(); }
  memory_peer* find_peer(long long id) noexcept;
  /// Runs the commands of a transaction.
  void execute_all(memory_call& exec, const std::vector<std::string>& commands);
  /// Lets a peer wait. Requires that it is not in a transaction.
  void block(memory_peer& peer, memory_wait wait);
  /// Ends a wait; the reply has been written. Requires that the peer waits.
  void unblock(memory_peer& peer);
  void note(memory_peer& peer);

  /// Changes a subscription. Returns whether it was another one before.
  bool subscribe(memory_peer& peer, memory_topic kind, std::string_view name);
  bool unsubscribe(memory_peer& peer, memory_topic kind, std::string_view name);
  void unsubscribe_all(memory_peer& peer);
  /// Returns how many connections have subscribed to a name.
  std::size_t subscribers(memory_topic kind, std::string_view name) const;
  /// Sends a message. Returns how many have got it, by channels and by patterns.
  std::size_t publish(std::string_view channel, std::string_view payload);
  std::size_t publish_sharded(std::string_view channel, std::string_view payload);

  /// Tells all caches that all keys may have changed.
  void note_flush();
  void stop_tracking(memory_peer& peer);

 private:
  struct planned_failure {
    std::string name;
    std::string error;
    std::size_t left;
  };
  struct invalidation {
    memory_peer* to;
    std::string key;
    bool is_all;
  };
  using channel_list = std::map<std::string, std::vector<memory_peer*>, std::less<>>;

  void run(memory_call& call, const memory_found& found);
  void call_row(memory_call& call, const memory_row& row);
  void refuse(memory_call& call, std::string_view error);
  bool refuse_by_state(memory_call& call, const memory_row& row);
  bool fail_as_planned(memory_call& call, std::string_view name);
  void note_changes(const memory_peer& by);
  void settle();
  void serve(const memory_key& key);
  void remember_keys(const memory_call& call);
  void invalidate(std::string_view key, const memory_peer& by);
  void send_invalidations();
  void send_message(memory_peer& to, std::string_view kind, std::string_view pattern,
                    std::string_view channel, std::string_view payload);
  channel_list& channels(memory_topic kind) noexcept {
    return channels_[static_cast<std::size_t>(kind)];
  }

  memory_store store_;
  std::string password_;
  std::string primary_host_;
  std::uint16_t primary_port_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t date_ns_ = 0;
  std::uint64_t commands_ = 0;
  long long last_id_ = 0;
  std::map<long long, memory_peer*> peers_;
  std::list<memory_peer*> waiting_;  // in the order of their commands
  std::vector<memory_peer*> noted_;
  std::vector<memory_key> ready_;  // keys that may have elements for waiting peers
  channel_list channels_[memory_peer::topics];
  std::map<std::string, std::vector<memory_peer*>, std::less<>> readers_;  // of tracked keys
  std::vector<invalidation> invalidations_;
  std::vector<planned_failure> failures_;
  command_hook hook_;
  reply_writer dropped_;  // replies that CLIENT REPLY has turned off
};

}  // namespace beck::redis::detail
