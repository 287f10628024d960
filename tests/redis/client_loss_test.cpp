// SPDX-License-Identifier: BSL-1.0
// The client with servers that go, are silent, or were never there: commands that are sent again,
// calls that end, and the outcomes of both.
#include "redis/client_site.hpp"

#include <chrono>
#include <string_view>
#include <vector>

using namespace beck::redis::test;

namespace {

task<> set(redis::client& db, std::string key, std::string value) {
  const auto r = co_await db.exec<void>("SET", key, value);
  CHECK(r);
}

/// The connection is cut while `server` has a command and has not answered it.
struct interrupted {
  explicit interrupted(client_site& s) : site(s) {
    s.run(set(*s.db, "k", "v"));
    s.server.pause();
  }
  /// Cuts when as many commands as `commands` are on their way.
  void cut(std::uint64_t commands) {
    REQUIRE(site.run_until([&] { return site.db->stats().in_flight == commands; }));
    site.server.cut();
    site.server.resume();
  }
  client_site& site;
};

}  // namespace

CONFORMANCE("redis client: a command that only reads is sent again, one that writes is not") {
  client_site s;
  interrupted now(s);
  bool read = false;
  bool wrote = false;
  s.db->exec<std::string>("GET", "k")([&](beck::error_code ec, redis::reply<std::string> r) {
    CHECK(!ec);
    CHECK(*r == "v");
    CHECK(r.outcome() == outcome::executed);
    read = true;
  });
  s.db->exec<long>("INCR", "n")([&](beck::error_code ec, const redis::reply<long>& r) {
    CHECK(ec);
    CHECK(r.outcome() == outcome::maybe_executed);
    wrote = true;
  });
  now.cut(2);
  REQUIRE(s.run_until([&] { return read && wrote; }));
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis client: a command that may be repeated is sent again") {
  client_site s;
  interrupted now(s);
  bool done = false;
  s.db->exec<void>("SET", "k", "w")
      .retryable()([&](beck::error_code ec, const redis::reply<void>& r) {
        CHECK(!ec);
        CHECK(r.outcome() == outcome::executed);
        done = true;
      });
  now.cut(1);
  REQUIRE(s.run_until([&] { return done; }));
  CHECK(s.server.text("k") == "w");
}

CONFORMANCE("redis client: a call is not sent again for ever") {
  client_site s({.attempts = 3});
  s.run(set(*s.db, "k", "v"));
  int seen = 0;
  s.server.on_command([&](const redis::arguments& command) {
    if (command[0] != "GET") return;
    ++seen;
    s.server.cut();
  });
  bool done = false;
  s.db->exec<std::string>("GET", "k")([&](beck::error_code ec, const redis::reply<std::string>& r) {
    CHECK(ec);
    CHECK(r.outcome() == outcome::maybe_executed);
    done = true;
  });
  REQUIRE(s.run_until([&] { return done; }));
  CHECK(seen == 3);
}

CONFORMANCE(
    "redis client: calls that wait for a connection end with the reason why there is none") {
  client_site s;
  beck::ip::tcp::acceptor deaf(s.ctx);  // has the port, and does not listen
  deaf.open(beck::ip::tcp::v4());
  deaf.bind(beck::ip::tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0));
  const std::string url = "redis://127.0.0.1:" + std::to_string(deaf.local_endpoint().port());
  const auto refused = [](redis::client& db) -> task<> {
    const beck::time_point begin = beck::steady_now();
    const auto r = co_await db.exec<long>("INCR", "n");
    CHECK(r.error() == beck::error::connection_refused);
    CHECK(r.outcome() == outcome::not_sent);
    if (beck::test::current_backend() == beck::test::on_sim) {
      CHECK(beck::steady_now() - begin <= 31ms);
    }
  };
  s.db.emplace(s.ctx, url, redis::client_options{.hold_timeout = 30ms});
  s.run(refused(*s.db));
  s.db.emplace(s.ctx, url, redis::client_options{.hold_timeout = 1h, .fails_fast = true});
  s.run(refused(*s.db));
}

CONFORMANCE("redis client: a call waits for a server that comes later") {
  client_site s;
  const beck::ip::tcp::endpoint at = s.server.endpoint();
  s.server.close();
  bool done = false;
  s.db->exec<long>("INCR", "n")([&](beck::error_code ec, const redis::reply<long>& r) {
    CHECK(!ec);
    CHECK(*r == 1);
    done = true;
  });
  s.wait(beck::duration(1'000'000));
  CHECK(!done);
  redis::memory_server later(s.ctx, at);
  REQUIRE(s.run_until([&] { return done; }));
  CHECK(later.integer("n") == 1);
}

