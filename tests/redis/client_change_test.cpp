// SPDX-License-Identifier: BSL-1.0
// What changes under a client while it runs: the server behind its address, the login, and the
// version of the protocol; and what it says of itself.
#include <beck/redis/connector.hpp>
#include <beck/redis/subscription.hpp>

#include <beck/net/connect_stream.hpp>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "redis/client_site.hpp"
#include "redis/ending.hpp"
#include "redis/hand_server.hpp"
#include "redis/rotation.hpp"

using namespace beck::redis::test;

namespace {

/// A load balancer: new connections go to its present target, others stay where they are.
class balancer final : public redis::connector {
 public:
  std::uint16_t target = 0;
  int connects = 0;

  task<beck::io_result<beck::owned_stream>> connect(beck::any_io_executor on) override {
    ++connects;
    auto connecting = beck::ip::connect_stream(on, "127.0.0.1", target);
    auto connected = co_await std::move(connecting);
    co_return connected;
  }
};

/// A client whose connections go to one of two servers.
struct balanced_site : client_site {
  explicit balanced_site(const redis::client_options& how = redis::client_options())
      : client_site(how),
        second(ctx, beck::ip::tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0)) {
    way.target = server.port();
    db->connect_with(way);
  }
  /// Makes the second server the primary, as a failover behind an address that stays.
  void fail_over() {
    server.become_replica("127.0.0.1", second.port());
    way.target = second.port();
  }

  balancer way;
  redis::memory_server second;
};

task<> increment(redis::client& db, long expected) {
  const auto n = co_await db.exec<long>("INCR", "n");
  CHECK(n);
  CHECK(*n == expected);
}

}  // namespace

CONFORMANCE("redis client: a server that has become a replica is left for the one at its address") {
  balanced_site s;
  s.run(increment(*s.db, 1));
  s.fail_over();
  s.run([](redis::client& db) -> task<> {
    // Reads are answered where they were sent, and are not lost with the connection.
    ending write;
    begin(db.exec<long>("INCR", "n"), write);
    const auto read = co_await db.exec<std::optional<std::string>>("GET", "n");
    CHECK(**read == "1");
    const auto n = co_await db.exec<long>("INCR", "n");
    CHECK(*n == 2);
    CHECK(write.is_over);
    CHECK(write.value == 1);
  }(*s.db));
  CHECK(s.second.integer("n") == 2);
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis client: a transaction that a replica refuses runs at the server that follows") {
  balanced_site s;
  s.run(increment(*s.db, 1));
  s.fail_over();
  s.run([](redis::client& db) -> task<> {
    const auto both = co_await db.transaction(cmd<long>("INCR", "n"), cmd<long>("INCR", "n"));
    REQUIRE(both);
    CHECK(*std::get<1>(*both) == 2);
  }(*s.db));
  CHECK(s.second.integer("n") == 2);
}

