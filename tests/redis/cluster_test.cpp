// SPDX-License-Identifier: BSL-1.0
// A client of a cluster whose nodes are scripted: where commands go, how they are divided, and
// which redirects and refusals are followed.
#include <beck/redis/cluster.hpp>

#include <doctest/doctest.h>

#include <beck/coro/timeout.hpp>

#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "redis/cluster_site.hpp"

using namespace beck::redis::test;

namespace {

using numbers = std::vector<std::optional<long>>;

task<> set_and_get(redis::cluster& many, std::string key, long number) {
  const auto set = co_await many.exec<void>("SET", key, number);
  CHECK(!set.error());
  const auto got = co_await many.exec<long>("GET", key);
  CHECK(got.outcome() == outcome::executed);
  CHECK(*got == number);
}

/// Sends one command and takes its reply.
template <class T>
task<> ask(redis::cluster& many, redis::command<T> one, redis::reply<T>& to) {
  to = co_await many.exec(std::move(one));
}

}  // namespace

CONFORMANCE("redis cluster: commands go to the node that has their key") {
  cluster_site s;
  for (int node = 0; node < 3; ++node) s.run(set_and_get(*s.many, s.key(node), node));
  for (int node = 0; node < 3; ++node) CHECK(s.executed(node) == 2);
  for (int node = 3; node < 6; ++node)
    CHECK(s.nodes[static_cast<std::size_t>(node)]->connections() == 0);
  const redis::cluster_stats now = s.many->stats();
  CHECK(now.moved == 0);
  CHECK(now.maps == 1);
  CHECK(now.nodes == 3);
  CHECK(now.calls == 0);
}

CONFORMANCE("redis cluster: several commands go to their nodes at a time, each with its reply") {
  cluster_site s;
  s.truth.values = {{s.key(0), 10}, {s.key(1), 20}, {s.key(2), 30}};
  s.run([](cluster_site& at) -> task<> {
    auto all = co_await at.many->exec(cmd<long>("GET", at.key(2)), cmd<long>("INCR", at.key(0)),
                                      cmd<std::string>("ECHO", "x"), cmd<long>("GET", at.key(1)),
                                      cmd<long>("INCR", at.key(0)));
    REQUIRE(!all.error());
    CHECK(all.outcome() == outcome::executed);
    CHECK(*std::get<0>(*all) == 30);
    CHECK(*std::get<1>(*all) == 11);
    CHECK(*std::get<2>(*all) == "x");
    CHECK(*std::get<3>(*all) == 20);
    CHECK(*std::get<4>(*all) == 12);
    redis::request q;
    for (int i = 0; i < 1000; ++i) q.push("INCR", at.key(i % 3));
    const auto each = co_await at.many->exec_each<long>(q);
    REQUIRE(each->size() == 1000);
    for (int i = 0; i < 1000; ++i) {
      const long first[] = {12, 20, 30};
      if (*(*each)[static_cast<std::size_t>(i)] != first[i % 3] + i / 3 + 1) FAIL("reply ", i);
    }
  }(s));
}

CONFORMANCE(
    "redis cluster: commands with keys of several slots are divided, in the order of keys") {
  cluster_site s;
  s.run([](cluster_site& at) -> task<> {
    const std::string a = at.key(0), b = at.key(1), c = at.key(2), d = at.key(0, 1),
                      e = at.key(1, 1);
    const auto set = co_await at.many->exec<std::string>("MSET", a, 1, b, 2, c, 3, d, 4);
    CHECK(*set == "OK");
    const auto got = co_await at.many->exec<numbers>("MGET", d, a, e, b, c, a);
    REQUIRE(!got.error());
    CHECK(*got == numbers{4, 1, std::nullopt, 2, 3, 1});
    const auto counted = co_await at.many->exec<long>("EXISTS", a, b, c, d, e, a);
    CHECK(*counted == 5);
    // The commands of one key keep their order, also with a divided one between them.
    auto all = co_await at.many->exec(cmd<void>("SET", a, 7), cmd<numbers>("MGET", b, a),
                                      cmd<void>("SET", a, 8), cmd<long>("DEL", a, b, c),
                                      cmd<std::optional<long>>("GET", a));
    CHECK(*std::get<1>(*all) == numbers{2, 7});
    CHECK(*std::get<3>(*all) == 3);
    CHECK(*std::get<4>(*all) == std::nullopt);
    CHECK(at.many->stats().divided == 5);
  }(s));
}

