// SPDX-License-Identifier: BSL-1.0
// Lanes that are returned and taken again: their state is gone, their number is bounded, and
// those that nothing uses are closed.
#include "redis/client_site.hpp"

#include <beck/coro/this_coro.hpp>
#include <beck/coro/within.hpp>
#include <beck/net/local.hpp>
#include <beck/redis/connector.hpp>
#include <beck/run/stop_token.hpp>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

using namespace beck::redis::test;

namespace {

// With one lane the next one has to wait until the last one was returned.
constexpr redis::client_options one_lane{.lanes = 1};

/// Leaves state behind in a lane, and returns its number.
task<> leave_state(redis::client& db, std::int64_t& id) {
  auto lane = co_await db.lane();
  REQUIRE(lane);
  id = lane->id();
  const auto all =
      co_await lane->exec(cmd<void>("SELECT", 5), cmd<void>("WATCH", "n"),
                          cmd<void>("CLIENT", "SETNAME", "mine"), cmd<void>("SET", "k", "five"));
  CHECK(!all.error());
}

/// Takes a lane that must be as new.
task<> expect_new(redis::client& db, std::int64_t id, bool is_same) {
  const auto counted = co_await db.exec<long>("INCR", "n").retryable();
  CHECK(counted);
  auto lane = co_await db.lane();
  REQUIRE(lane);
  CHECK((lane->id() == id) == is_same);
  const auto value = co_await lane->exec<std::optional<std::string>>("GET", "k");
  CHECK(*value == std::nullopt);
  const auto name = co_await lane->exec<std::optional<std::string>>("CLIENT", "GETNAME");
  CHECK(*name == std::nullopt);
  const auto all = co_await lane->transaction(cmd<long>("INCR", "n"));
  CHECK(all);
  const auto map = co_await lane->exec<redis::value>("CLIENT", "ID");
  CHECK(map);
}

task<> hold(redis::client& db, std::optional<redis::lane>& to, std::vector<int>& order,
            int number) {
  auto lane = co_await db.lane();
  REQUIRE(lane);
  to.emplace(std::move(lane).value());
  order.push_back(number);
}

}  // namespace

CONFORMANCE("redis lane: a returned connection is used again, without its state") {
  for (const bool has_password : {false, true}) {
    redis::memory_server_options served;
    if (has_password) served.password = "secret";
    client_site s(one_lane, served, has_password ? ":secret@" : "");
    std::int64_t id = 0;
    s.run(leave_state(*s.db, id));
    s.run(expect_new(*s.db, id, true));
    s.run(expect_new(*s.db, id, true));
    CHECK(s.server.connections() == 2);
  }
}

CONFORMANCE("redis lane: a returned connection is used again in RESP2") {
  client_site s(one_lane);
  s.server.fail_next("HELLO", "ERR unknown command `HELLO`, with args beginning with: `3`, ", 2);
  std::int64_t id = 0;
  s.run(leave_state(*s.db, id));
  s.run(expect_new(*s.db, id, true));
}

CONFORMANCE("redis lane: a server without RESET, and a state that stays, close the connection") {
  client_site s(one_lane);
  std::int64_t id = 0;
  s.server.fail_next("RESET", "ERR unknown command `RESET`, with args beginning with: ");
  s.run(leave_state(*s.db, id));
  s.run(expect_new(*s.db, id, false));
  for (const auto& [what, how] :
       {std::pair("NO-EVICT", "ON"), std::pair("REPLY", "OFF"), std::pair("REPLY", "SKIP")}) {
    CAPTURE(what);
    s.run([](redis::client& db, std::int64_t& to, std::string sub, std::string mode) -> task<> {
      auto lane = co_await db.lane();
      REQUIRE(lane);
      to = lane->id();
      const auto kept = co_await lane->exec<void>("CLIENT", sub, mode);
      CHECK(kept);
    }(*s.db, id, what, how));
    s.run(expect_new(*s.db, id, false));
  }
}

