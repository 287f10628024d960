// SPDX-License-Identifier: BSL-1.0
// memory_server in simulated worlds: times that pass without waiting, and counters that agree
// with the replies that clients got, on a network with faults.
#include <beck/redis/memory_server.hpp>

#include <beck/io/read_write.hpp>
#include <beck/testing/sim.hpp>

#include <chrono>
#include <string>

#include "redis/memory_peers.hpp"
#include "support/report.hpp"

using namespace beck::redis::test;
using namespace std::chrono_literals;
using beck::redis::memory_server;
namespace ip = beck::ip;
namespace sim = beck::testing::sim;

namespace {

/// A server and clients on hosts of their own.
struct memory_world {
  explicit memory_world(std::uint64_t seed = 1, sim::settings how = sim::settings().calm())
      : world(seed, how), back(world.host("redis")), front(world.host("app")), server(back, 6379) {}

  memory_client& start(std::string_view lines) {
    memory_client& made = clients.emplace_back(front);
    co_spawn(front, made.converse(at(), wires(lines)), beck::detached);
    world.run_for(1ms);
    return made;
  }
  void send(memory_client& from, std::string_view lines) {
    auto sent = std::make_shared<std::string>(wires(lines));
    async_write(from.socket, beck::buffer(*sent), [sent](beck::error_code, std::size_t) {});
    world.run_for(1ms);
  }
  static ip::tcp::endpoint at() { return {ip::make_address("10.0.0.1"), 6379}; }

  sim::world world;
  beck::io_context back, front;
  memory_server server;
  std::deque<memory_client> clients;
};

/// The replies that the clients of a counter got.
struct tally {
  long long answered = 0;
  long long sent = 0;
};

/// Increments a counter on one connection until that is lost. Notes the largest answer.
beck::task<> count(beck::io_context& ctx, int times, tally& all, bool& in_order) {
  ip::tcp::socket socket(ctx);
  auto connected = co_await socket.async_connect(memory_world::at());
  if (connected.error()) co_return;
  const std::string command = wire("INCR n");
  long long last = 0;
  for (int i = 0; i < times; ++i) {
    ++all.sent;
    const beck::const_buffer bytes(command.data(), command.size());
    auto sent = co_await beck::async_write(socket, bytes);
    if (sent.error()) co_return;
    std::string reply;
    char next = 0;
    while (next != '\n') {
      const beck::mutable_buffer to(&next, 1);
      auto got = co_await socket.async_read_some(to);
      if (got.error()) co_return;
      reply += next;
    }
    ++all.answered;
    const long long value = std::stoll(reply.substr(1));
    in_order = in_order && value > last;
    last = value;
  }
}

/// Runs counters in a world with faults. Returns the fault, if any.
std::string run_counters(std::uint64_t seed, std::uint64_t& hash) {
  sim::world world(seed, sim::settings().with(sim::faults()));
  beck::io_context back(world.host("redis"));
  beck::io_context front(world.host("app"));
  memory_server server(back, 6379);
  if (seed % 2 == 0) server.cut_after(40);
  tally all;
  bool in_order = true;
  for (int i = 0; i < 10; ++i) co_spawn(front, count(front, 20, all, in_order), beck::detached);
  world.run_for(1min);
  hash = world.hash();
  const long long counted = server.integer("n");
  if (!in_order) return "a counter went back";
  if (counted < all.answered || counted > all.sent) return "counted wrongly";
  if (seed % 2 == 0 && all.answered == 200) return "nothing was cut";
  return "";
}

}  // namespace