CONFORMANCE("redis client: a silent server is pinged, and its connection closed") {
  client_site s({.ping_interval = 10ms, .silence_timeout = 60ms});
  interrupted now(s);
  s.run([](redis::client& db, redis::memory_server& server) -> task<> {
    const auto r = co_await db.exec<long>("INCR", "n");
    CHECK(r.error() == redis::error::server_silent);
    CHECK(r.outcome() == outcome::maybe_executed);
    server.resume();
    const auto again = co_await db.exec<std::string>("GET", "k");
    CHECK(*again == "v");
  }(*s.db, s.server));
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis client: a server with too many clients is asked again") {
  client_site s({}, {.connections = 1});
  s.run(set(*s.db, "k", "v"));
  redis::client other(s.ctx, "redis://" + s.address());
  bool done = false;
  other.exec<std::string>("GET", "k")([&](beck::error_code ec, redis::reply<std::string> r) {
    CHECK(!ec);
    CHECK(*r == "v");
    done = true;
  });
  s.wait(beck::duration(20'000'000));
  CHECK(!done);
  s.db.reset();
  REQUIRE(s.run_until([&] { return done; }));
}

CONFORMANCE("redis client: commands that a server refuses for now are sent again") {
  client_site s;
  int seen = 0;
  s.server.on_command([&](const redis::arguments& c) { seen += c[0] == "INCR" ? 1 : 0; });
  s.server.fail_next("GET", "LOADING Redis is loading the dataset in memory", 3);
  s.server.fail_next("SET", "TRYAGAIN Multiple keys request during rehashing of slot", 2);
  s.run([](redis::client& db) -> task<> {
    // The first command runs once, the two behind it are refused at first.
    const auto all = co_await db.exec(cmd<long>("INCR", "n"), cmd<void>("SET", "k", "v"),
                                      cmd<std::optional<std::string>>("GET", "nothing"));
    const auto& [n, set, none] = *all;
    CHECK(*n == 1);
    CHECK(set);
    CHECK(none);
    CHECK(none.outcome() == outcome::executed);
  }(*s.db));
  CHECK(seen == 1);
  CHECK(s.server.text("k") == "v");
  s.server.fail_next("SET", "BUSY Redis is busy running a script.");
  s.run([](redis::client& db) -> task<> {
    // Behind the one that was refused another one has run: none is sent again.
    const auto all = co_await db.exec(cmd<void>("SET", "k", "w"), cmd<long>("INCR", "n"));
    CHECK(std::get<0>(*all).error() == redis::error::busy);
    CHECK(*std::get<1>(*all) == 2);
  }(*s.db));
  CHECK(s.server.text("k") == "v");
}

CONFORMANCE("redis client: a command that is refused for too long ends with the refusal") {
  client_site s({.hold_timeout = 50ms});
  s.server.fail_next("SET", "LOADING Redis is loading the dataset in memory", 1000);
  s.run([](redis::client& db) -> task<> {
    const auto r = co_await db.exec<void>("SET", "k", "v");
    CHECK(r.error() == redis::error::loading);
    const auto late = co_await beck::timeout(db.exec<void>("SET", "k", "v"), 25ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.outcome() == outcome::not_sent);
    const auto other = co_await db.exec<long>("INCR", "n");
    CHECK(*other == 1);
  }(*s.db));
}

CONFORMANCE_ON(beck::test::sim, "redis client: an idle connection is kept by pings") {
  client_site s;
  s.run(set(*s.db, "k", "v"));
  std::vector<std::string> seen;
  s.server.on_command([&](const redis::arguments& c) { seen.emplace_back(c[0]); });
  s.wait(beck::duration(21'000'000'000));
  REQUIRE(seen.size() >= 9);
  CHECK(seen.size() <= 11);
  for (const std::string& name : seen) CHECK(name == "PING");
  CHECK(s.db->stats().connections == 1);
  s.server.pause();
  s.wait(beck::duration(3'000'000'000));
  CHECK(s.db->stats().in_flight == 1);  // a PING
  s.server.cut();                       // no call waits: there is no new connection
  s.server.resume();
  s.wait(beck::duration(60'000'000'000));
  CHECK(s.db->stats().connections == 1);
  s.run(set(*s.db, "k", "w"));
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis client: a pipeline that is cut anywhere knows of each command") {
  std::size_t whole = 0;
  // Behind each byte of the replies to the greeting and to seven commands, until all have come.
  for (std::size_t bytes = 1; whole == 0; ++bytes) {
    REQUIRE(bytes < 1000);
    client_site s({.fails_fast = true, .attempts = 1});
    s.server.cut_after(bytes, 1);
    redis::request q;
    for (int i = 0; i < 7; ++i) q.push("INCR", "n");
    bool done = false;
    s.db->exec_each<long>(q)([&](beck::error_code ec, redis::reply<redis::reply_list<long>> all) {
      long executed = 0;
      long maybe = 0;
      for (std::size_t i = 0; i < 7; ++i) {
        const redis::reply<long>& one = (*all)[i];
        if (one) CHECK(*one == static_cast<long>(i) + 1);
        executed += one.outcome() == outcome::executed ? 1 : 0;
        maybe += one.outcome() == outcome::maybe_executed ? 1 : 0;
      }
      CHECK(s.server.integer("n") >= executed);
      CHECK(s.server.integer("n") <= executed + maybe);
      CHECK(!ec == (executed == 7));
      const std::size_t first = executed == 7 ? 6 : static_cast<std::size_t>(executed);
      CHECK(all.outcome() == (*all)[first].outcome());
      if (executed == 7) ++whole;
      done = true;
    });
    REQUIRE(s.run_until([&] { return done; }));
  }
}
