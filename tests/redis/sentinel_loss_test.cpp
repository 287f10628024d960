// SPDX-License-Identifier: BSL-1.0
// Primaries that refuse, hang, are exchanged again and again, and the ends of calls, of the client
// and of the context.
#include <beck/redis/client.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "redis/hand_server.hpp"
#include "redis/plain_layer.hpp"
#include "redis/sentinel_site.hpp"

using namespace beck::redis::test;

namespace {

task<> try_for_a_while(sentinel_site& s, ending& to) {
  auto trying = beck::timeout(s.db->exec<long>("INCR", "n"), 1ms);
  const auto r = co_await std::move(trying);
  to.ec = r.error();
  to.what = r.outcome();
  to.is_over = true;
}

}  // namespace

CONFORMANCE("redis sentinel: commands that a former primary refuses go to the new one") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.server(1).become_primary();
  s.replicate(0);
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 2);  // nothing is announced
  std::vector<ending> all(20);
  for (ending& one : all) begin(s.db->exec<long>("INCR", "m"), one);
  REQUIRE(s.run_until([&] {
    for (const ending& one : all)
      if (!one.is_over) return false;
    return true;
  }));
  for (const ending& one : all) CHECK(!one.ec);
  CHECK(s.server(1).integer("m") == 20);
  CHECK(s.server(0).integer("m") == 0);
}

CONFORMANCE("redis sentinel: commands behind which one has run are not sent again") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.server(1).become_primary();
  s.replicate(0);
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 2);
  bool is_over = false;
  s.db->exec(cmd<long>("INCR", "m"), cmd<std::optional<std::string>>("GET", "m"),
             cmd<long>("INCR", "m"))([&](beck::error_code ec, const auto& r) {
    CHECK(!ec);
    CHECK(std::get<0>(*r).error() == redis::error::readonly);
    CHECK(std::get<1>(*r).outcome() == outcome::executed);
    CHECK(*std::get<2>(*r) == 1);
    is_over = true;
  });
  REQUIRE(s.run_until([&] { return is_over; }));
  CHECK(s.server(1).integer("m") == 1);
}

CONFORMANCE("redis sentinel: a refusal that no other server takes back ends at hold_timeout") {
  sentinel_site s({.hold_timeout = 100ms});
  s.server(0).fail_next("INCR", "READONLY said by a script", 1'000'000);
  const ending e = increment(s);
  CHECK(e.ec == redis::error::readonly);
  CHECK(e.what == outcome::executed);
  CHECK(s.db->stats().connections > 1);
  CHECK(s.db->stats().connections < 50);
}

CONFORMANCE("redis sentinel: a switch may be announced before the new primary takes connections") {
  sentinel_site s;
  increment(s);
  s.settle();
  const beck::ip::tcp::endpoint at = s.server(1).endpoint();
  s.servers[1].reset();
  for (int i = 0; i < 3; ++i) s.sentinel(i).switch_to(s.addresses[1], 2);
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  ending e;
  begin(s.db->exec<long>("INCR", "n"), e);
  for (int i = 0; i < 20; ++i) s.ctx.poll();
  CHECK_FALSE(e.is_over);
  s.servers[1] = std::make_unique<redis::memory_server>(s.ctx, at);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.value == 1);
  CHECK(s.server(0).integer("n") == 1);
}

CONFORMANCE("redis sentinel: a switch does not wait for an attempt to connect that hangs") {
  sentinel_site s({.connect_timeout = 1h, .hold_timeout = 2h, .silence_timeout = 1h});
  s.server(0).pause();  // accepts, and does not answer
  ending e;
  begin(s.db->exec<long>("INCR", "n"), e);
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 1; }));
  s.settle();
  s.fail_over();
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.value == 1);
  CHECK(s.server(1).integer("n") == 1);
}

CONFORMANCE("redis sentinel: fails_fast does not end calls that wait for a new primary") {
  sentinel_site s({.fails_fast = true});
  increment(s);
  s.settle();
  s.server(0).pause();
  std::vector<ending> all(5);
  begin(s.db->exec<long>("GET", "n"), all[0]);
  REQUIRE(s.run_until([&] { return s.db->stats().in_flight == 1; }));
  for (std::size_t i = 1; i < all.size(); ++i) begin(s.db->exec<long>("DEL", "x"), all[i]);
  s.fail_over();
  REQUIRE(s.run_until([&] { return all[0].is_over && all[4].is_over; }));
  CHECK(all[0].ec == redis::error::null_reply);  // only reads: asked again, at the new place
  for (std::size_t i = 1; i < all.size(); ++i) {
    const bool is_lost = all[i].ec == redis::error::not_primary;
    CHECK((all[i].value == 0 || (is_lost && all[i].what == outcome::maybe_executed)));
  }
}

