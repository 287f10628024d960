// SPDX-License-Identifier: BSL-1.0
// Lanes: the state of a connection of one's own, commands that are refused there, CLIENT REPLY, and
// the end of the connection.
#include "redis/client_site.hpp"

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

using namespace beck::redis::test;

namespace {

using text = std::optional<std::string>;

}  // namespace

CONFORMANCE("redis lane: a transaction behind WATCH does not run if the key has changed") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    for (const bool is_disturbed : {false, true}) {
      const auto watched = co_await lane->exec<void>("WATCH", "n");
      CHECK(watched);
      if (is_disturbed) {
        const auto other = co_await db.exec<long>("INCR", "n");
        CHECK(other);
      }
      const auto all = co_await lane->transaction(cmd<long>("INCRBY", "n", 10),
                                                  cmd<std::string>("ECHO", "mine"));
      CHECK(all.outcome() == outcome::executed);
      CHECK(all.error() == (is_disturbed ? redis::error::watch_failed : beck::error_code()));
      CHECK(std::get<0>(*all).error() == all.error());
      CHECK(std::get<1>(*all).error() == all.error());
    }
    const auto watched = co_await lane->exec<void>("WATCH", "n");
    CHECK(watched);
    const auto other = co_await db.exec<long>("INCR", "n");
    CHECK(*other == 12);
    const auto unwatched = co_await lane->exec<void>("UNWATCH");
    CHECK(unwatched);
    const auto all = co_await lane->transaction(cmd<long>("INCRBY", "n", 10));
    CHECK(*std::get<0>(*all) == 22);
  }(*s.db));
}

CONFORMANCE("redis lane: a database of its own, the client's login, and its number") {
  client_site s({}, {.password = "secret"}, "app:x@");
  s.db.emplace(s.ctx, "redis://:secret@" + s.address() + "/2");
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto id = co_await lane->exec<long>("CLIENT", "ID");
    CHECK(*id == lane->id());
    const auto set = co_await lane->exec<void>("SET", "k", "two");
    CHECK(set);
    const auto selected = co_await lane->exec<void>("SELECT", 3);
    CHECK(selected);
    const auto none = co_await lane->exec<text>("GET", "k");
    CHECK(*none == std::nullopt);
    const auto two = co_await db.exec<text>("GET", "k");
    CHECK(*two == "two");
    CHECK(id.outcome() == outcome::executed);
  }(*s.db));
}

CONFORMANCE("redis lane: a refused login, and a server that is not there") {
  client_site s({}, {.password = "secret"}, ":wrong@");
  s.run([](redis::client& db) -> task<> {
    const auto lane = co_await db.lane();
    CHECK(lane.error() == redis::error::wrongpass);
  }(*s.db));
  s.db.emplace(s.ctx, "redis://:secret@" + s.address(), redis::client_options{.fails_fast = true});
  s.server.close();
  s.run([](redis::client& db) -> task<> {
    const auto lane = co_await db.lane();
    CHECK(lane.error() == beck::error::connection_refused);
  }(*s.db));
}

CONFORMANCE(
    "redis lane: commands that would take the connection away from the client are refused") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const std::vector<std::vector<std::string>> refused = {{"HELLO", "3"},
                                                           {"AUTH", "x"},
                                                           {"RESET"},
                                                           {"QUIT"},
                                                           {"multi"},
                                                           {"EXEC"},
                                                           {"DISCARD"},
                                                           {"SUBSCRIBE", "a"},
                                                           {"PSUBSCRIBE", "a"},
                                                           {"SSUBSCRIBE", "a"},
                                                           {"UNSUBSCRIBE"},
                                                           {"PUNSUBSCRIBE"},
                                                           {"SUNSUBSCRIBE"},
                                                           {"MONITOR"},
                                                           {"SYNC"},
                                                           {"PSYNC", "?", "-1"},
                                                           {"SCRIPT", "DEBUG", "YES"}};
    for (const auto& words : refused) {
      CAPTURE(words[0]);
      redis::request q;
      q.push(words[0], redis::each(std::vector<std::string>(words.begin() + 1, words.end())));
      const auto all = co_await lane->exec_each<void>(q);
      CHECK(all.error() == redis::error::not_on_lane);
      CHECK(all.outcome() == outcome::not_sent);
      const auto shared = co_await db.exec_each<void>(q);
      CHECK(shared.error() == redis::error::needs_lane);
    }
    const auto whole =
        co_await lane->transaction(cmd<long>("INCR", "n"), cmd<void>("CLIENT", "REPLY", "OFF"));
    CHECK(whole.error() == redis::error::not_on_lane);
    const auto n = co_await lane->exec<long>("INCR", "n");
    CHECK(*n == 1);
  }(*s.db));
}

