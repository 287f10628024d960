// SPDX-License-Identifier: BSL-1.0
// A relay in front of a server: it passes bytes on in pieces of random sizes, is silent, and closes
// connections at any byte.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/small_random.hpp"

namespace beck::redis::test {

class rough_relay {
 public:
  /// Listens on a free port for connections to the server at a UNIX socket.
  rough_relay(io_context& ctx, std::string path, std::uint64_t seed)
      : state_(std::make_shared<state>(ctx, std::move(path), seed)) {
    state_->acceptor.open(ip::tcp::v4());
    state_->acceptor.bind(ip::tcp::endpoint(ip::make_address("127.0.0.1"), 0));
    state_->acceptor.listen();
    co_spawn(ctx, accept(state_), detached);
  }
  ~rough_relay() {
    state_->acceptor.close();
    set_silent(false);
    cut();
  }
  rough_relay(const rough_relay&) = delete;
  rough_relay& operator=(const rough_relay&) = delete;

  int port() const { return state_->acceptor.local_endpoint().port(); }
  /// Returns how many connections have ended.
  long long ended() const { return state_->ended; }
  /// Closes all connections.
  void cut() {
    for (const std::shared_ptr<pair>& one : std::exchange(state_->pairs, {})) end(*state_, *one);
  }
  /// Closes each of the present connections when it has passed on so many further bytes.
  void cut_after(std::size_t bytes) {
    for (const std::shared_ptr<pair>& one : state_->pairs) one->left = bytes;
  }
  /// Passes nothing on, or goes on.
  void set_silent(bool on) {
    state_->is_silent = on;
    if (!on) state_->goes_on.set();
    if (on) state_->goes_on.reset();
  }

 private:
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  struct pair {
    explicit pair(io_context& ctx) : front(ctx), back(ctx) {}
    ip::tcp::socket front;
    local::stream_protocol::socket back;
    std::size_t left = no_limit;  // bytes until the end
    bool is_over = false;
  };
  struct state {
    state(io_context& of, std::string to, std::uint64_t seed)
        : ctx(of), acceptor(of), path(std::move(to)), random(seed) {}
    io_context& ctx;
    ip::tcp::acceptor acceptor;
    const std::string path;
    testing::small_random random;
    std::vector<std::shared_ptr<pair>> pairs;
    manual_reset_event goes_on;
    bool is_silent = false;
    long long ended = 0;
  };

  static void end(state& s, pair& one) {
    if (!std::exchange(one.is_over, true)) ++s.ended;
    one.front.close();
    one.back.close();
  }
  static task<> accept(std::shared_ptr<state> s) {
    for (;;) {
      auto made = std::make_shared<pair>(s->ctx);
      auto accepted = co_await s->acceptor.async_accept(made->front);
      if (accepted.error()) co_return;
      std::erase_if(s->pairs, [](const auto& one) { return one->is_over; });
      s->pairs.push_back(made);
      co_spawn(s->ctx, connect(s, made), detached);
    }
  }
  static task<> connect(std::shared_ptr<state> s, std::shared_ptr<pair> p) {
    const local::stream_protocol::endpoint server(s->path);
    auto connected = co_await p->back.async_connect(server);
    if (connected.error() || p->is_over) {
      end(*s, *p);
      co_return;
    }
    co_spawn(s->ctx, pump(s, p, p->front, p->back), detached);
    co_spawn(s->ctx, pump(s, p, p->back, p->front), detached);
  }
  template <class From, class To>
  static task<> pump(std::shared_ptr<state> s, std::shared_ptr<pair> p, From& from, To& to) {
    std::vector<char> part(16'384);
    while (!p->is_over) {
      const std::size_t most = s->random.chance(300) ? s->random.between(1, 64) : part.size();
      auto got = co_await from.async_read_some(buffer(part.data(), most));
      if (got.error()) break;
      while (s->is_silent && !p->is_over) beck::ignore(co_await s->goes_on.wait());
      const std::size_t bytes = std::min(got.value_, p->left);
      if (p->left != no_limit) p->left -= bytes;
      auto sent = co_await async_write(to, buffer(part.data(), bytes));
      if (sent.error() || p->left == 0) break;
    }
    end(*s, *p);
  }

  std::shared_ptr<state> state_;
};

}  // namespace beck::redis::test