CONFORMANCE("redis sentinel: sentinels that change their minds cost few connections") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.server(1).become_primary();
  for (long i = 2; i < 42; ++i) {
    const std::string& to = s.addresses[static_cast<std::size_t>(i % 2 == 0)];
    for (int each = 0; each < 3; ++each) s.sentinel(each).switch_to(to, i);
    for (int turn = 0; turn < 50; ++turn) s.ctx.poll();
  }
  CHECK(s.db->stats().connections <= 42);
  s.fail_over(50);
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  CHECK(!increment(s).ec);
  CHECK(s.server(1).integer("n") == 1);
}

CONFORMANCE("redis sentinel: close() ends calls and the questions to sentinels") {
  for (int state = 0; state < 4; ++state) {
    CAPTURE(state);
    sentinel_site s;
    if (state == 1) s.replicate(0);
    if (state >= 2) increment(s);
    if (state == 3) s.settle();
    if (state >= 2) s.server(0).pause();
    ending e;
    begin(s.db->exec<long>("INCR", "n"), e);
    if (state == 1) REQUIRE(s.run_until([&] { return s.server(0).commands() >= 2; }));
    if (state >= 2) REQUIRE(s.run_until([&] { return s.db->stats().in_flight == 1; }));
    s.db->close();
    REQUIRE(s.run_until([&] { return e.is_over; }));
    CHECK(e.ec == beck::error::operation_aborted);
    CHECK(e.what == (state >= 2 ? outcome::maybe_executed : outcome::not_sent));
    for (int i = 0; i < 3; ++i) s.sentinel(i).kill();
    for (int i = 0; i < 2; ++i) s.server(i).close();
    s.ctx.restart();
    s.ctx.run();  // returns: nothing is left
    CHECK(increment(s).ec == beck::error::operation_aborted);
  }
}

CONFORMANCE("redis sentinel: a client without calls asks no sentinel, and asks anew later") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.server(0).cut();  // no call needs a connection
  REQUIRE(s.run_until([&] {
    int open = 0;
    for (const auto& one : s.sentinels) open += one->connections();
    return open == 0;
  }));
  s.server(1).become_primary();
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 2);
  CHECK(increment(s).value == 1);
  CHECK(s.server(1).integer("n") == 1);
}

CONFORMANCE("redis sentinel: a cancelled call leaves the search for the primary to the others") {
  sentinel_site s;
  for (int i = 0; i < 3; ++i) s.sentinel(i).pause();
  ending first;
  ending second;
  co_spawn(s.ctx, try_for_a_while(s, first), beck::detached);
  begin(s.db->exec<long>("INCR", "n"), second);
  REQUIRE(s.run_until([&] { return first.is_over; }));
  CHECK(first.ec == beck::error::timeout);
  CHECK(first.what == outcome::not_sent);
  for (int i = 0; i < 3; ++i) s.sentinel(i).resume();
  REQUIRE(s.run_until([&] { return second.is_over; }));
  CHECK(second.value == 1);
}

CONFORMANCE("redis sentinel: a context may be destroyed while calls are in every state") {
  for (int state = 0; state < 3; ++state) {
    auto alive = std::make_shared<int>(0);
    {
      sentinel_site s;
      if (state == 0) s.sentinel(0).pause();
      if (state == 0) s.sentinel(1).pause();
      if (state == 1) s.replicate(0);
      if (state == 2) increment(s);
      if (state == 2) s.server(0).pause();
      s.db->exec<long>("INCR", "n")([alive](beck::error_code, const redis::reply<long>&) {});
      for (int i = 0; i < 30; ++i) s.ctx.poll();
      CHECK(alive.use_count() > 1);
      s.ctx.restart();
    }
    CHECK(alive.use_count() == 1);
  }
}