CONFORMANCE("redis lane: commands that are not answered end when they are written") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto all =
        co_await lane->exec(cmd<long>("INCR", "n"), cmd<void>("CLIENT", "REPLY", "SKIP"),
                            cmd<std::optional<long>>("INCR", "n"), cmd<long>("INCR", "n"),
                            cmd<void>("CLIENT", "REPLY", "OFF"), cmd<void>("INCR", "n"),
                            cmd<void>("CLIENT", "REPLY", "SKIP"), cmd<long>("INCR", "n"),
                            cmd<void>("CLIENT", "REPLY", "ON"), cmd<std::string>("ECHO", "here"));
    CHECK(!all.error());
    CHECK(all.outcome() == outcome::executed);
    CHECK(*std::get<0>(*all) == 1);
    CHECK(std::get<1>(*all));
    CHECK(std::get<1>(*all).outcome() == outcome::maybe_executed);
    CHECK(*std::get<2>(*all) == std::nullopt);
    CHECK(*std::get<3>(*all) == 3);
    CHECK(std::get<5>(*all));
    CHECK(std::get<7>(*all).error() == redis::error::null_reply);
    CHECK(std::get<8>(*all).outcome() == outcome::executed);
    CHECK(*std::get<9>(*all) == "here");
    const auto off = co_await lane->exec<void>("client", "reply", "off");
    CHECK(off);
    const auto alone = co_await lane->exec<void>("INCR", "n");
    CHECK(alone);
    CHECK(alone.outcome() == outcome::maybe_executed);
    const auto both = co_await lane->transaction(cmd<long>("INCR", "n"));
    CHECK(both.error() == redis::error::null_reply);  // it is not known whether a key has changed
    CHECK(both.outcome() == outcome::maybe_executed);
    const auto on = co_await lane->exec<void>("CLIENT", "REPLY", "ON");
    CHECK(on.outcome() == outcome::executed);
    const auto n = co_await lane->exec<long>("INCR", "n");
    CHECK(*n == 8);
  }(*s.db));
}

CONFORMANCE("redis lane: a server that refuses CLIENT REPLY ends the connection, not the order") {
  client_site s;
  s.server.fail_next("CLIENT|REPLY", "BUSY Redis is busy running a script.");
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto all =
        co_await lane->exec(cmd<void>("CLIENT", "REPLY", "SKIP"), cmd<std::string>("ECHO", "a"),
                            cmd<std::string>("ECHO", "b"), cmd<std::string>("ECHO", "c"));
    CHECK(all.error() == redis::protocol_error::unexpected_reply);
    CHECK(std::get<2>(*all).error());
    CHECK(std::get<3>(*all).error());
    const auto later = co_await lane->exec<std::string>("ECHO", "d");
    CHECK(later.error() == redis::protocol_error::unexpected_reply);
    CHECK(later.outcome() == outcome::not_sent);
  }(*s.db));
}