CONFORMANCE("redis lane: a connection that is returned with calls under way is closed") {
  client_site s({.lanes = 1});
  std::int64_t id = 0;
  bool ended = false;
  s.run([](client_site& site, std::int64_t& to, bool& over) -> task<> {
    auto lane = co_await site.db->lane();
    REQUIRE(lane);
    to = lane->id();
    lane->exec<redis::value>("BLPOP", "q",
                             0)([&over](beck::error_code ec, const redis::reply<redis::value>& r) {
      CHECK(ec == beck::error::operation_aborted);
      CHECK(r.outcome() == outcome::maybe_executed);
      over = true;
    });
    const auto n = co_await site.db->exec<long>("LLEN", "q");
    CHECK(*n == 0);
  }(s, id, ended));
  s.run(expect_new(*s.db, id, false));
  CHECK(ended);
}

CONFORMANCE("redis lane: calls wait in order for a free place, and a cancelled call takes none") {
  client_site s({.waiting = 3, .lanes = 2});
  std::optional<redis::lane> held[6];
  std::vector<int> order;
  s.run(hold(*s.db, held[0], order, 0));
  s.run(hold(*s.db, held[1], order, 1));
  s.run([](redis::client& db) -> task<> {
    const auto late = co_await beck::timeout(db.lane(), 1ms);
    CHECK(late.error() == beck::error::timeout);
  }(*s.db));
  for (int i = 2; i < 5; ++i) s.start(hold(*s.db, held[i], order, i));
  s.ctx.poll();
  s.run_until([&] { return true; });
  int refused = 0;
  s.start([](redis::client& db, int& sum) -> task<> {
    const auto full = co_await db.lane();
    CHECK(full.error() == redis::error::queue_full);
    ++sum;
  }(*s.db, refused));
  REQUIRE(s.run_until([&] { return refused == 1; }));
  CHECK(s.server.connections() == 2);
  for (int i = 0; i < 3; ++i) {
    held[i].reset();
    REQUIRE(s.run_until([&] { return order.size() == static_cast<std::size_t>(i) + 3; }));
    CHECK(order.back() == i + 2);
    CHECK(s.server.connections() == 2);
  }
  held[3].reset();
  held[4].reset();
  std::int64_t id = 0;
  s.run(leave_state(*s.db, id));
}

CONFORMANCE("redis lane: a call that waits for a lane ends with the client") {
  client_site s({.lanes = 1});
  std::optional<redis::lane> held;
  std::vector<int> order;
  s.run(hold(*s.db, held, order, 0));
  int ended = 0;
  for (int i = 0; i < 3; ++i) {
    s.start([](redis::client& db, int& sum) -> task<> {
      const auto none = co_await db.lane();
      CHECK(none.error() == beck::error::operation_aborted);
      ++sum;
    }(*s.db, ended));
  }
  s.start([](redis::client& db) -> task<> {
    db.close();
    const auto none = co_await db.lane();
    CHECK(none.error() == beck::error::operation_aborted);
  }(*s.db));
  REQUIRE(s.run_until([&] { return ended == 3; }));
  held.reset();
}

CONFORMANCE("redis lane: a cancelled lane() leaves its place to the next call") {
  client_site s({.lanes = 1});
  s.server.pause();
  s.run([](client_site& site) -> task<> {
    const auto late = co_await beck::timeout(site.db->lane(), 1ms);
    CHECK(late.error() == beck::error::timeout);
    site.server.resume();
    const auto next = co_await site.db->lane();
    CHECK(next);
  }(s));
}

CONFORMANCE("redis lane: a lane() that is cancelled before its number came has one later") {
  client_site s(one_lane);
  beck::stop_source stop;
  s.server.on_command([&](const redis::arguments& c) {
    if (c[0] == "CLIENT") stop.request_stop();
  });
  s.run([](client_site& site, beck::stop_token token) -> task<> {
    const auto none = co_await beck::with_stop(std::move(token), site.db->lane());
    CHECK(none.error() == beck::error::operation_aborted);
    auto lane = co_await site.db->lane();
    REQUIRE(lane);
    CHECK(lane->id() != 0);
    const auto id = co_await lane->exec<long>("CLIENT", "ID");
    CHECK(*id == lane->id());
  }(s, stop.get_token()));
}

