// SPDX-License-Identifier: BSL-1.0
// Transactions of the client: they run whole or not at all, beside other calls, and over
// connections that are lost.
#include "redis/client_site.hpp"

#include <ostream>
#include <string>
#include <tuple>

using namespace beck::redis::test;

namespace {

task<> move_one(redis::client& db, std::string from, std::string to, int times) {
  for (int i = 0; i < times; ++i) {
    const auto both = co_await db.transaction(cmd<long>("DECR", from), cmd<long>("INCR", to),
                                              cmd<std::string>("ECHO", from));
    CHECK(both);
    CHECK(*std::get<2>(*both) == from);
    const auto own = co_await db.exec<std::string>("ECHO", to);
    CHECK(*own == to);
  }
}

}  // namespace

CONFORMANCE("redis client: a transaction has a reply for each command, and is one write") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    const auto all = co_await db.transaction(cmd<long>("INCR", "n"), cmd<void>("SET", "k", "v"),
                                             cmd<long>("LLEN", "k"), cmd<std::string>("GET", "k"));
    CHECK(all);
    CHECK(all.outcome() == outcome::executed);
    const auto& [n, set, wrong, text] = *all;
    CHECK(*n == 1);
    CHECK(set);
    CHECK(wrong.error() == redis::error::wrongtype);
    CHECK(*text == "v");
  }(*s.db));
  CHECK(s.db->stats().writes == 2);  // the greeting is one
}

CONFORMANCE("redis client: a transaction with a command that the server refuses does not run") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    const auto all = co_await db.transaction(cmd<long>("INCR", "n"), cmd<void>("SET", "k"));
    CHECK(all.error() == redis::error::exec_abort);
    const auto& [n, set] = *all;
    CHECK(n.error() == redis::error::exec_abort);
    CHECK(set.error() == redis::error::err);
    CHECK(set.error_text() == "ERR wrong number of arguments for 'set' command");
    const auto lane = co_await db.transaction(cmd<long>("INCR", "n"), cmd<void>("WATCH", "n"));
    CHECK(lane.error() == redis::error::needs_lane);
    CHECK(std::get<0>(*lane).error() == redis::error::needs_lane);
    CHECK(lane.outcome() == outcome::not_sent);
  }(*s.db));
  CHECK(!s.server.exists("n"));
  s.server.fail_next("MULTI", "NOPERM this user has no permissions to run the 'multi' command");
  s.run([](redis::client& db) -> task<> {
    const auto all = co_await db.transaction(cmd<long>("INCR", "n"));
    CHECK(all.error() == redis::error::noperm);
    CHECK(all.outcome() == outcome::maybe_executed);  // the command has run alone
    CHECK(std::get<0>(*all).error() == redis::error::noperm);
  }(*s.db));
  CHECK(s.server.integer("n") == 1);
}

CONFORMANCE("redis client: transactions stay whole beside other calls, also large ones") {
  client_site s;
  for (int i = 0; i < 10; ++i) {
    s.start(move_one(*s.db, "a" + std::to_string(i), "b" + std::to_string(i), 10));
  }
  s.run([](redis::client& db) -> task<> {
    const std::string large(300'000, 'x');
    for (int i = 0; i < 5; ++i) {
      const auto all =
          co_await db.transaction(cmd<void>("SET", "x", large), cmd<void>("SET", "y", large),
                                  cmd<long>("STRLEN", "x"), cmd<std::string>("GET", "y"));
      CHECK(all);
      CHECK(*std::get<2>(*all) == 300'000);
      const bool same = *std::get<3>(*all) == large;
      CHECK(same);
    }
  }(*s.db));
  for (int i = 0; i < 10; ++i) {
    CHECK(s.server.integer("a" + std::to_string(i)) == -10);
    CHECK(s.server.integer("b" + std::to_string(i)) == 10);
  }
}

CONFORMANCE("redis client: a transaction that is cut anywhere has run, or not, as it says") {
  bool was_whole = false;
  for (std::size_t bytes = 1; !was_whole; ++bytes) {
    REQUIRE(bytes < 1000);
    client_site s({.fails_fast = true, .attempts = 2});
    s.server.cut_after(bytes, 1);
    bool done = false;
    s.db->transaction(cmd<long>("INCR", "n"), cmd<long>("INCR", "n"))(
        [&](beck::error_code ec,
            const redis::reply<std::tuple<redis::reply<long>, redis::reply<long>>>& r) {
          const long long n = s.server.integer("n");
          CHECK(n % 2 == 0);
          CHECK(!ec == (r.outcome() == outcome::executed));
          if (r.outcome() == outcome::executed) CHECK(n == 2);
          if (r.outcome() == outcome::not_sent) CHECK(n == 0);
          CHECK(std::get<0>(*r).outcome() == r.outcome());
          CHECK(std::get<1>(*r).outcome() == r.outcome());
          was_whole = !ec && s.db->stats().connections == 1;
          done = true;
        });
    REQUIRE(s.run_until([&] { return done; }));
  }
}

CONFORMANCE("redis client: a transaction that may be repeated is sent again from its MULTI on") {
  client_site s;
  s.run(move_one(*s.db, "a", "b", 1));
  int cuts = 1;
  s.server.on_command([&](const redis::arguments& c) {
    if (c[0] == "INCR" && cuts-- > 0) s.server.cut_after(0, 1);  // executed, never answered
  });
  s.run([](redis::client& db) -> task<> {
    const auto all =
        co_await db.transaction(cmd<long>("INCR", "n"), cmd<void>("SET", "k", "v")).retryable();
    CHECK(all);
    CHECK(*std::get<0>(*all) == 2);
  }(*s.db));
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis client: a transaction that is refused for now is repeated, up to hold_timeout") {
  client_site s({.hold_timeout = 2s});
  for (const char* const text : {"LOADING x", "BUSY x", "MASTERDOWN x", "TRYAGAIN x"}) {
    s.server.fail_next("incr", text, 2);  // both of the first attempt
    s.run([](redis::client& db) -> task<> {
      const auto all = co_await db.transaction(cmd<long>("INCR", "n"), cmd<long>("INCR", "n"));
      REQUIRE(!all.error());
      CHECK(*std::get<1>(*all) % 2 == 0);
    }(*s.db));
  }
  CHECK(s.server.integer("n") == 8);
  s.server.fail_next("incr", "OOM x");
  s.run([](redis::client& db) -> task<> {
    const auto all = co_await db.transaction(cmd<long>("INCR", "n"));
    CHECK(all.error() == redis::error::exec_abort);
    CHECK(std::get<0>(*all).error() == redis::error::oom);
  }(*s.db));
  if (beck::test::current_backend() != beck::test::on_sim) return;  // seconds of real time
  s.server.fail_next("incr", "LOADING x", 1000);
  s.run([](redis::client& db) -> task<> {
    const auto all = co_await db.transaction(cmd<long>("INCR", "n"));
    CHECK(all.error() == redis::error::exec_abort);
    CHECK(std::get<0>(*all).error() == redis::error::loading);
  }(*s.db));
  CHECK(s.server.integer("n") == 8);
}