TEST_CASE("memory_server in a world: keys expire when their time has passed, not before") {
  memory_world w;
  memory_client& one =
      w.start("SET a 1 EX 10|SET b 2 PX 1500|SET c 3|EXPIRE c 20|TTL a|PTTL none|");
  CHECK(one.received == "+OK|+OK|+OK|:1|:10|:-2|");
  w.world.run_for(1400ms);
  CHECK(w.server.exists("b"));
  w.world.run_for(200ms);
  CHECK(!w.server.exists("b"));
  w.send(one, "GET b|TTL a|TTL c|");
  CHECK(one.received.ends_with("$-1|:8|:18|"));
  w.send(one, "PERSIST c|");
  w.world.run_for(30s);
  CHECK(!w.server.exists("a"));
  CHECK(w.server.text("c") == "3");
  w.send(one, "DBSIZE|KEYS *|SCAN 0|");
  CHECK(one.received.ends_with(":1|*1|$1|c|*2|$1|0|*1|$1|c|"));
}

TEST_CASE("memory_server in a world: a watched key that expires refuses the transaction") {
  memory_world w;
  memory_client& one = w.start("SET a 1 EX 10|WATCH a|MULTI|SET b 1|");
  w.world.run_for(9s);
  w.send(one, "EXEC|WATCH a|MULTI|SET b 2|");
  CHECK(one.received.ends_with("*1|+OK|+OK|+OK|+QUEUED|"));
  w.world.run_for(2s);
  w.send(one, "EXEC|WATCH a|MULTI|EXEC|");
  CHECK(one.received.ends_with("*-1|+OK|+OK|*0|"));
  CHECK(w.server.text("b") == "1");
}

TEST_CASE("memory_server in a world: a blocking pop ends at its timeout, not before") {
  memory_world w;
  memory_client& late = w.start("BLPOP q 5|ECHO next|");
  memory_client& soon = w.start("BLPOP q 2.5|");
  memory_client& ever = w.start("BRPOP q 0|");
  w.world.run_for(2400ms);
  CHECK(soon.received == "");
  w.world.run_for(200ms);
  CHECK(soon.received == "*-1|");
  CHECK(late.received == "");
  w.world.run_for(2300ms);
  CHECK(late.received == "");
  w.world.run_for(200ms);
  CHECK(late.received == "*-1|$4|next|");
  w.world.run_for(1h);
  CHECK(ever.received == "");
  w.start("RPUSH q x|");
  CHECK(ever.received == "*2|$1|q|$1|x|");
}

TEST_CASE("memory_server in a world: time and dates follow the clock of its host") {
  memory_world w;
  w.world.host("redis").set_date(beck::system_time_point(beck::duration(1'700'000'000s)));
  memory_client& one = w.start("TIME|SET a 1 EXAT 1700000100|TTL a|");
  CHECK(one.received.starts_with("*2|$10|1700000000|$"));
  CHECK(one.received.ends_with("|+OK|:100|"));
  w.world.run_for(98s);
  CHECK(w.server.exists("a"));
  w.world.run_for(3s);
  CHECK(!w.server.exists("a"));
}

TEST_CASE("memory_server in a world: SCAN returns each key that stays, while others come and go") {
  memory_world w;
  std::string lines;
  for (int i = 0; i < 50; ++i)
    lines += "SET stays" + std::to_string(i) + " v|SET goes" + std::to_string(i) + " v|";
  memory_client& one = w.start(lines);
  std::string cursor = "0", found;
  int calls = 0;
  do {
    const std::size_t before = one.received.size();
    w.send(one, "SCAN " + cursor + " COUNT 7|DEL goes" + std::to_string(calls) + "|SET new" +
                    std::to_string(calls) + " v|");
    const std::string got = one.received.substr(before);
    const std::size_t first = got.find('|', 3) + 1;  // behind "*2|$n|"
    cursor = got.substr(first, got.find('|', first) - first);
    found += got;
    ++calls;
  } while (cursor != "0" && calls < 100);
  CHECK(calls > 10);
  CHECK(calls < 40);
  for (int i = 0; i < 50; ++i)
    CHECK(found.find("|stays" + std::to_string(i) + "|") != std::string::npos);
}

TEST_CASE("memory_server in a world: counters agree with the answers under faults") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    std::uint64_t hash = 0;
    CHECK(run_counters(seed, hash) == "");
    if (seed > 20) continue;
    std::uint64_t again = 0;
    run_counters(seed, again);
    CHECK(hash == again);
  }
}