CONFORMANCE("redis sentinel: a switch ends a handshake that hangs, and sentinels have the layer") {
  sentinel_site s;
  plain_layer layer;
  layer.hangs_at = 4;  // behind those of the sentinels
  s.db.emplace(s.ctx, "rediss" + s.url.substr(5),
               redis::client_options{.connect_timeout = 1h, .hold_timeout = 2h});
  s.db->secure(layer);
  ending e;
  begin(s.db->exec<long>("INCR", "n"), e);
  REQUIRE(s.run_until([&] { return layer.peers.size() == 4; }));
  s.settle();
  s.fail_over();
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.value == 1);
  CHECK(s.server(1).integer("n") == 1);
  CHECK(layer.peers.size() == 5);
}

CONFORMANCE("redis sentinel: commands that were sent before a refusal wait for their own") {
  sentinel_site s;
  int seen = 0;
  hand_server former(s.ctx, [&](const redis::arguments& command, redis::reply_writer& to) {
    if (command[0] == "ROLE") to.array(1).bulk(seen == 0 ? "master" : "slave");
    if (command[0] == "INCR" && ++seen == 1) to.error("READONLY You can't write.");
  });
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(former.url().substr(8), 1);
  std::vector<ending> all(3);
  begin(s.db->exec<long>("INCR", "n"), all[0]);
  begin(s.db->exec<long>("INCR", "n"), all[1]);
  REQUIRE(s.run_until([&] { return s.db->stats().waiting == 1; }));  // the first one
  begin(s.db->exec<long>("INCR", "n"), all[2]);
  for (int i = 0; i < 20; ++i) s.ctx.poll();
  CHECK(seen == 2);
  CHECK_FALSE(all[1].is_over);
  s.server(1).become_primary();
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 2);
  former.send("-READONLY You can't write.\r\n");
  REQUIRE(s.run_until([&] { return all[0].is_over && all[1].is_over && all[2].is_over; }));
  for (const ending& one : all) CHECK(!one.ec);
  CHECK(s.server(1).integer("n") == 3);
  CHECK(seen == 2);
}

CONFORMANCE("redis sentinel: a switch between the answer and the subscription is not missed") {
  sentinel_site s;
  s.server(1).become_primary();
  for (int i = 0; i < 3; ++i)
    s.sentinel(i).on_subscribe([&s, i] { s.sentinel(i).know(s.addresses[1], 2); });
  while (s.server(1).integer("n") == 0) increment(s);             // one may be lost
  for (int i = 0; i < 3; ++i) CHECK(s.sentinel(i).pings() == 0);  // not with a later question
}

CONFORMANCE("redis sentinel: a former answer is not used by the first call after a while") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.server(0).cut();  // no call needs a connection
  const auto open = [&] {
    int sum = 0;
    for (const auto& one : s.sentinels) sum += one->connections();
    return sum;
  };
  REQUIRE(s.run_until([&] { return open() == 0; }));
  for (int i = 0; i < 3; ++i) s.sentinel(i).pause();
  s.server(1).become_primary();
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 2);
  ending e;
  begin(s.db->exec<long>("INCR", "n"), e);
  REQUIRE(s.run_until([&] { return open() == 3; }));
  redis::client other(s.ctx, "redis://" + s.addresses[0]);
  for (int i = 0; i < 10; ++i) {  // so long the call could have gone there
    ending asked;
    begin(other.exec<long>("DBSIZE"), asked);
    REQUIRE(s.run_until([&] { return asked.is_over; }));
  }
  for (int i = 0; i < 3; ++i) s.sentinel(i).resume();
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(s.server(0).integer("n") == 1);
  CHECK(s.server(1).integer("n") == 1);
}

CONFORMANCE_ON(beck::test::sim, "redis sentinel: a switch that nothing announces is found") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.server(1).become_primary();
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 2);
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  CHECK(increment(s).value == 1);
}

CONFORMANCE_ON(beck::test::sim, "redis sentinel: a switch cuts the pause between attempts") {
  sentinel_site s({.hold_timeout = 1min});
  s.server(0).close();
  ending e;
  begin(s.db->exec<long>("INCR", "n"), e);
  beck::steady_timer later(s.ctx, 30s);  // the pauses are up to 5 s now
  bool is_later = false;
  later.async_wait([&](beck::error_code) { is_later = true; });
  REQUIRE(s.run_until([&] { return is_later; }));
  s.fail_over();
  beck::steady_timer limit(s.ctx, 200ms);
  bool is_late = false;
  limit.async_wait([&](beck::error_code ec) { is_late = !ec; });
  REQUIRE(s.run_until([&] { return e.is_over || is_late; }));
  CHECK(e.value == 1);
  limit.cancel();
  s.ctx.poll();  // its handler refers to this case
}