CONFORMANCE_ON(beck::test::sim, "redis lane: one that nothing uses is closed, and run() returns") {
  client_site s({.lanes = 1, .idle_timeout = 10s});
  std::int64_t id = 0;
  s.run(leave_state(*s.db, id));
  s.wait(9s);
  s.run(expect_new(*s.db, id, true));
  s.wait(9s);
  CHECK(s.server.connections() == 2);
  s.wait(2s);
  CHECK(s.server.connections() == 1);  // the client's
  s.run(expect_new(*s.db, id, false));
  s.server.close();
  s.ctx.restart();
  s.ctx.run();
}

CONFORMANCE("redis lane: an idle connection that reconnect() ends frees no second place") {
  client_site s(one_lane);
  std::int64_t id = 0;
  for (int i = 0; i < 3; ++i) {
    s.run(leave_state(*s.db, id));
    s.run(expect_new(*s.db, id, true));
    s.wait(5ms);
    s.db->reconnect();
    s.wait(5ms);  // the idle connection ends
  }
  std::optional<redis::lane> held;
  std::vector<int> order;
  s.run(hold(*s.db, held, order, 0));
  s.run([](redis::client& db) -> task<> {
    const auto late = co_await beck::timeout(db.lane(), 5ms);
    CHECK(late.error() == beck::error::timeout);
  }(*s.db));
}

CONFORMANCE("redis lane: a connection that is cut while nothing uses it is not taken") {
  client_site s(one_lane);
  std::int64_t id = 0;
  s.run(leave_state(*s.db, id));
  s.run(expect_new(*s.db, id, true));
  s.server.cut();
  s.wait(1ms);  // until the client knows
  s.run(expect_new(*s.db, id, false));
}

CONFORMANCE("redis lane: a connection that was lost before it was returned leaves its place") {
  client_site s(one_lane);
  s.run([](client_site& site) -> task<> {
    auto lost = co_await site.db->lane();
    REQUIRE(lost);
    site.server.cut();
    const auto late = co_await lost->exec<long>("INCR", "n");
    CHECK(late.error());
    beck::steady_timer timer(site.ctx, 1ms);  // all of the connection ends
    beck::ignore(co_await timer.async_wait());
  }(s));
  std::int64_t id = 0;
  s.run(leave_state(*s.db, id));
}

CONFORMANCE("redis lane: over a UNIX socket") {
  client_site s;
  if (beck::test::current_backend() == beck::test::on_sim) SKIP_CASE("the simulator has no files");
  beck::test::temporary_folder folder("/tmp");
  redis::memory_server local(s.ctx, beck::local::stream_protocol::endpoint(folder.path("s")));
  s.db.emplace(s.ctx, "unix://" + folder.path("s") + "?db=1", one_lane);
  std::int64_t id = 0;
  s.run(leave_state(*s.db, id));
  s.run(expect_new(*s.db, id, true));
}

TEST_CASE("redis lane: a context that is destroyed under a client with an idle lane frees both") {
  beck::io_context back;
  const beck::ip::tcp::endpoint any(beck::ip::address_v4::loopback(), 0);
  redis::memory_server server(back, any);
  auto front = std::make_unique<beck::io_context>();
  bool is_idle = false;
  const auto own = [&]() -> task<> {
    const beck::any_io_executor here = co_await beck::this_coro::executor;
    redis::client db(here, "redis://127.0.0.1:" + std::to_string(server.port()));
    { beck::ignore(co_await db.lane()); }
    beck::steady_timer timer(here, 20ms);  // the lane is made as new
    beck::ignore(co_await timer.async_wait());
    server.pause();
    is_idle = true;
    beck::ignore(co_await db.exec<long>("INCR", "n"));
  };
  beck::co_spawn(*front, own, beck::detached);
  while (!is_idle) {
    front->run_for(beck::duration(1'000'000));
    back.run_for(beck::duration(1'000'000));
  }
  front.reset();  // would end the program if something of it were left
}
