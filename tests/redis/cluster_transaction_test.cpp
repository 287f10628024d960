// SPDX-License-Identifier: BSL-1.0
// Transactions of a cluster that nodes redirect or refuse for now: they begin again as a whole.
#include <beck/redis/cluster.hpp>

#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "redis/cluster_site.hpp"

using namespace beck::redis::test;

namespace {

task<> set_and_get(redis::cluster& many, std::string key, long number) {
  const auto set = co_await many.exec<void>("SET", key, number);
  CHECK(!set.error());
  const auto got = co_await many.exec<long>("GET", key);
  CHECK(got.outcome() == outcome::executed);
  CHECK(*got == number);
}

}  // namespace

CONFORMANCE("redis cluster: a transaction that MOVED has aborted begins again at the new place") {
  cluster_site s;
  s.run(set_and_get(*s.many, s.key(0), 5));
  const std::string key = s.key(0);
  s.truth.moved[redis::key_slot(key)] = 1;
  s.run([](cluster_site& at, std::string of) -> task<> {
    auto t = co_await at.many->transaction(cmd<long>("INCR", of), cmd<long>("INCR", of));
    REQUIRE(!t.error());
    CHECK(*std::get<0>(*t) == 6);
    CHECK(*std::get<1>(*t) == 7);
  }(s, key));
  CHECK(s.many->stats().moved == 1);
  REQUIRE(s.run_until([&] { return s.many->stats().maps == 2; }));
}

CONFORMANCE("redis cluster: a transaction that is moved again and again ends with EXECABORT") {
  cluster_site s;
  const std::string key = s.key(0);
  s.run(set_and_get(*s.many, key, 5));
  s.truth.redirects_on = true;
  s.run([](cluster_site& at, std::string of) -> task<> {
    auto t = co_await at.many->transaction(cmd<long>("INCR", of));
    CHECK(t.error() == redis::error::exec_abort);
    CHECK(t.outcome() == outcome::executed);
    CHECK(std::get<0>(*t).error() == redis::error::moved);
  }(s, key));
  CHECK(s.many->stats().moved == 5);
}

CONFORMANCE("redis cluster: a transaction of a key that moves runs behind ASK, as a whole") {
  cluster_site s;
  s.run(set_and_get(*s.many, s.key(0), 5));
  const std::string key = s.key(0);
  s.truth.migrations[redis::key_slot(key)] = {1, {key}};
  s.run([](cluster_site& at, std::string of) -> task<> {
    auto t = co_await at.many->transaction(cmd<long>("INCR", of), cmd<long>("INCR", of));
    REQUIRE(!t.error());
    CHECK(*std::get<0>(*t) == 6);
    CHECK(*std::get<1>(*t) == 7);
  }(s, key));
  CHECK(s.many->stats().asked == 1);
  CHECK(s.executed(1) == 2);
  CHECK(s.truth.log.back() == "1:INCR " + key);
  // A later one is asked for again: the map has not changed.
  s.run(set_and_get(*s.many, key, 8));
  CHECK(s.many->stats().asked >= 2);
  CHECK(s.truth.number(key) == 8);
}

CONFORMANCE(
    "redis cluster: a transaction whose keys are at two nodes waits until they are at one") {
  cluster_site s;
  const std::string here = "{k}here";
  const std::string there = "{k}there";
  const std::uint16_t slot = redis::key_slot(here);
  const int from = s.truth.owner(slot);
  const int to = (from + 1) % 3;
  s.run(set_and_get(*s.many, here, 5));
  s.truth.migrations[slot] = {to, {there}};
  int refused = 0;
  s.nodes[static_cast<std::size_t>(to)]->on_command([&](const redis::arguments& command) {
    if (command[0] == "EXEC" && ++refused == 3) s.truth.finish(slot);
  });
  s.run([](cluster_site& at, std::string a, std::string b) -> task<> {
    auto t = co_await at.many->transaction(cmd<long>("INCR", a), cmd<long>("INCR", b));
    REQUIRE(!t.error());
    CHECK(*std::get<0>(*t) == 6);
    CHECK(*std::get<1>(*t) == 1);
  }(s, here, there));
  CHECK(refused == 3);
  CHECK(s.many->stats().refused == 2);
  CHECK(s.executed(to) == 2);
}

CONFORMANCE(
    "redis cluster: a transaction that is refused for now is repeated, up to hold_timeout") {
  cluster_site s({.connections = {.hold_timeout = 2s}});
  const std::string key = s.key(0);
  const auto twice = [](cluster_site& at, std::string of, beck::error_code expected) -> task<> {
    auto t = co_await at.many->transaction(cmd<long>("INCR", of), cmd<long>("INCR", of));
    CHECK(t.error() == expected);
    CHECK(t.outcome() == outcome::executed);
  };
  long executed = 0;
  for (const char* const text : {"TRYAGAIN x", "CLUSTERDOWN x", "LOADING x", "READONLY x"}) {
    s.truth.refusals["INCR"] = {text, 2};  // both commands of one attempt
    s.run(twice(s, key, {}));
    s.truth.refusals["EXEC"] = {text, 1};
    s.run(twice(s, key, {}));
    CHECK(s.truth.number(key) == (executed += 4));
  }
  CHECK(s.many->stats().refused == 8);
  // Without MULTI commands run one by one.
  s.truth.refusals["MULTI"] = {"LOADING x", 1};
  s.truth.refusals["EXEC"] = {"LOADING x", 1};
  s.run([](cluster_site& at, std::string of) -> task<> {
    auto t = co_await at.many->transaction(cmd<long>("INCR", of));
    CHECK(t.error() == redis::error::loading);
    CHECK(t.outcome() == outcome::maybe_executed);
  }(s, key));
  CHECK(s.truth.number(key) == executed + 1);
  if (beck::test::current_backend() != beck::test::on_sim) return;  // seconds of real time
  s.truth.refusals["INCR"] = {"CLUSTERDOWN x", 1000};
  s.run(twice(s, key, redis::error::exec_abort));
  CHECK(s.truth.number(key) == executed + 1);
}
