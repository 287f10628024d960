// SPDX-License-Identifier: BSL-1.0
// The memcached client of the examples in simulated worlds, against a server of a few lines: the
// replies go to their calls, whatever the network cuts and whichever call is cancelled.
#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <beck/beck.hpp>
#include <beck/testing/check.hpp>

#include "examples/memcached.hpp"
#include "support/scale.hpp"

namespace {

using beck::task;
using beck::ip::tcp;
namespace sim = beck::testing::sim;

/// A server that keeps values, and says what a test wants.
class store {
 public:
  explicit store(beck::io_context& on) : acceptor_(on, tcp::endpoint(tcp::v4(), 11211)) {
    beck::co_spawn(on, serve(*this), beck::detached);
  }

  std::string says;        ///< in place of the next reply
  bool is_silent = false;  ///< no reply any more
  int commands = 0;
  std::map<std::string, std::string> values;

  void stop() {
    acceptor_.close();
    if (peer_) peer_->close();
  }

 private:
  static task<> serve(store& self) {
    auto accepted = co_await self.acceptor_.async_accept();
    if (accepted.error()) co_return;
    tcp::socket socket = std::move(accepted).value();
    self.peer_ = &socket;
    std::string input;
    for (;;) {
      const auto line =
          co_await beck::async_read_until(socket, beck::dynamic_buffer(input, 10'000'000), "\r\n");
      if (line.error()) break;
      std::string command = input.substr(0, *line - 2);
      input.erase(0, *line);
      std::string value;
      if (command.starts_with("set ")) {
        const std::size_t bytes = std::stoul(command.substr(command.rfind(' ') + 1)) + 2;
        if (input.size() < bytes) {
          const auto more =
              co_await beck::async_read(socket, beck::dynamic_buffer(input, 10'000'000),
                                        beck::transfer_exactly(bytes - input.size()));
          if (more.error()) break;
        }
        value = input.substr(0, bytes - 2);
        input.erase(0, bytes);
      }
      ++self.commands;
      const std::string reply = self.answer(std::move(command), std::move(value));
      const auto sent = co_await beck::async_write(socket, beck::buffer(reply));
      if (sent.error()) break;
    }
    self.peer_ = nullptr;
  }

  std::string answer(std::string command, std::string value) {
    if (is_silent) return {};
    if (!says.empty()) return std::exchange(says, {});
    const std::string verb = command.substr(0, command.find(' '));
    const std::string rest = command.substr(verb.size() + 1);
    const std::string key = rest.substr(0, rest.find(' '));
    if (verb == "set") {
      values[key] = std::move(value);
      return "STORED\r\n";
    }
    if (verb == "delete") return values.erase(key) != 0 ? "DELETED\r\n" : "NOT_FOUND\r\n";
    const auto found = values.find(key);
    if (found == values.end()) return "END\r\n";
    return "VALUE " + key + " 0 " + std::to_string(found->second.size()) + "\r\n" + found->second +
           "\r\nEND\r\n";
  }

  tcp::acceptor acceptor_;
  tcp::socket* peer_ = nullptr;
};

/// A server, and a client on another host.
struct site {
  explicit site(sim::world& world) : near(world.host("server")), far(world.host("client")) {}

  /// Connects, awaits `body`, and closes both.
  template <class Body>
  static task<> connect(site& s, memcached::options how, Body body) {
    auto made = co_await memcached::client::connect(s.far.get_executor(), "10.0.0.1", 11211, how);
    sim::require(!made.error(), "there is no connection");
    s.client = std::move(made).value();
    co_await body();
    s.client.close();
    s.server.stop();
    s.has_ended = true;
  }

  /// Runs `body`, a coroutine, on the client's host, up to its end.
  template <class Body>
  void run(sim::world& world, Body body, memcached::options how = {}) {
    beck::co_spawn(far, connect(*this, how, std::move(body)), beck::detached);
    world.run();
    sim::require(has_ended, "a call has not ended");
  }

