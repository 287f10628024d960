// SPDX-License-Identifier: BSL-1.0
// A cluster whose nodes are lost, refuse the client or cannot be reached, and the ends of calls, of
// the client and of the context.
#include <beck/redis/cluster.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/redis/memory_server.hpp>

#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "redis/cluster_site.hpp"
#include "redis/ending.hpp"

using namespace beck::redis::test;

namespace {

/// Makes the map known.
void warm_up(cluster_site& s) {
  for (int node = 0; node < 3; ++node) {
    ending e;
    begin(s.many->exec<long>("EXISTS", s.key(node)), e);
    REQUIRE(s.run_until([&] { return e.is_over; }));
    CHECK(!e.ec);
  }
}

/// Runs until all that was begun is sent: until a command of the same turn to another node is
/// answered.
void run_until_sent(cluster_site& s, int other_node = 0) {
  ending e;
  begin(s.many->exec<long>("EXISTS", s.key(other_node)), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
}

/// Three nodes in a context that may end before them.
std::vector<std::unique_ptr<node_server>> three_nodes(beck::io_context& ctx, cluster_truth& truth) {
  const beck::ip::tcp::endpoint any(beck::ip::make_address("127.0.0.1"), 0);
  std::vector<std::unique_ptr<node_server>> nodes;
  for (int i = 0; i < 3; ++i) nodes.push_back(std::make_unique<node_server>(ctx, truth, any));
  return nodes;
}

}  // namespace

CONFORMANCE("redis cluster: a dead node's commands go to where the map says then") {
  cluster_site s;
  warm_up(s);
  const std::string key = s.key(1);
  s.nodes[1]->kill();
  ending read;
  begin(s.many->exec<long>("EXISTS", key), read);
  REQUIRE(s.run_until([&] { return s.many->stats().resent > 0; }));
  ending write;  // no connection can take it
  begin(s.many->exec<long>("INCR", key), write);
  const auto resent = s.many->stats().resent;
  REQUIRE(s.run_until([&] { return s.many->stats().resent > resent + 1; }));
  CHECK_FALSE(write.is_over);
  s.truth.fail_over(1, 4);
  s.truth.replica_of.clear();
  REQUIRE(s.run_until([&] { return write.is_over && read.is_over; }));
  CHECK(!read.ec);
  CHECK(write.value == 1);
  CHECK(s.truth.log.back().substr(0, 2) == "4:");
}

CONFORMANCE("redis cluster: a command that may have run is sent again only if that is harmless") {
  cluster_site s;
  warm_up(s);
  const std::string key = s.key(2);
  s.nodes[2]->pause();
  ending write;
  ending again;
  ending read;
  begin(s.many->exec<long>("INCR", key), write);
  begin(s.many->exec<long>("INCR", key).retryable(), again);
  begin(s.many->exec<long>("EXISTS", key), read);
  run_until_sent(s);
  s.nodes[2]->cut();
  s.nodes[2]->resume();
  REQUIRE(s.run_until([&] { return write.is_over && again.is_over && read.is_over; }));
  CHECK(write.ec);
  CHECK(write.what == outcome::maybe_executed);
  CHECK(again.value == 1);
  CHECK(!read.ec);
  CHECK(s.truth.number(key) == 1);
}

CONFORMANCE("redis cluster: what may have run is reported so, although it was not sent again") {
  cluster_site s({.connections = {.hold_timeout = 300ms}});
  warm_up(s);
  const std::string key = s.key(2);
  s.nodes[2]->pause();
  ending lost;
  begin(s.many->exec<long>("INCR", key).retryable(), lost);
  run_until_sent(s);
  s.nodes[2]->kill();  // nothing takes its place
  REQUIRE(s.run_until([&] { return lost.is_over; }));
  CHECK(lost.ec);
  CHECK(lost.what == outcome::maybe_executed);
  // The same with a refusal behind the loss.
  s.nodes[1]->pause();
  ending refused;
  begin(s.many->exec<long>("INCR", s.key(1)).retryable(), refused);
  run_until_sent(s);
  s.truth.refusals["INCR"] = {"TRYAGAIN x", 1'000'000};
  s.nodes[1]->cut();
  s.nodes[1]->resume();
  REQUIRE(s.run_until([&] { return s.many->stats().refused > 0; }));
  s.many->close();
  REQUIRE(s.run_until([&] { return refused.is_over; }));
  CHECK(refused.ec == beck::error::operation_aborted);
  CHECK(refused.what == outcome::maybe_executed);
}

CONFORMANCE(
    "redis cluster: of two lost commands on a moving key the first is not sent behind the second") {
  cluster_site s;
  warm_up(s);
  const std::string key = s.key(0);
  s.truth.migrations[redis::key_slot(key)] = {1, {key}};
  s.nodes[1]->pause();
  redis::reply<long> read;
  redis::reply<long> write;
  bool is_over = false;
  s.many->exec(cmd<long>("EXISTS", key), cmd<long>("INCR", key))(
      [&](beck::error_code, redis::reply<std::tuple<redis::reply<long>, redis::reply<long>>> all) {
        read = std::move(std::get<0>(*all));
        write = std::move(std::get<1>(*all));
        is_over = true;
      });
  REQUIRE(s.run_until([&] { return s.many->stats().asked == 2; }));
  run_until_sent(s, 2);
  s.nodes[1]->cut();
  s.nodes[1]->resume();
  REQUIRE(s.run_until([&] { return is_over; }));
  CHECK(write.outcome() == outcome::maybe_executed);
  CHECK(read.outcome() == outcome::maybe_executed);
  CHECK(s.executed(1) == 1);  // of warm_up()
}

CONFORMANCE("redis cluster: a cancelled call ends at once, and leaves the others of its node") {
  cluster_site s;
  warm_up(s);
  s.nodes[0]->pause();
  ending other;
  begin(s.many->exec<long>("INCR", s.key(0)), other);
  s.run([](cluster_site& at) -> task<> {
    auto all = co_await beck::timeout(
        at.many->exec(cmd<long>("INCR", at.key(0)), cmd<long>("INCR", at.key(1))), 30ms);
    CHECK(all.error() == beck::error::timeout);
    CHECK(std::get<0>(*all).outcome() == outcome::maybe_executed);
    CHECK(*std::get<1>(*all) == 1);
  }(s));
  CHECK_FALSE(other.is_over);
  s.nodes[0]->resume();
  REQUIRE(s.run_until([&] { return other.is_over; }));
  CHECK(other.value == 1);
  CHECK(s.many->stats().calls == 0);
}

CONFORMANCE("redis cluster: the next seed is asked if one does not answer") {
  cluster_site s;
  s.nodes[0]->kill();
  s.many.emplace(s.ctx, "redis://" + s.truth.addresses[0] + "," + s.truth.addresses[5]);
  s.truth.fail_over(0, 3);
  s.truth.replica_of.erase(3);
  ending e;
  begin(s.many->exec<long>("INCR", s.key(3)), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.value == 1);
  CHECK(s.many->stats().maps == 1);
}

CONFORMANCE(
    "redis cluster: without any seed calls end with the reason, at hold_timeout or at once") {
  cluster_site s;
  for (const auto& one : s.nodes) one->kill();
  ending e;
  s.many.emplace(s.ctx, "redis://" + s.truth.addresses[0],
                 redis::cluster_options{.connections = {.hold_timeout = 300ms}});
  begin(s.many->exec<long>("INCR", "k"), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.ec == std::errc::connection_refused);
  CHECK(e.what == outcome::not_sent);
  e = ending();
  begin(s.many->exec<long>("EXISTS", s.key(0), s.key(1)), e);  // divided
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.what == outcome::not_sent);
  s.many.emplace(s.ctx, "redis://" + s.truth.addresses[0],
                 redis::cluster_options{.connections = {.fails_fast = true}});
  e = ending();
  begin(s.many->exec<long>("INCR", "k"), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.ec == std::errc::connection_refused);
}

