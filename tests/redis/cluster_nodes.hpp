// SPDX-License-Identifier: BSL-1.0
// Nodes of a cluster with one truth about slots and keys, for tests: they redirect, migrate slots,
// fail over and refuse as redis-server does. A few commands, and numbers as values.
#pragma once

#include <beck/redis/command_table.hpp>
#include <beck/redis/key_slot.hpp>
#include <beck/redis/reply_writer.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/names.hpp"
#include "redis/server_peer.hpp"

namespace beck::redis::test {

class node_server;

/// A slot on its way from its owner.
struct migration {
  int to = 0;
  std::set<std::string> moved;  ///< keys that are at the other node, or have been made there
};

/// The state that all nodes share.
struct cluster_truth {
  /// Returns the owner of a slot: the slots are divided evenly among the first `primaries` nodes,
  /// but for those that were moved.
  int owner(std::uint16_t slot) const {
    const auto at = moved.find(slot);
    int node = at != moved.end() ? at->second : slot * primaries / key_slots;
    for (auto heir = heirs.find(node); heir != heirs.end(); heir = heirs.find(node))
      node = heir->second;
    return node;
  }
  int owner_of(std::string_view key) const { return owner(key_slot(key)); }
  /// Ends a migration: the slot belongs to the other node.
  void finish(std::uint16_t slot) {
    moved[slot] = migrations[slot].to;
    migrations.erase(slot);
  }
  /// Moves everything of a node to another one.
  void fail_over(int from, int to) {
    heirs[from] = to;
    std::erase_if(migrations, [&](const auto& one) { return one.second.to == from; });
  }
  /// Returns the slots from which on the owner may be another one.
  std::set<int> borders() const {
    std::set<int> all;
    for (int node = 0; node < primaries; ++node)
      all.insert((node * key_slots + primaries - 1) / primaries);
    for (const auto& [slot, node] : moved) {
      all.insert(slot);
      if (slot + 1 < key_slots) all.insert(slot + 1);
    }
    return all;
  }
  long number(const std::string& key) const {
    const auto at = values.find(key);
    return at == values.end() ? 0 : at->second;
  }
  /// Returns the host and the port of a node, as servers show them.
  std::pair<std::string, std::string> place_of(int node) const {
    const std::string& at = addresses[static_cast<std::size_t>(node)];
    const std::size_t colon = at.rfind(':');
    return {nameless.contains(node) ? "?" : at.substr(0, colon), at.substr(colon + 1)};
  }

  int primaries = 3;
  std::vector<std::string> addresses;  ///< "10.0.0.1:7000"
  std::map<int, int> replica_of;       ///< node, its primary
  std::map<std::uint16_t, int> moved;
  std::map<int, int> heirs;  ///< of nodes that have failed over
  std::map<std::uint16_t, migration> migrations;
  std::map<std::string, long> values;  ///< of all nodes: a key is at one of them
  std::set<int> gone;                  ///< nodes that maps leave out
  std::set<int> nameless;              ///< nodes whose host maps and redirects show as "?"
  /// Command, or "node:COMMAND"; the error, and how often.
  std::map<std::string, std::pair<std::string, int>> refusals;
  std::map<std::string, std::string> lies;  ///< "node:COMMAND", the bytes instead of its reply
  std::string map;                          ///< the reply to CLUSTER SLOTS instead of the true one
  std::string password;                     ///< of all nodes, for the default user; empty: none
  bool redirects_on = false;                ///< every node says that another one has the key
  std::vector<std::string> log;             ///< "node:COMMAND key" of what was executed
};

/// A node. Thread: that of the context.
class node_server {
 public:
  node_server(io_context& ctx, cluster_truth& truth, const ip::tcp::endpoint& at)
      : ctx_(ctx), acceptor_(ctx), state_(std::make_shared<state>(truth)) {
    listen_at(acceptor_, at);
    state_->number = static_cast<int>(truth.addresses.size());
    truth.addresses.push_back(text_of(acceptor_.local_endpoint()));
    co_spawn(ctx_, accept(), detached);
  }
  ~node_server() { kill(); }

  int number() const { return state_->number; }
  /// Closes all connections.
  void cut() {
    for (const std::shared_ptr<peer>& one : std::exchange(peers_, {})) one->end();
  }
  /// Cuts the connections and accepts no further ones.
  void kill() {
    cut();
    acceptor_.close();
  }
  /// Executes nothing until resume().
  void pause() { state_->is_paused = true; }
  void resume() {
    state_->is_paused = false;
    for (const std::shared_ptr<peer>& one : peers_) execute(*one, *state_);
  }
  /// Executes one more command, and closes its connection without an answer.
  void cut_behind_next() { state_->cuts_next = true; }
  /// Calls a function before each command, which may be a fault.
  void on_command(std::function<void(const arguments&)> hook) { state_->hook = std::move(hook); }
  int connections() const { return connections_; }

