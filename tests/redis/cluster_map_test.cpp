// SPDX-License-Identifier: BSL-1.0
// The map of a cluster: which nodes are asked for it, nodes that it has no address of, and ends
// while it is asked for.
#include <beck/redis/cluster.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/redis/reply_writer.hpp>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "redis/cluster_site.hpp"
#include "redis/ending.hpp"
#include "redis/hand_server.hpp"

using namespace beck::redis::test;

namespace {

/// Returns the end of one INCR.
ending increment(cluster_site& s, const std::string& key) {
  ending e;
  begin(s.many->exec<long>("INCR", key), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  return e;
}

/// Counts the questions for the map that a node gets.
void count_questions(node_server& node, int& to) {
  node.on_command([&to](const redis::arguments& command) { to += command[0] == "CLUSTER"; });
}

task<> wait(cluster_site& s, beck::duration time) {
  beck::steady_timer timer(s.ctx, time);
  beck::ignore(co_await timer.async_wait());
}

}  // namespace

CONFORMANCE_ON(beck::test::sim, "redis cluster: a map is asked for again by a call after 60 s") {
  cluster_site s;
  for (int i = 1; i <= 5; ++i) {
    CHECK(increment(s, s.key(0)).value == i);
    s.run(wait(s, 10s));
  }
  CHECK(s.many->stats().maps == 1);
  s.run(wait(s, 11s));
  CHECK(s.many->stats().maps == 1);  // without a call there is no question
  increment(s, s.key(0));
  REQUIRE(s.run_until([&] { return s.many->stats().maps == 2; }));
}

CONFORMANCE("redis cluster: the node that redirects a command is asked for the map first") {
  cluster_site s;
  for (int node = 0; node < 3; ++node) increment(s, s.key(node));
  int wanted = 0;
  int questions = 0;
  for (const int node : {2, 0, 1}) {  // by turns they would be asked in another order
    const std::string key = s.key(node);
    const auto maps = s.many->stats().maps;
    count_questions(*s.nodes[static_cast<std::size_t>(node)], questions);
    s.truth.moved[redis::key_slot(key)] = (node + 1) % 3;
    increment(s, key);
    REQUIRE(s.run_until([&] { return s.many->stats().maps > maps; }));
    CHECK(questions == ++wanted);
  }
}

CONFORMANCE("redis cluster: commands leave a node that is no primary before they were sent") {
  cluster_site s;
  s.nodes[1]->pause();  // it does not even answer the greeting
  ending waits;
  begin(s.many->exec<long>("INCR", s.key(1)), waits);
  const std::string other = s.key(0);
  increment(s, other);
  CHECK_FALSE(waits.is_over);
  s.truth.fail_over(1, 4);
  s.truth.replica_of.clear();
  s.truth.moved[redis::key_slot(other)] = 2;
  increment(s, other);  // brings the new map
  REQUIRE(s.run_until([&] { return waits.is_over; }));
  CHECK(waits.value == 1);
  CHECK(s.executed(4) == 1);
}

CONFORMANCE_ON(beck::test::sim, "redis cluster: a map is asked for ten times a second at most") {
  cluster_site s({.connections = {.hold_timeout = 1s}});
  int questions = 0;
  count_questions(*s.nodes[0], questions);
  s.truth.refusals["CLUSTER"] = {"LOADING x", 1'000'000};
  CHECK(increment(s, s.key(0)).ec == redis::error::loading);
  CHECK(questions > 8);
  CHECK(questions <= 11);
}

CONFORMANCE(
    "redis cluster: the nodes that have an address serve their slots, whatever the others") {
  cluster_site s;
  s.truth.nameless = {2, 4};
  CHECK(increment(s, s.key(0)).value == 1);
  CHECK(increment(s, s.key(1)).value == 1);
  const ending unknown = increment(s, s.key(2));  // another node redirects it to "?"
  CHECK(unknown.ec == redis::error::moved);
  CHECK(unknown.text.find(" ?:") != std::string::npos);
  CHECK(s.many->stats().nodes == 2);
  s.truth.nameless.clear();
  const auto maps = s.many->stats().maps;
  increment(s, s.key(2));  // a redirect that cannot be followed brings a new map, too
  REQUIRE(s.run_until([&] { return s.many->stats().maps > maps; }));
  CHECK(increment(s, s.key(2)).value > 0);
}

CONFORMANCE("redis cluster: calls wait for a map that has slots") {
  cluster_site s({.connections = {.hold_timeout = 300ms}});
  s.truth.nameless = {0, 1, 2};
  const ending e = increment(s, s.key(0));
  CHECK(e.ec == redis::error::clusterdown);
  CHECK(e.text == "no slot is assigned to a node with an address");
  CHECK(e.what == outcome::not_sent);
  s.truth.nameless.clear();
  CHECK(increment(s, s.key(0)).value == 1);
}

CONFORMANCE_ON(beck::test::sim,
               "redis cluster: a seed that does not answer questions for the map is left for the "
               "next") {
  cluster_site s;
  hand_server silent(s.ctx, [](const redis::arguments&, redis::reply_writer&) {});
  s.many.emplace(s.ctx, silent.url() + "," + s.truth.addresses[0]);
  const ending e = increment(s, s.key(1));
  CHECK(e.value == 1);
  CHECK(silent.connections() == 1);
}

CONFORMANCE_ON(beck::test::sim,
               "redis cluster: each call with fails_fast has every seed asked, also behind others "
               "that failed") {
  cluster_site s;
  s.nodes[3]->kill();
  s.many.emplace(s.ctx, "redis://" + s.truth.addresses[3] + "," + s.truth.addresses[0],
                 redis::cluster_options{.connections = {.fails_fast = true}});
  s.truth.refusals["0:HELLO"] = {"LOADING x", 1};
  CHECK(increment(s, s.key(1)).ec);
  CHECK(increment(s, s.key(1)).value == 1);
  CHECK(s.many->stats().maps == 1);
}

CONFORMANCE(
    "redis cluster: a server with too many clients is tried again, for the map as for calls") {
  cluster_site s;
  s.truth.refusals["0:HELLO"] = {"ERR max number of clients reached", 2};
  s.truth.refusals["1:HELLO"] = {"ERR max number of clients reached", 2};
  CHECK(increment(s, s.key(1)).value == 1);
  // Another refusal of the greeting ends the call at once.
  s.truth.refusals["2:HELLO"] = {"NOPERM no permission", 1'000'000};
  const ending refused = increment(s, s.key(2));
  CHECK(refused.ec == redis::error::noperm);
  CHECK(refused.what == outcome::not_sent);
  CHECK(s.truth.refusals["2:HELLO"].second == 999'999);
}

CONFORMANCE(
    "redis cluster: calls end while the map is asked for: by close(), or with the context") {
  for (const bool closes : {true, false}) {
    auto alive = std::make_shared<int>(0);
    beck::error_code end;
    {
      beck::io_context ctx{::context_options()};
      int questions = 0;
      hand_server silent(ctx, [&](const redis::arguments& command, redis::reply_writer&) {
        if (command[0] == "CLUSTER") ++questions;
      });
      redis::cluster many(ctx, silent.url());
      many.exec<long>(
          "INCR", "k")([&end, alive](beck::error_code ec, const redis::reply<long>&) { end = ec; });
      REQUIRE(run_until(ctx, cluster_site::limit, [&] { return questions == 1; }));
      CHECK_FALSE(end);
      if (!closes) continue;
      many.close();
      REQUIRE(run_until(ctx, cluster_site::limit, [&] { return alive.use_count() == 1; }));
      CHECK(end == beck::error::operation_aborted);
      CHECK(many.stats().calls == 0);
    }
    CHECK(alive.use_count() == 1);
  }
}

CONFORMANCE_ON(beck::test::sim,
               "redis cluster: a map of 65,535 nodes takes no longer than its reply") {
  cluster_site s({.reads = redis::prefer_replica, .nodes = 65'535});
  const auto here = redis::key_slot(s.key(0));
  redis::reply_writer to(redis::protocol::resp3);
  to.array(redis::key_slots);
  for (int slot = 0; slot < redis::key_slots; ++slot) {
    const auto [host, port] = s.truth.place_of(0);
    const std::string other = "node-" + std::to_string(slot) + ".example.org";
    const bool is_here = slot == here;
    to.array(is_here ? 3 : 6).integer(slot).integer(slot);
    to.array(2).bulk(is_here ? host : other).integer(is_here ? std::stoi(port) : 1);
    for (int replica = 2; !is_here && replica < 5; ++replica)
      to.array(2).bulk(other).integer(replica);
  }
  s.truth.map = std::string(to.bytes());
  CHECK(increment(s, s.key(0)).value == 1);
  CHECK(s.many->stats().nodes == 1);
}