CONFORMANCE("redis cluster: keys of several slots that cannot be divided are refused unsent") {
  cluster_site s;
  s.run([](cluster_site& at) -> task<> {
    const auto r = co_await at.many->exec<long>("SINTERCARD", 2, at.key(0), at.key(1));
    CHECK(r.error() == redis::error::cross_slot);
    CHECK(r.outcome() == outcome::not_sent);
    auto t =
        co_await at.many->transaction(cmd<long>("INCR", at.key(0)), cmd<long>("INCR", at.key(1)));
    CHECK(t.error() == redis::error::cross_slot);
    CHECK(std::get<0>(*t).outcome() == outcome::not_sent);
    const auto m = co_await at.many->transaction(cmd<long>("DEL", at.key(0), at.key(1)));
    CHECK(m.error() == redis::error::cross_slot);
    const auto l = co_await at.many->exec<void>("SELECT", 1);
    CHECK(l.error() == redis::error::needs_lane);
    auto one = co_await at.many->transaction(cmd<long>("INCR", "{t}a"), cmd<long>("INCR", "{t}b"));
    REQUIRE(!one.error());
    CHECK(*std::get<1>(*one) == 1);
  }(s));
  CHECK(s.truth.log.size() == 2);
}

CONFORMANCE("redis cluster: an unknown command goes where its marked key is, or where MOVED says") {
  cluster_site s;
  for (int node = 0; node < 3; ++node) {
    redis::reply<long> r;
    s.run(ask(*s.many, cmd<long>("NEW.ONE", redis::key(s.key(node))), r));
    CHECK(r.error() == redis::error::err);
    CHECK(s.executed(node) == 1);
  }
  CHECK(s.many->stats().moved == 0);
}

CONFORMANCE("redis cluster: MOVED is followed, patches its slot, and brings a new map") {
  cluster_site s;
  s.run(set_and_get(*s.many, s.key(0), 5));
  const std::string key = s.key(0);
  s.truth.moved[redis::key_slot(key)] = 2;
  redis::reply<long> r;
  s.run(ask(*s.many, cmd<long>("INCR", key), r));
  CHECK(*r == 6);
  CHECK(s.truth.log.back() == "2:INCR " + key);
  REQUIRE(s.run_until([&] { return s.many->stats().maps == 2; }));
  s.run(ask(*s.many, cmd<long>("INCR", key), r));
  CHECK(*r == 7);
  CHECK(s.many->stats().moved == 1);
}

CONFORMANCE("redis cluster: a pipeline whose slots all move keeps each reply and its order") {
  cluster_site s;
  s.run(set_and_get(*s.many, s.key(0), 0));
  s.truth.fail_over(0, 1);
  s.run([](cluster_site& at, std::string key) -> task<> {
    redis::request q;
    for (int i = 0; i < 600; ++i) q.push("INCR", key);
    const auto each = co_await at.many->exec_each<long>(q);
    for (int i = 0; i < 600; ++i)
      if (*(*each)[static_cast<std::size_t>(i)] != i + 1) FAIL("reply ", i);
  }(s, s.key(1, 0)));
  CHECK(s.truth.number(s.key(1, 0)) == 600);
}