 private:
  struct state {
    explicit state(cluster_truth& of) : truth(of) {}
    cluster_truth& truth;
    int number = 0;
    bool is_paused = false;
    bool cuts_next = false;
    std::function<void(const arguments&)> hook;
  };
  struct peer : server_peer {
    using server_peer::server_peer;
    std::vector<std::string> queued;  // of a transaction
    bool has_logged_in = false;
    bool in_transaction = false;
    bool is_refused = false;  // a command of the transaction
    bool is_asking = false;
    bool reads = false;
  };

  task<> accept() {
    io_context& ctx = ctx_;
    for (;;) {
      auto made = std::make_shared<peer>(ctx);
      made->version = protocol::resp2;  // up to HELLO
      auto accepted = co_await acceptor_.async_accept(made->socket);
      if (accepted.error()) co_return;
      made->socket.set_option(ip::tcp::no_delay(true));
      ++connections_;
      std::erase_if(peers_, [](const auto& one) { return one->is_over; });
      peers_.push_back(made);
      const auto execute_now = [p = made.get(), s = state_] { execute(*p, *s); };
      co_spawn(ctx, receive_commands(made, execute_now), detached);
      co_spawn(ctx, send_answers(made), detached);
    }
  }
  static void execute(peer& p, state& s) {
    p.execute(s.is_paused, [&](const arguments& command, reply_writer& to) {
      take(p, s, command, to);
      if (std::exchange(s.cuts_next, false)) p.end();
    });
  }
  static void take(peer& p, state& s, const arguments& command, reply_writer& to) {
    if (s.hook) s.hook(command);
    const std::string name(command[0]);
    const bool was_asking = p.is_asking;
    // It counts for one command, or up to EXEC.
    if (!p.in_transaction && name != "MULTI") p.is_asking = false;
    if (const std::string planned = planned_refusal(s, command); !planned.empty()) {
      p.is_refused = true;
      if (name == "EXEC") p.in_transaction = p.is_asking = false;
      to.error(planned);
    } else if (name == "HELLO") {
      greet(p, s, command, to);
    } else if (!p.has_logged_in && !s.truth.password.empty()) {
      to.error("NOAUTH Authentication required.");
    } else if (name == "CLUSTER") {
      write_map(s, to);
    } else if (name == "ASKING") {
      p.is_asking = true;
      to.simple("OK");
    } else if (name == "READONLY") {
      p.reads = true;
      to.simple("OK");
    } else if (name == "MULTI") {
      p.in_transaction = true;
      p.is_refused = false;
      p.queued.clear();
      to.simple("OK");
    } else if (name == "EXEC") {
      run_all(p, s, to);
    } else if (const std::string why =
                   refusal(p, s, keys_of(command), facts_of(command).is_read_only(), was_asking);
               !why.empty()) {
      p.is_refused = true;
      to.error(why);
    } else if (p.in_transaction) {
      p.queued.emplace_back(command.wire());
      if (p.queued.back().empty()) p.queued.back() = wire_of(command);
      to.simple("QUEUED");
    } else if (const auto lie = s.truth.lies.find(name_of(s, command)); lie != s.truth.lies.end()) {
      to.raw(lie->second);
    } else {
      run(s, command, to);
    }
  }
  static void greet(peer& p, const state& s, const arguments& command, reply_writer& to) {
    const std::string& password = s.truth.password;
    p.has_logged_in = password.empty() || (command.size() == 5 && command[4] == password);
    if (p.has_logged_in) {
      p.version = protocol::resp3;
      to.use(p.version);
      to.map(0);
    } else {
      to.error("WRONGPASS invalid username-password pair or user is disabled.");
    }
  }
  static std::string name_of(const state& s, const arguments& command) {
    return std::to_string(s.number) + ":" + std::string(command[0]);
  }
  static std::string wire_of(const arguments& command) {
    std::string wire = "*" + std::to_string(command.size()) + "\r\n";
    for (std::size_t i = 0; i < command.size(); ++i) {
      wire += "$" + std::to_string(command[i].size()) + "\r\n";
      wire += std::string(command[i]) + "\r\n";
    }
    return wire;
  }
  static void run_all(peer& p, state& s, reply_writer& to) {
    p.in_transaction = false;
    std::vector<std::string> keys;  // each once
    for (const std::string& one : p.queued)
      for (const std::string& key : keys_of(arguments(one)))
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    const bool was_asking = std::exchange(p.is_asking, false);
    if (const std::string why = refusal(p, s, keys, false, was_asking); !why.empty()) {
      to.error(why);
      return;
    }
    if (p.is_refused) {
      to.error("EXECABORT Transaction discarded because of previous errors.");
      return;
    }
    to.array(p.queued.size());
    for (const std::string& one : p.queued) run(s, arguments(one), to);
  }
  static void write_map(state& s, reply_writer& to) {
    cluster_truth& truth = s.truth;
    if (!truth.map.empty()) {
      to.raw(truth.map);
      return;
    }
    std::vector<std::pair<int, int>> ranges;  // first and last slot
    for (const int slot : truth.borders()) {
      if (!ranges.empty()) ranges.back().second = slot - 1;
      ranges.emplace_back(slot, key_slots - 1);
    }
    to.array(ranges.size());
    for (const auto& [first, last] : ranges) {
      std::vector<int> nodes = {truth.owner(static_cast<std::uint16_t>(first))};
      for (const auto& [replica, of] : truth.replica_of)
        if (of == nodes[0] && !truth.gone.contains(replica)) nodes.push_back(replica);
      to.array(2 + nodes.size()).integer(first).integer(last);
      for (const int one : nodes) {
        const auto [host, port] = truth.place_of(one);
        to.array(3).bulk(host).integer(std::stoi(port)).bulk("id" + std::to_string(one));
      }
    }
  }