CONFORMANCE("redis cluster: a map that is none ends the calls, with the reason") {
  cluster_site s;
  s.truth.map = "*1\r\n*3\r\n:0\r\n:99999\r\n*2\r\n$1\r\nh\r\n:1\r\n";
  s.run([](cluster_site& at) -> task<> {
    const auto r = co_await at.many->exec<long>("INCR", "k");
    CHECK(r.error() == redis::error::wrong_reply);
    CHECK(r.error_text().find("[0, 99999, [\"h\", 1]]") != std::string_view::npos);
    CHECK(r.outcome() == outcome::not_sent);
  }(s));
  // A server that is no cluster, and one that wants a password.
  const beck::ip::tcp::endpoint any(beck::ip::make_address("127.0.0.1"), 0);
  redis::memory_server plain(s.ctx, any);
  s.many.emplace(s.ctx, "redis://127.0.0.1:" + std::to_string(plain.port()));
  ending e;
  begin(s.many->exec<long>("INCR", "k"), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.ec == redis::error::err);
  redis::memory_server closed(s.ctx, any, {.password = "secret"});
  s.many.emplace(s.ctx, "redis://127.0.0.1:" + std::to_string(closed.port()));
  e = ending();
  begin(s.many->exec<long>("INCR", "k"), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.ec == redis::error::noauth);
  s.many->close();
  plain.close();
  closed.close();
}