CONFORMANCE("redis lane: a lost connection ends the calls, and is not made again") {
  client_site s;
  s.run([](client_site& site) -> task<> {
    redis::client& db = *site.db;
    auto lane = co_await db.lane();
    REQUIRE(lane);
    site.server.on_command([&](const redis::arguments& c) {
      if (c[0] == "GET") site.server.cut();
    });
    const auto all = co_await lane->exec(cmd<text>("GET", "k"), cmd<text>("GET", "k"));
    CHECK(all.error());
    CHECK(all.outcome() == outcome::maybe_executed);  // although it only reads
    site.server.on_command([](const redis::arguments&) {});
    const auto later = co_await lane->exec<text>("GET", "k");
    CHECK(later.error() == all.error());
    CHECK(later.outcome() == outcome::not_sent);
    auto next = co_await db.lane();
    REQUIRE(next);
    const auto good = co_await next->exec<text>("GET", "k");
    CHECK(good);
  }(s));
  CHECK(s.server.connections() == 1);
}

CONFORMANCE("redis lane: commands that a server refuses for now are not sent again") {
  client_site s;
  s.server.fail_next("SET", "LOADING Redis is loading the dataset in memory");
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto set = co_await lane->exec<void>("SET", "k", "v");
    CHECK(set.error() == redis::error::loading);
  }(*s.db));
}

CONFORMANCE("redis lane: the client's end ends the calls of its lanes, which outlive it") {
  client_site s;
  s.run([](client_site& site) -> task<> {
    auto lane = co_await site.db->lane();
    REQUIRE(lane);
    auto other = co_await site.db->lane();
    REQUIRE(other);
    bool ended = false;
    lane->exec<text>("BLPOP", "q", 0)([&](beck::error_code ec, const redis::reply<text>&) {
      CHECK(ec == beck::error::operation_aborted);
      ended = true;
    });
    co_await beck::post(site.ctx.get_executor());
    site.db.reset();
    const auto late = co_await lane->exec<text>("GET", "k");
    CHECK(late.error() == beck::error::operation_aborted);
    const auto idle = co_await other->exec<text>("GET", "k");
    CHECK(idle.error() == beck::error::operation_aborted);
    while (!ended) co_await beck::post(site.ctx.get_executor());
    redis::lane moved = std::move(*lane);
    CHECK(moved.id() != other->id());
  }(s));
  REQUIRE(s.run_until([&] { return s.server.connections() == 0; }));
}

CONFORMANCE("redis lane: in RESP2, too") {
  client_site s;
  s.server.fail_next("HELLO", "ERR unknown command `HELLO`, with args beginning with: `3`, ", 2);
  s.run([](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto id = co_await lane->exec<long>("CLIENT", "ID");
    CHECK(*id == lane->id());
    using element = std::tuple<std::string, std::string>;
    const auto none = co_await beck::timeout(lane->exec<std::optional<element>>("BLPOP", "q", 0),
                                             beck::duration(1'000'000));
    CHECK(none.error() == beck::error::timeout);
    CHECK(none.outcome() == outcome::executed);
  }(*s.db));
}

namespace {

/// Uses a lane, returns it, takes another one, and waits in it.
task<> use_lanes(redis::client& db, int number) {
  {
    auto first = co_await db.lane();
    if (!first) co_return;
    const auto set = co_await first->exec<void>("WATCH", "q");
    if (!set) co_return;
  }
  auto lane = co_await db.lane();
  if (!lane) co_return;
  auto popping = beck::timeout(lane->exec<std::vector<std::string>>("BLPOP", "none", 0),
                               beck::duration(1'000'000 * number));
  beck::ignore(co_await std::move(popping));
}

task<> own_client(client_site& site) {
  redis::client db(site.ctx, "redis://" + site.address());
  auto lane = co_await db.lane();
  if (!lane) co_return;
  co_await use_lanes(db, 3);
}

}  // namespace

CONFORMANCE("redis lane: a context that is destroyed takes lanes in every state with it") {
  for (int turns = 0; turns < 120; turns += 3) {
    client_site s({.lanes = 2});
    for (int i = 1; i < 5; ++i) s.start(use_lanes(*s.db, i));
    s.start(own_client(s));
    for (int i = 0; i < turns; ++i) s.ctx.run_one_for(beck::duration(1'000'000));
    if (turns % 2 == 1) s.server.cut();
    CHECK(s.ended <= s.started);
  }
}