CONFORMANCE("redis cluster: ASK is followed for one command, with ASKING directly before it") {
  cluster_site s;
  s.run(set_and_get(*s.many, s.key(0), 5));
  const std::string key = s.key(0);
  const std::uint16_t slot = redis::key_slot(key);
  s.truth.migrations[slot] = {1, {key}};
  redis::reply<long> r;
  s.run(ask(*s.many, cmd<long>("INCR", key), r));
  CHECK(*r == 6);
  CHECK(s.truth.log.back() == "1:INCR " + key);
  s.run(ask(*s.many, cmd<long>("INCR", key), r));
  CHECK(*r == 7);
  CHECK(s.many->stats().asked == 2);  // the map has not changed
  CHECK(s.many->stats().moved == 0);
  // Several at a time, between commands that stay.
  s.run([](cluster_site& at, std::string moving) -> task<> {
    auto all = co_await at.many->exec(cmd<long>("INCR", at.key(0, 1)), cmd<long>("INCR", moving),
                                      cmd<long>("INCR", moving), cmd<long>("INCR", at.key(0, 1)));
    CHECK(*std::get<0>(*all) == 1);
    CHECK(*std::get<1>(*all) == 8);
    CHECK(*std::get<2>(*all) == 9);
    CHECK(*std::get<3>(*all) == 2);
  }(s, key));
}

CONFORMANCE("redis cluster: nothing comes between ASKING and its command on a narrow connection") {
  cluster_site s({.connections = {.in_flight = 1}});
  s.run(set_and_get(*s.many, s.key(0), 5));
  s.truth.migrations[redis::key_slot(s.key(0))] = {1, {s.key(0)}};
  s.run([](cluster_site& at, std::string moving) -> task<> {
    auto all = co_await at.many->exec(cmd<long>("INCR", moving), cmd<long>("INCR", moving),
                                      cmd<long>("INCR", moving));
    CHECK(*std::get<0>(*all) == 6);
    CHECK(*std::get<1>(*all) == 7);
    CHECK(*std::get<2>(*all) == 8);
  }(s, s.key(0)));
  CHECK(s.many->stats().asked == 3);
  CHECK(s.many->stats().moved == 0);  // the node has no command of the slot without ASKING
}