CONFORMANCE_ON(beck::test::sim,
               "redis client: a replica that stays is left once a second at most") {
  client_site s;
  s.run(increment(*s.db, 1));
  s.server.become_replica("10.0.0.1", 6379);
  s.run([](client_site& at) -> task<> {
    for (int i = 0; i < 20; ++i) {
      const auto refused = co_await at.db->exec<long>("INCR", "n");
      CHECK(refused.error() == redis::error::readonly);
      CHECK(refused.outcome() == outcome::executed);
    }
    CHECK(at.db->stats().connections == 2);
    beck::steady_timer later(at.ctx, beck::duration(1'100'000'000));
    beck::ignore(co_await later.async_wait());
    at.server.become_primary();  // too late for the connection: it says so once more
    at.server.fail_next("INCR", "READONLY You can't write against a read only replica.");
    const auto n = co_await at.db->exec<long>("INCR", "n");
    CHECK(*n == 2);
    CHECK(at.db->stats().connections == 3);
  }(s));
}

CONFORMANCE("redis client: reconnect() leaves a connection behind the replies to what was sent") {
  balanced_site s;
  s.db->reconnect();  // there is none
  s.run(increment(*s.db, 1));
  s.way.target = s.second.port();
  s.server.pause();
  std::vector<ending> sent(3);
  for (ending& one : sent) begin(s.db->exec<long>("INCR", "n"), one);
  s.wait(beck::duration(5'000'000));
  s.db->reconnect();
  ending later;
  begin(s.db->exec<long>("INCR", "n"), later);
  s.server.resume();
  REQUIRE(s.run_until([&] { return later.is_over; }));
  for (long i = 0; i < 3; ++i) {
    CHECK(sent[static_cast<std::size_t>(i)].is_over);
    CHECK(sent[static_cast<std::size_t>(i)].value == 2 + i);
  }
  CHECK(later.value == 1);
  s.way.target = s.server.port();
  s.db->reconnect();  // nothing is under way
  s.run(increment(*s.db, 5));
  CHECK(s.db->stats().connections == 3);
}

CONFORMANCE_ON(beck::test::sim, "redis client: reconnect() ends the pause between two attempts") {
  balanced_site s({.hold_timeout = beck::duration::seconds(100)});
  s.way.target = 1;  // nothing listens there
  ending waits;
  begin(s.db->exec<long>("INCR", "n"), waits);
  REQUIRE(s.run_until([&] { return s.way.connects == 3; }));
  for (int i = 0; i < 5; ++i) {
    s.wait(beck::duration(1'000'000));
    const int before = s.way.connects;
    s.db->reconnect();
    s.wait(beck::duration(1'000'000));
    CHECK(s.way.connects > before);
  }
  s.way.target = s.server.port();
  s.db->reconnect();
  s.wait(beck::duration(10'000'000));
  CHECK(waits.is_over);
  CHECK(waits.value == 1);
}

CONFORMANCE(
    "redis client: reconnect() is a gap of subscriptions, and a lane of before is not used") {
  balanced_site s;
  s.run([](balanced_site& at) -> task<> {
    redis::subscription sub(*at.db);
    const auto on = co_await sub.add("news");
    CHECK(on);
    {
      auto lane = co_await at.db->lane();
      REQUIRE(lane);
      const auto first = co_await lane->exec<long>("INCR", "lane");
      CHECK(first);
    }
    at.fail_over();
    at.db->reconnect();
    const auto gap = co_await sub.next();
    REQUIRE(gap);
    CHECK(gap->is_gap());
    const auto heard = co_await at.db->exec<long>("PUBLISH", "news", "x");
    CHECK(*heard == 1);
    auto lane = co_await at.db->lane();
    REQUIRE(lane);
    const auto n = co_await lane->exec<long>("INCR", "lane");
    CHECK(*n == 1);
  }(s));
  CHECK(s.second.integer("lane") == 1);
}

CONFORMANCE("redis client: the login of each connection is asked for") {
  client_site s({}, {.password = "second"});
  rotation logins;
  logins.logins = {{"", "first"}, {"", "second"}, {"default", "second"}, {"", "second"}};
  s.db->login_with(logins);
  s.run([](client_site& at, rotation& from) -> task<> {
    const auto refused = co_await at.db->exec<long>("INCR", "n");
    CHECK(refused.error() == redis::error::wrongpass);
    CHECK(refused.error_text() == "WRONGPASS invalid username-password pair or user is disabled.");
    CHECK(refused.outcome() == outcome::not_sent);
    CHECK(from.asked == 1);
    co_await increment(*at.db, 1);
    CHECK(from.asked == 2);
    at.db->reconnect();
    co_await increment(*at.db, 2);
    CHECK(from.asked == 3);
    auto lane = co_await at.db->lane();
    REQUIRE(lane);
    const auto n = co_await lane->exec<long>("INCR", "n");
    CHECK(*n == 3);
    CHECK(from.asked == 4);
  }(s, logins));
}

CONFORMANCE("redis client: an error in place of a login is one of the connection") {
  client_site s({.fails_fast = true});
  rotation logins;
  logins.logins = {{"", ""}};
  logins.failure = beck::error::timeout;
  s.db->login_with(logins);
  s.run([](client_site& at, rotation& from) -> task<> {
    const auto failed = co_await at.db->exec<long>("INCR", "n");
    CHECK(failed.error() == beck::error::timeout);
    CHECK(failed.outcome() == outcome::not_sent);
    from.failure = beck::error_code();  // and then no login, as the server has no password
    co_await increment(*at.db, 1);
  }(s, logins));
}

CONFORMANCE("redis client: the server's words for a refused login reach the call") {
  client_site s({}, {.password = "secret"}, "app@");
  s.run([](redis::client& db) -> task<> {
    const auto refused = co_await db.exec<long>("INCR", "n");
    CHECK(refused.error() == redis::error::wrongpass);
    CHECK(refused.error_text() == "WRONGPASS invalid username-password pair or user is disabled.");
  }(*s.db));
}

CONFORMANCE("redis client: a name and the library are told to the server, which may refuse both") {
  beck::io_context ctx{::context_options()};
  std::vector<std::string> said;
  hand_server server(ctx, [&](const redis::arguments& command, redis::reply_writer& to) {
    std::string words;
    for (std::size_t i = 0; i < command.size(); ++i) words += std::string(command[i]) + " ";
    said.push_back(words);
    command[0] == "CLIENT" ? to.error("ERR unknown subcommand") : to.simple("PONG");
  });
  redis::client db(ctx, server.url(), {.name = "my app\n"});
  bool is_over = false;
  db.exec<std::string>("PING")([&](beck::error_code ec, const redis::reply<std::string>& r) {
    CHECK(!ec);
    CHECK(*r == "PONG");
    is_over = true;
    db.close();
  });
  REQUIRE(beck::redis::test::run_until(ctx, client_site::limit, [&] { return is_over; }));
  REQUIRE(said.size() == 4);
  CHECK(said[0] == "CLIENT SETNAME my-app- ");
  CHECK(said[1] == "CLIENT SETINFO LIB-NAME beck ");
  CHECK(said[2].starts_with("CLIENT SETINFO LIB-VER "));
  CHECK(said[3] == "PING ");
}

CONFORMANCE("redis client: a server that closes at HELLO is spoken to in RESP2") {
  client_site s;
  s.server.on_command([&](const redis::arguments& command) {
    if (command[0] == "HELLO") s.server.cut();
  });
  s.run([](redis::client& db) -> task<> {
    const std::map<std::string, int> fields{{"a", 1}, {"b", 2}};
    beck::ignore(co_await db.exec<void>("HSET", "h", redis::each(fields)));
    const auto got = co_await db.exec<std::map<std::string, int>>("HGETALL", "h");
    const bool same = *got == fields;
    CHECK(same);
  }(*s.db));
  CHECK(s.db->stats().connections == 1);
  s.run([](redis::client& db) -> task<> {  // it has no pushes there
    redis::subscription sub(db);
    const auto on = co_await sub.add("news");
    CHECK(on.error() == redis::error::noproto);
  }(*s.db));
}

CONFORMANCE("redis client: a server that was cut off at HELLO once is spoken to in RESP3") {
  client_site s({}, {.password = "secret"}, ":secret@");
  bool is_first = true;
  s.server.on_command([&](const redis::arguments& command) {
    if (command[0] == "HELLO" && std::exchange(is_first, false)) s.server.cut();
  });
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    const auto on = co_await sub.add("news");
    CHECK(on);
    const auto heard = co_await db.exec<long>("PUBLISH", "news", "x");
    CHECK(*heard == 1);
  }(*s.db));
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis client: a URL names the version, the database and a user without a password") {
  client_site s;
  int hellos = 0;
  s.server.on_command(
      [&](const redis::arguments& command) { hellos += command[0] == "HELLO" ? 1 : 0; });
  s.db.emplace(s.ctx, "valkey://" + s.address() + "?protocol=2&db=3");
  s.run(increment(*s.db, 1));
  CHECK(hellos == 0);
  CHECK(s.server.integer("n") == 0);  // which is that of database 0
  s.db.emplace(s.ctx, "redis://" + s.address() + "/?protocol=3");
  s.run(increment(*s.db, 1));
  CHECK(hellos == 1);
  CHECK(s.server.integer("n") == 1);
}