  beck::io_context near;
  beck::io_context far;
  store server{near};
  memcached::client client;
  bool has_ended = false;
};

/// A caller with a key of its own: it knows what is stored, unless a change was cancelled.
task<> call(sim::world& world, site& s, std::string key, long& compared) {
  std::string stored;
  bool is_known = true;
  bool is_stored = false;
  for (int i = 0; i < 12; ++i) {
    const auto limit = beck::duration(static_cast<long long>(world.random().below(2'000'000)));
    const bool is_limited = world.random().chance(0.2);
    memcached::reply got;
    const auto within = [&](task<memcached::reply> one) -> task<> {
      if (is_limited) {
        auto done = co_await beck::timeout(std::move(one), limit);
        got.ec = done.error();
        if (!got.ec) got = std::move(done).value();
      } else {
        got = co_await std::move(one);
      }
    };
    const std::uint64_t what = world.random().below(5);
    if (what < 2) {
      const std::string next(world.random().below(20'000), static_cast<char>('a' + i));
      co_await within(s.client.set(key, next));
      is_known = !got.ec;
      is_stored = true;
      stored = next;
    } else if (what == 2) {
      co_await within(s.client.erase(key));
      if (!got.ec && is_known) sim::require(got.is_done == is_stored, "a false reply to delete");
      is_known = !got.ec;
      is_stored = false;
    } else {
      co_await within(s.client.get(key));
      if (got.ec || !is_known) continue;
      sim::require(got.is_done == is_stored, "a value is missing, or was deleted");
      sim::require(!is_stored || got.text == stored, "another value");
      ++compared;
    }
  }
}

task<> call_once(memcached::client& client) { beck::ignore(co_await client.get("key")); }

void check(int worlds, void (*program)(sim::world& world)) {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(worlds));
  CHECK(sim::check(sim::check_options{.seeds = wanted}, program).passed);
}

}  // namespace

TEST_CASE("memcached: in 200 schedules each call gets its reply, also beside cancelled ones") {
  check(200, [](sim::world& world) {
    memcached::options how;
    how.calls_max = 1 + world.random().below(8);
    site s(world);
    long compared = 0;
    const auto callers = [&]() -> task<> {
      auto spawn_all = [&](beck::task_group& group) -> task<> {
        for (int i = 0; i < 6; ++i)
          group.spawn(call(world, s, "key" + std::to_string(i), compared));
        co_return;
      };
      co_await beck::task_group::run(spawn_all);
    };
    s.run(world, callers, how);
    sim::require(compared > 0, "no value was compared");
  });
}

TEST_CASE("memcached: a server that is silent for too long ends all calls with timeout") {
  check(20, [](sim::world& world) {
    site s(world);
    s.server.is_silent = true;
    const auto ask = [&]() -> task<> {
      const memcached::reply got = co_await s.client.get("key");
      sim::require(got.ec == beck::error::timeout, "another error: " + got.ec.message());
      const memcached::reply later = co_await s.client.get("key");
      sim::require(later.ec == beck::error::timeout, "a call behind the end waits");
    };
    s.run(world, ask);
  });
}

TEST_CASE("memcached: a reply that is none ends the connection; a refused command does not") {
  check(20, [](sim::world& world) {
    site s(world);
    const auto ask = [&]() -> task<> {
      s.server.says = "SERVER_ERROR object too large for cache\r\n";
      const memcached::reply refused = co_await s.client.set("key", "value");
      sim::require(refused.ec == std::errc::protocol_error, "it was stored");
      sim::require(refused.text == "SERVER_ERROR object too large for cache", "no sentence");
      const memcached::reply absent = co_await s.client.get("key");
      sim::require(!absent.ec && !absent.is_done, "the value of a refused command");
      s.server.says = "VALUE key 0 twelve\r\n";
      const memcached::reply none = co_await s.client.get("key");
      sim::require(none.ec == std::errc::protocol_error, "it was taken for a reply");
      const int sent = s.server.commands;
      const memcached::reply later = co_await s.client.get("key");
      sim::require(later.ec == std::errc::protocol_error, "another error behind the end");
      sim::require(s.server.commands == sent, "a command behind the end");
    };
    s.run(world, ask);
  });
}

TEST_CASE("memcached: a context may be destroyed during a call") {
  for (const bool ends_client : {false, true}) {
    sim::world world(1);
    beck::io_context near(world.host("server"));
    store server(near);
    server.is_silent = true;
    {
      beck::io_context far(world.host("client"));
      const auto ask = [&]() -> task<> {
        auto made = co_await memcached::client::connect(far.get_executor(), "10.0.0.1", 11211,
                                                        memcached::options());
        sim::require(!made.error(), "there is no connection");
        memcached::client client = std::move(made).value();
        beck::co_spawn(far, call_once(client), beck::detached);
        if (ends_client) beck::ignore(co_await client.get("other"));
        co_await call_once(client);
      };
      beck::co_spawn(far, ask(), beck::detached);
      world.run_for(std::chrono::seconds(1));
    }
    server.stop();
    world.run();
    CHECK(server.commands >= 2);
  }
}

TEST_CASE("memcached: keys that the protocol cannot carry are refused before they are sent") {
  check(1, [](sim::world& world) {
    site s(world);
    const auto ask = [&]() -> task<> {
      const std::string keys[] = {"", "a key", "line\r\nflush_all", std::string(251, 'k')};
      for (const std::string& key : keys) {
        const memcached::reply got = co_await s.client.get(key);
        sim::require(got.ec == std::errc::invalid_argument, "it was sent: " + key);
      }
      const memcached::reply longest = co_await s.client.get(std::string_view(keys[3]).substr(1));
      sim::require(!longest.ec, "the longest key is refused");
      sim::require(s.server.commands == 1, "a key was sent");
    };
    s.run(world, ask);
  });
}