CONFORMANCE(
    "redis cluster: a pipeline of 40,000 commands on a moving slot costs no more than each once") {
  if (beck::test::current_backend() != beck::test::on_sim) return;  // the costs are those of all
  cluster_site s;
  s.run(set_and_get(*s.many, "{t}", 0));
  const std::uint16_t slot = redis::key_slot("{t}");
  migration& way = s.truth.migrations[slot];
  way.to = (s.truth.owner(slot) + 1) % 3;
  redis::request q;
  for (int i = 0; i < 40'000; ++i) {
    const std::string key = "{t}" + std::to_string(i);
    q.push("INCR", key);
    s.truth.values[key] = 0;
    if (i % 2 == 0) way.moved.insert(key);
  }
  s.run([](cluster_site& at, const redis::request& all) -> task<> {
    const auto each = co_await at.many->exec_each<long>(all);
    for (std::size_t i = 0; i < each->size(); ++i)
      if (*(*each)[i] != 1) FAIL("reply ", i);
  }(s, q));  // a cost for each pair of commands takes so long that the watchdog ends the case
  CHECK(s.many->stats().asked == 20'000);
}

CONFORMANCE("redis cluster: a command follows five redirects, and the sixth is its reply") {
  cluster_site s;
  s.run(set_and_get(*s.many, s.key(0), 0));
  s.truth.redirects_on = true;
  redis::reply<long> r;
  s.run(ask(*s.many, cmd<long>("INCR", s.key(0)), r));
  CHECK(r.error() == redis::error::moved);
  CHECK(r.error_text().substr(0, 6) == "MOVED ");
  CHECK(s.many->stats().moved == 5);
  s.truth.redirects_on = false;
  s.truth.refusals["INCR"] = {"ASK 1 " + s.truth.addresses[1], 1'000};
  s.run(ask(*s.many, cmd<long>("INCR", s.key(0)), r));
  CHECK(r.error() == redis::error::ask);
  CHECK(s.many->stats().asked == 5);
  CHECK(s.many->stats().calls == 0);
}

CONFORMANCE("redis cluster: a malformed redirect is the reply, with its text") {
  cluster_site s;
  for (const char* const text : {"MOVED 99999 127.0.0.1:1", "ASK 1 nowhere"}) {
    s.truth.refusals["INCR"] = {text, 1};
    redis::reply<long> r;
    s.run(ask(*s.many, cmd<long>("INCR", s.key(0)), r));
    CHECK(r.error());
    CHECK(r.error_text() == text);
  }
}

namespace {

std::string forbidden;

bool is_allowed(std::string_view host, std::uint16_t port) {
  return std::string(host) + ":" + std::to_string(port) != forbidden;
}

}  // namespace

CONFORMANCE("redis cluster: a node that is not permitted gets no connection") {
  forbidden.clear();
  cluster_site s({.permit = &is_allowed});
  forbidden = s.truth.addresses[2];
  s.run(set_and_get(*s.many, s.key(0), 0));
  redis::reply<long> r;
  s.run(ask(*s.many, cmd<long>("INCR", s.key(2)), r));  // another node says where it is
  CHECK(r.error() == redis::error::moved);
  const std::string key = s.key(0);
  s.truth.migrations[redis::key_slot(key)] = {2, {key}};
  s.run(ask(*s.many, cmd<long>("INCR", key), r));
  CHECK(r.error() == redis::error::ask);
  CHECK(s.nodes[2]->connections() == 0);
}

CONFORMANCE("redis cluster: TRYAGAIN and CLUSTERDOWN are repeated until hold_timeout") {
  cluster_site s({.connections = {.hold_timeout = 2s}});
  redis::reply<long> r;
  for (const char* const text : {"TRYAGAIN x", "CLUSTERDOWN x", "LOADING x", "READONLY x"}) {
    s.truth.refusals["INCR"] = {text, 2};
    s.run(ask(*s.many, cmd<long>("INCR", s.key(0)), r));
    CHECK(!r.error());
  }
  CHECK(s.many->stats().refused == 8);
  CHECK(s.truth.number(s.key(0)) == 4);
  // A command behind which another one has run is not sent again.
  s.truth.refusals["INCR"] = {"TRYAGAIN x", 1};
  s.run([](cluster_site& at) -> task<> {
    auto two = co_await at.many->exec(cmd<long>("INCR", at.key(0)), cmd<long>("GET", at.key(0)));
    CHECK(std::get<0>(*two).error() == redis::error::tryagain);
    CHECK(*std::get<1>(*two) == 4);
  }(s));
  if (beck::test::current_backend() != beck::test::on_sim) return;  // seconds of real time
  s.truth.refusals["INCR"] = {"CLUSTERDOWN x", 1000};
  s.run(ask(*s.many, cmd<long>("INCR", s.key(0)), r));
  CHECK(r.error() == redis::error::clusterdown);
  CHECK(s.truth.refusals["INCR"].second > 980);
}

CONFORMANCE("redis cluster: reads go to replicas if they may, and to the primary if those fail") {
  cluster_site s({.reads = redis::prefer_replica});
  const std::string key = s.key(1);
  s.run(set_and_get(*s.many, key, 3));
  CHECK(s.truth.log.back() == "4:GET " + key);
  CHECK(s.executed(1) == 1);
  s.run([](cluster_site& at, std::string of) -> task<> {  // a write among them
    auto two = co_await at.many->exec(cmd<long>("INCR", of), cmd<long>("GET", of));
    CHECK(*std::get<1>(*two) == 4);
  }(s, key));
  CHECK(s.executed(1) == 3);
  s.nodes[4]->kill();
  redis::reply<long> r;
  s.run(ask(*s.many, cmd<long>("GET", key), r));
  CHECK(*r == 4);
  CHECK(s.truth.log.back() == "1:GET " + key);
}

CONFORMANCE("redis cluster: a read goes to one replica at most, whether that refuses or is dead") {
  for (int i = 0; i < 12; ++i) {
    cluster_site s({.reads = redis::prefer_replica});
    const std::string key = s.key(1);
    s.run(set_and_get(*s.many, key, 3));
    redis::reply<long> r;
    s.truth.refusals["4:GET"] = {"MASTERDOWN x", 1'000'000};
    if (i % 2 != 0) s.nodes[4]->kill();
    s.run(ask(*s.many, cmd<long>("GET", key), r));
    CHECK(*r == 3);
    CHECK(s.truth.log.back() == "1:GET " + key);
    CHECK(s.many->stats().to_replicas <= 2);  // each read asks one at most
  }
}

CONFORMANCE("redis cluster: TRYAGAIN behind ASK is repeated for as long as the slot moves") {
  cluster_site s({.redirects = 1});
  s.run(set_and_get(*s.many, s.key(0), 0));
  const std::string tag = "{" + s.key(0) + "}";
  const std::uint16_t slot = redis::key_slot(tag);
  s.truth.migrations[slot] = {1,
                              {}};  // keys that do not exist: the one says ASK, the other TRYAGAIN
  redis::reply<std::string> r;
  bool is_over = false;
  s.many->exec<std::string>("MSET", tag + "a", 1, tag + "b",
                            2)([&](beck::error_code, redis::reply<std::string> got) {
    r = std::move(got);
    is_over = true;
  });
  REQUIRE(s.run_until([&] { return is_over || s.many->stats().refused == 3; }));
  s.truth.finish(slot);
  REQUIRE(s.run_until([&] { return is_over; }));
  CHECK(!r.error());
  CHECK(s.truth.number(tag + "b") == 2);
}

CONFORMANCE("redis cluster: a node that answers a part of a command wrongly is found") {
  cluster_site s;
  s.run(set_and_get(*s.many, s.key(0), 1));
  const auto count = [&](const char* lie) {
    s.truth.lies["0:EXISTS"] = s.truth.lies["1:EXISTS"] = lie;
    redis::reply<std::int64_t> r;
    s.run(ask(*s.many, cmd<std::int64_t>("EXISTS", s.key(0), s.key(1), s.key(1, 1)), r));
    return r.error();
  };
  CHECK(!count(":1\r\n"));
  for (const char* const lie :
       {":9223372036854775807\r\n", ":2\r\n", ":-1\r\n", "+OK\r\n", "_\r\n"}) {
    CAPTURE(lie);
    CHECK(count(lie) == redis::error::wrong_reply);
  }
  for (const char* const lie : {"*0\r\n", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n", "*1\r\n*1\r\n:5\r\n",
                                "*1\r\n:1\r\n", "$1\r\n1\r\n"}) {
    CAPTURE(lie);
    s.truth.lies["1:MGET"] = lie;
    redis::reply<redis::value> r;
    s.run(ask(*s.many, cmd<redis::value>("MGET", s.key(0), s.key(1)), r));
    CHECK(r.error() == redis::error::wrong_reply);
    CHECK(r.outcome() == outcome::executed);
  }
  s.truth.lies["1:MSET"] = "+NO\r\n";
  redis::reply<std::string> r;
  s.run(ask(*s.many, cmd<std::string>("MSET", s.key(0), 1, s.key(1), 1), r));
  CHECK(r.error() == redis::error::wrong_reply);
}

TEST_CASE("redis cluster: a malformed URL is refused without its password") {
  beck::io_context ctx;
  for (const char* const bad :
       {"", "h1:7000", "redis://", "redis://h1:7000,", "redis://,h1", "redis://h1/1", "redis://h:x",
        "unix:///s", "redis://u:secret@h1:70000", "redis://h1,h2/3"}) {
    CAPTURE(bad);
    try {
      const redis::cluster many(ctx, bad);
      FAIL("accepted");
    } catch (const std::invalid_argument& refused) {
      CHECK(std::string(refused.what()).find("secret") == std::string::npos);
    }
  }
  const redis::cluster many(ctx, "redis://u:p%40,x@h1,h2:7000,[::1]:7001");
  CHECK(many.stats().nodes == 0);
}
