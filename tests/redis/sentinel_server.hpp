// SPDX-License-Identifier: BSL-1.0
// A sentinel whose knowledge a test changes: it answers the questions of clients, and announces
// switches, or does not.
#pragma once

#include <beck/redis/reply_writer.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/names.hpp"
#include "redis/server_peer.hpp"

namespace beck::redis::test {

/// The name of the primary in all tests of sentinels.
inline constexpr std::string_view primary_name = "mymaster";

/// A sentinel. Thread: that of the context.
class sentinel_server {
 public:
  sentinel_server(io_context& ctx, const ip::tcp::endpoint& at)
      : ctx_(ctx), state_(std::make_shared<state>()) {
    open(at);
    at_ = acceptor_->local_endpoint();
  }
  ~sentinel_server() { kill(); }

  std::string address() const { return text_of(at_); }
  /// Sets the address of the primary, and the epoch of the configuration; announces nothing.
  void know(const std::string& address, long epoch) {
    state_->primary = address;
    state_->epoch = epoch;
  }
  /// Publishes a switch from one primary to another, which is known already.
  void announce(std::string_view from, std::string_view name = primary_name) {
    const std::string text = std::string(name) + " " + spaced(from) + " " + spaced(state_->primary);
    for (const std::shared_ptr<peer>& one : peers_) {
      if (!one->is_subscribed || one->is_over) continue;
      reply_writer to(protocol::resp3);
      to.push(3).bulk("message").bulk("+switch-master").bulk(text);
      one->send(to.bytes());
    }
  }
  void switch_to(const std::string& address, long epoch) {
    const std::string from = state_->primary;
    know(address, epoch);
    announce(from);
  }
  /// Answers every question with these bytes; empty: no more.
  void answer_with(std::string bytes) { state_->answer = std::move(bytes); }
  /// Refuses SENTINEL MASTER, as a user without permission for it.
  void hide_epoch() { state_->hides_epoch = true; }
  void require_login(std::string user, std::string password) {
    state_->login = {std::move(user), std::move(password)};
  }
  /// Closes all connections.
  void cut() {
    for (const std::shared_ptr<peer>& one : std::exchange(peers_, {})) one->end();
  }
  /// Cuts the connections and accepts no further ones.
  void kill() {
    cut();
    if (acceptor_) acceptor_->close();
    acceptor_.reset();
  }
  void revive() {
    if (!acceptor_) open(at_);
  }
  /// Answers nothing until resume().
  void pause() { state_->is_paused = true; }
  void resume() {
    state_->is_paused = false;
    for (const std::shared_ptr<peer>& one : peers_) execute(*one, *state_);
  }
  /// Returns how many questions for the address it has answered.
  int asked() const { return state_->asked; }
  /// Calls a function before a subscription is confirmed.
  void on_subscribe(std::function<void()> hook) { state_->on_subscribe = std::move(hook); }
  /// Returns how often it was asked whether it is there, as after 2 s of silence.
  int pings() const { return state_->pings; }
  /// Returns how many connections are open.
  int connections() const {
    return static_cast<int>(
        std::count_if(peers_.begin(), peers_.end(), [](const auto& one) { return !one->is_over; }));
  }
  /// Returns how many connections have subscribed.
  int subscribed() const { return state_->subscribed; }

 private:
  struct state {
    std::string primary;  // empty: the name is unknown
    long epoch = 0;
    std::string answer;
    std::pair<std::string, std::string> login;
    bool hides_epoch = false;
    bool is_paused = false;
    int asked = 0;
    int subscribed = 0;
    int pings = 0;
    std::function<void()> on_subscribe;
  };
  struct peer : server_peer {
    using server_peer::server_peer;
    bool has_logged_in = false;
    bool is_subscribed = false;
  };

  void open(const ip::tcp::endpoint& at) {
    acceptor_ = std::make_shared<ip::tcp::acceptor>(ctx_);
    listen_at(*acceptor_, at);
    co_spawn(ctx_, accept(acceptor_), detached);
  }
  static std::string spaced(std::string_view address) {
    std::string text(address);
    if (const std::size_t colon = text.rfind(':'); colon != text.npos) text[colon] = ' ';
    return text;
  }
  task<> accept(std::shared_ptr<ip::tcp::acceptor> from) {
    io_context& ctx = ctx_;
    for (;;) {
      auto made = std::make_shared<peer>(ctx);
      auto accepted = co_await from->async_accept(made->socket);
      if (accepted.error()) co_return;
      made->socket.set_option(ip::tcp::no_delay(true));
      std::erase_if(peers_, [](const auto& one) { return one->is_over; });
      peers_.push_back(made);
      const auto execute_now = [p = made.get(), s = state_] { execute(*p, *s); };
      co_spawn(ctx, receive_commands(made, execute_now), detached);
      co_spawn(ctx, send_answers(made), detached);
    }
  }
  static void execute(peer& p, state& s) {
    p.execute(s.is_paused,
              [&](const arguments& command, reply_writer& to) { take(p, s, command, to); });
  }
  static void take(peer& p, state& s, const arguments& command, reply_writer& to) {
    const std::string name(command[0]);
    const std::string below(command.size() > 1 ? command[1] : std::string_view());
    if (name == "HELLO") {
      if (command.size() == 5 && command[3] == s.login.first && command[4] == s.login.second)
        p.has_logged_in = true;
      if (!p.has_logged_in && command.size() == 5) {
        to.error("WRONGPASS invalid username-password pair or user is disabled.");
      } else if (!p.has_logged_in && !s.login.second.empty()) {
        to.error("NOAUTH HELLO must be called with the client already authenticated");
      } else {
        to.map(0);
      }
    } else if (!p.has_logged_in && !s.login.second.empty()) {
      to.error("NOAUTH Authentication required.");
    } else if (name == "PING" && command.size() > 1) {
      to.bulk(below);
    } else if (name == "PING") {
      ++s.pings;
      to.simple("PONG");
    } else if (name == "subscribe") {
      p.is_subscribed = true;
      ++s.subscribed;
      if (s.on_subscribe) s.on_subscribe();
      to.push(3).bulk("subscribe").bulk(below).integer(1);
    } else if (name == "SENTINEL" && below == "GET-MASTER-ADDR-BY-NAME") {
      write_address(s, command[2] == primary_name, to);
    } else if (name == "SENTINEL" && below == "MASTER") {
      write_facts(s, command[2] == primary_name, to);
    } else {
      to.error("ERR unknown command '" + name + "'");
    }
  }
  static void write_address(state& s, bool is_known, reply_writer& to) {
    ++s.asked;
    if (!s.answer.empty()) {
      to.raw(s.answer);
    } else if (!is_known || s.primary.empty()) {
      to.null();
    } else {
      const std::size_t colon = s.primary.rfind(':');
      to.array(2).bulk(s.primary.substr(0, colon)).bulk(s.primary.substr(colon + 1));
    }
  }
  static void write_facts(state& s, bool is_known, reply_writer& to) {
    if (s.hides_epoch) {
      to.error("NOPERM this user has no permissions to run the 'sentinel|master' command");
    } else if (!is_known || s.primary.empty()) {
      to.error("ERR No such master with that name");
    } else {
      to.map(3).bulk("name").bulk(primary_name).bulk("flags").bulk("master");
      to.bulk("config-epoch").bulk(std::to_string(s.epoch));
    }
  }

  io_context& ctx_;
  std::shared_ptr<ip::tcp::acceptor> acceptor_;
  std::shared_ptr<state> state_;
  std::vector<std::shared_ptr<peer>> peers_;
  ip::tcp::endpoint at_;
};

}  // namespace beck::redis::test