  /// Returns the error of cluster_truth::refusals, which counts as used then; else nothing.
  static std::string planned_refusal(state& s, const arguments& command) {
    auto& plans = s.truth.refusals;
    auto plan = plans.find(name_of(s, command));
    if (plan == plans.end()) plan = plans.find(std::string(command[0]));
    if (plan == plans.end()) return {};
    const std::string error = plan->second.first;
    if (--plan->second.second == 0) plans.erase(plan);
    return error;
  }
  static std::vector<std::string> keys_of(const arguments& command) {
    std::vector<std::string> keys;
    for (key_cursor at(command); at.next();) keys.emplace_back(at.key());
    return keys;
  }
  /// Returns the error that a node answers with instead of executing a command, or a transaction,
  /// with these keys; else nothing.
  static std::string refusal(const peer& p, state& s, const std::vector<std::string>& keys,
                             bool only_reads, bool was_asking) {
    cluster_truth& truth = s.truth;
    if (keys.empty()) return {};
    const std::uint16_t slot = key_slot(keys[0]);
    for (const std::string& key : keys)
      if (key_slot(key) != slot) return "CROSSSLOT Keys in request don't hash to the same slot";
    const auto place_of = [&](int node) {
      const auto [host, port] = truth.place_of(node);
      return std::to_string(slot) + " " + host + ":" + port;
    };
    if (truth.redirects_on)
      return "MOVED " + place_of((s.number + 1) % static_cast<int>(truth.addresses.size()));
    const int owner = truth.owner(slot);
    const auto found = truth.migrations.find(slot);
    migration* const moving = found != truth.migrations.end() ? &found->second : nullptr;
    if (s.number == owner && moving == nullptr) return {};
    if (s.number == owner) {
      const auto gone = std::count_if(keys.begin(), keys.end(), [&](const std::string& key) {
        return moving->moved.contains(key) || !truth.values.contains(key);
      });
      if (gone == 0) return {};
      if (gone != static_cast<long>(keys.size())) return "TRYAGAIN Multiple keys request";
      return "ASK " + place_of(moving->to);
    }
    if (moving != nullptr && s.number == moving->to && was_asking) {
      for (const std::string& key : keys)
        if (keys.size() > 1 && !moving->moved.contains(key))
          return "TRYAGAIN Multiple keys request";
      // Only now queued ones are made there by EXEC.
      if (!p.in_transaction) moving->moved.insert(keys.begin(), keys.end());
      return {};
    }
    const auto primary = truth.replica_of.find(s.number);
    const bool is_replica = primary != truth.replica_of.end() && primary->second == owner;
    if (is_replica && p.reads && only_reads) return {};
    return "MOVED " + place_of(owner);
  }
  static void run(state& s, const arguments& command, reply_writer& to) {
    std::map<std::string, long>& values = s.truth.values;
    const std::string name(command[0]);
    const std::string key(command.size() > 1 ? command[1] : std::string_view());
    s.truth.log.push_back(name_of(s, command) + " " + key);
    if (name == "GET" || name == "MGET") {
      if (name == "MGET") to.array(command.size() - 1);
      for (std::size_t i = 1; i < command.size(); ++i) {
        const auto at = values.find(std::string(command[i]));
        if (at == values.end()) {
          to.null();
        } else {
          to.bulk(std::to_string(at->second));
        }
      }
    } else if (name == "SET" || name == "MSET") {
      for (std::size_t i = 1; i + 1 < command.size(); i += 2)
        values[std::string(command[i])] = std::stol(std::string(command[i + 1]));
      to.simple("OK");
    } else if (name == "INCR") {
      to.integer(++values[key]);
    } else if (name == "DEL" || name == "EXISTS") {
      long long count = 0;
      for (std::size_t i = 1; i < command.size(); ++i) {
        const std::string each(command[i]);
        count += name == "DEL" ? static_cast<long long>(values.erase(each))
                               : static_cast<long long>(values.contains(each));
      }
      to.integer(count);
    } else if (name == "ECHO") {
      to.bulk(key);
    } else if (name == "PING") {
      to.simple("PONG");
    } else {
      to.error("ERR unknown command '" + name + "'");
    }
  }

  io_context& ctx_;
  ip::tcp::acceptor acceptor_;
  std::shared_ptr<state> state_;
  std::vector<std::shared_ptr<peer>> peers_;
  int connections_ = 0;
};

}  // namespace beck::redis::test