CONFORMANCE("redis cluster: a map with a mistake leaves the one before in use") {
  cluster_site s;
  warm_up(s);
  const std::string key = s.key(0);
  s.truth.map = "*1\r\n:1\r\n";
  s.truth.moved[redis::key_slot(key)] = 1;
  for (int i = 1; i <= 3; ++i) {
    ending e;
    begin(s.many->exec<long>("INCR", key), e);
    REQUIRE(s.run_until([&] { return e.is_over; }));
    CHECK(e.value == i);
  }
  CHECK(s.many->stats().moved == 1);  // the slot was patched
  CHECK(s.many->stats().maps == 1);
}

CONFORMANCE("redis cluster: close() ends calls in every state, and later ones") {
  cluster_site s;
  ending without_map;
  begin(s.many->exec<long>("INCR", s.key(0)), without_map);
  s.many->close();
  REQUIRE(s.run_until([&] { return without_map.is_over; }));
  CHECK(without_map.ec == beck::error::operation_aborted);
  CHECK(without_map.what == outcome::not_sent);
  s.many.emplace(s.ctx, "redis://" + s.truth.addresses[0]);
  warm_up(s);
  s.truth.refusals["INCR"] = {"TRYAGAIN x", 1'000'000};
  s.nodes[1]->pause();
  ending sent;
  ending resting;
  begin(s.many->exec<long>("INCR", s.key(1)), sent);
  begin(s.many->exec<long>("INCR", s.key(0)), resting);
  REQUIRE(s.run_until([&] { return s.many->stats().refused > 0; }));
  s.many->close();
  REQUIRE(s.run_until([&] { return sent.is_over && resting.is_over; }));
  CHECK(sent.what == outcome::maybe_executed);
  CHECK(resting.what == outcome::not_sent);
  ending later;
  begin(s.many->exec<long>("INCR", "k"), later);
  REQUIRE(s.run_until([&] { return later.is_over; }));
  CHECK(later.ec == beck::error::operation_aborted);
  CHECK(s.many->stats().calls == 0);
}

CONFORMANCE("redis cluster: a context may be destroyed while calls are in every state") {
  for (int state = 0; state < 4; ++state) {
    auto alive = std::make_shared<int>(0);
    {
      beck::io_context ctx{::context_options()};
      cluster_truth truth;
      const auto nodes = three_nodes(ctx, truth);
      redis::cluster many(ctx, "redis://" + truth.addresses[0]);
      bool is_warm = false;
      const auto start = [&](const char* key, bool& flag) {
        many.exec(cmd<long>("INCR", key), cmd<long>("INCR", "other"), cmd<long>("DEL", "a", "b"))(
            [alive, &flag](beck::error_code, const auto&) { flag = true; });
      };
      if (state > 0) start("warm", is_warm);
      while (state > 0 && !is_warm) ctx.run_one();
      if (state == 2) truth.refusals["INCR"] = {"TRYAGAIN x", 1'000'000};
      for (const auto& one : nodes)
        if (state == 3) one->pause();
      bool is_over = false;
      start("key", is_over);
      while (state == 2 && many.stats().refused == 0) ctx.run_one();
      for (int i = 0; state == 3 && i < 20; ++i) ctx.poll();
      CHECK_FALSE(is_over);
      CHECK(alive.use_count() > 1);
    }
    CHECK(alive.use_count() == 1);
  }
}

CONFORMANCE(
    "redis cluster: handlers that own the cluster may drop it, in every state of its calls") {
  for (int state = 0; state < 4; ++state) {
    auto ctx = std::make_unique<beck::io_context>(context_options());
    cluster_truth truth;
    auto nodes = three_nodes(*ctx, truth);
    if (state == 1) truth.refusals["INCR"] = {"TRYAGAIN x", 1'000'000};  // all calls wait
    if (state == 2)
      for (const auto& one : nodes) one->pause();
    int ended = 0;
    auto many = std::make_shared<redis::cluster>(*ctx, "redis://" + truth.addresses[0]);
    const std::weak_ptr<redis::cluster> alive = many;
    for (int i = 0; i < 40; ++i) {
      many->exec(cmd<long>("INCR", "a" + std::to_string(i)), cmd<long>("DEL", "c", "d"))(
          [many, &ended](const beck::error_code&, const auto&) mutable {
            ++ended;
            many->exec<long>("INCR", "more")(beck::detached);
            many.reset();
          });
    }
    many.reset();
    while (state == 0 && ended < 40) ctx->run_one();
    for (int i = 0; (state == 1 || state == 2) && i < 100; ++i) ctx->poll();
    CHECK(ended == (state == 0 ? 40 : 0));
    nodes.clear();
    ctx.reset();
    CHECK(alive.expired());
  }
}
