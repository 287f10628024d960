// SPDX-License-Identifier: BSL-1.0
// Subscriptions whose connection is lost, or whose server unsubscribes them.
#include <beck/redis/subscription.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "redis/subscription_steps.hpp"

using namespace beck::redis::test;

CONFORMANCE(
    "redis subscription: a lost connection is made again without a call, and announced as a gap") {
  client_site s;
  redis::subscription sub(*s.db);
  redis::client other(s.ctx, "redis://" + s.address());
  s.run(add(sub, "a"));
  s.run(publish(other, "a", "before", 1));
  std::vector<std::string> seen;
  co_spawn(s.ctx, collect(sub, seen, 3), beck::detached);
  for (const char* const payload : {"after", "at last"}) {
    REQUIRE(s.run_until([&] { return !seen.empty() && s.db->stats().in_flight == 0; }));
    const std::uint64_t known = s.db->stats().connections;
    s.server.cut();
    REQUIRE(s.run_until([&] { return s.db->stats().connections > known; }));
    REQUIRE(s.run_until([&] { return seen.back() == "gap"; }));
    s.run([](redis::client& db, std::string text) -> task<> {
      for (;;) {  // its own connection was cut, too
        const auto r = co_await db.exec<long>("PUBLISH", "a", text);
        if (!r) continue;
        CHECK(*r == 1);
        co_return;
      }
    }(other, payload));
  }
  REQUIRE(s.run_until([&] { return seen.size() == 5; }));
  CHECK(seen == std::vector<std::string>{"before", "gap", "after", "gap", "at last"});
}

CONFORMANCE("redis subscription: no message of the next connection comes before the gap") {
  client_site s;
  std::vector<std::string> asked;
  bool answers = true;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    asked.emplace_back(c.size() > 1 && c[0] != "PING" ? std::string(c[0]) + " " + std::string(c[1])
                                                      : std::string(c[0]));
    if (answers || c[0] == "HELLO") answer_all(c, to);
  });
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  redis::subscription other(db);
  s.run(add(sub, "a"));
  s.run(add(sub, "b"));
  s.run(add(other, "b"));
  server.push("message", "a", "1");
  REQUIRE(s.run_until([&] { return queued(sub) == "1 "; }));
  answers = false;
  asked.clear();
  server.cut();
  REQUIRE(s.run_until([&] { return asked.size() >= 3; }));
  CHECK(asked == std::vector<std::string>{"subscribe a", "subscribe b", "PING"});
  bool echoed = false;
  db.exec<std::string>("ECHO", "x")([&](beck::error_code ec, const auto&) { echoed = !ec; });
  server.send(">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
  server.push("message", "a", "2");
  s.wait(beck::duration(2'000'000));
  CHECK(queued(sub) == "");
  CHECK(queued(other) == "");
  // Lost once more: the message is there, between two gaps.
  server.cut();
  asked.clear();
  REQUIRE(s.run_until([&] { return asked.size() >= 3; }));
  server.send(">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
  server.push("message", "a", "3");
  s.wait(beck::duration(2'000'000));
  CHECK(queued(sub) == "");
  server.send(">3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:1\r\n");
  server.push("message", "b", "4");
  std::string events;
  REQUIRE(s.run_until([&] { return (events += queued(sub)).ends_with("4 "); }));
  CHECK(events == "gap 2 gap 3 4 ");
  CHECK(queued(other) == "gap 4 ");
}

CONFORMANCE("redis subscription: a gap stays at its place when messages around it are dropped") {
  client_site s;
  int asked = 0;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    asked += c[0] == "subscribe" ? 1 : 0;
    answer_all(c, to);
  });
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db, {.events = 2});
  redis::subscription last(db);
  for (redis::subscription* const to : {&sub, &last}) s.run(add(*to, "a"));
  const auto send = [&](std::string payload) {
    server.push("message", "a", payload);
    std::vector<std::string> seen;
    s.run(collect(last, seen, 1));
    CHECK(seen.back() == payload);
  };
  const auto kinds = [&] {
    std::string text;
    for (auto e = sub.try_next(); e; e = sub.try_next())
      text += !e->is_gap() ? std::string(e->payload()) + " " : std::to_string(e->dropped()) + "! ";
    return text;
  };
  const auto cut = [&] {
    const int known = asked;
    server.cut();
    REQUIRE(s.run_until([&] { return asked > known; }));
  };
  for (const char* payload : {"1", "2"}) send(payload);
  cut();
  send("3");
  CHECK(kinds() == "1! 2 0! 3 ");
  for (const char* payload : {"4", "5"}) send(payload);
  cut();
  for (const char* payload : {"6", "7", "8"}) send(payload);
  CHECK(kinds() == "3! 0! 7 8 ");
  cut();
  cut();
  send("9");
  CHECK(kinds() == "0! 9 ");
}

CONFORMANCE("redis subscription: a channel that is refused on the next connection ends it") {
  client_site s;
  redis::subscription sub(*s.db);
  redis::subscription other(*s.db);
  s.run(add(sub, "a"));
  s.run(add(sub, "b"));
  s.run(add(other, "b"));
  s.run(publish(*s.db, "a", "1", 1));
  s.server.fail_next("subscribe", "NOPERM no permissions to access one of the channels");
  s.server.cut();
  std::vector<std::string> seen;
  s.run(collect(sub, seen, 2));
  CHECK(seen == std::vector<std::string>{"1", "ended"});
  const auto e = sub.try_next();
  CHECK(e.error() == redis::error::noperm);
  s.run(publish(*s.db, "a", "2", 0));
  s.run(publish(*s.db, "b", "3", 1));
  CHECK(queued(other) == "gap 3 ");
  CHECK(queued(sub) == "end");
}

CONFORMANCE("redis subscription: a channel that the server unsubscribes is subscribed again") {
  client_site s;
  int asked = 0;
  int refused = 0;  // answers with MOVED
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (c[0] == "ssubscribe") ++asked;
    if (c[0] == "ssubscribe" && refused != 0) {
      to.error("MOVED 1 127.0.0.1:7001");
    } else {
      answer_all(c, to);
    }
  });
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  s.run([](redis::subscription& to) -> task<> {
    const auto on = co_await to.add(redis::sharded("s"), "c");
    CHECK(on);
  }(sub));
  server.push("message", "s", "another kind");
  server.push("sunsubscribe", "never", "1");
  server.push("smessage", "s", "1");
  server.push("sunsubscribe", "s", "0");
  server.push("message", "c", "2");
  std::string events;
  REQUIRE(s.run_until([&] { return (events += queued(sub)).ends_with("2 "); }));
  CHECK(events == "1 gap 2 ");
  CHECK(asked == 2);
  refused = 1;
  server.push("sunsubscribe", "s", "0");
  REQUIRE(s.run_until([&] { return queued(sub) == "end"; }));
  CHECK(sub.try_next().error() == redis::error::moved);
  CHECK(server.connections() == 1);
}

CONFORMANCE_ON(beck::test::sim,
               "redis subscription: a server that unsubscribes again and again ends it") {
  client_site s;
  int asked = 0;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    answer_all(c, to);
    if (c[0] == "ssubscribe" && ++asked > 1) to.push(3).bulk("sunsubscribe").bulk(c[1]).integer(0);
  });
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  s.run([](redis::subscription& to) -> task<> {
    const auto on = co_await to.add(redis::sharded("s"));
    CHECK(on);
  }(sub));
  server.push("sunsubscribe", "s", "0");
  REQUIRE(s.run_until([&] { return queued(sub).ends_with("end"); }));
  CHECK(sub.try_next().error() == redis::error::moved);
  CHECK(asked == 16);
}

CONFORMANCE("redis subscription: answers that are out of step close the connection") {
  client_site s;
  bool is_wrong = true;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (c[0] == "subscribe" && std::exchange(is_wrong, false)) {
      to.push(3).bulk("subscribe").bulk(c[1]).integer(1).error("MOVED of another command");
    } else {
      answer_all(c, to);
    }
  });
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  beck::error_code why;
  bool done = false;
  db.exec<std::string>("ECHO", "x")([&](beck::error_code ec, const redis::reply<std::string>& r) {
    why = ec;
    CHECK(r.outcome() != redis::outcome::executed);
    done = true;
  });
  s.run(add(sub, "a"));
  REQUIRE(s.run_until([&] { return done; }));
  CHECK(why == redis::protocol_error::unexpected_reply);
  REQUIRE(s.run_until([&] { return server.connections() == 2; }));
  REQUIRE(s.run_until([&] { return queued(sub) == "gap "; }));
}

CONFORMANCE_ON(
    beck::test::sim,

    "redis subscription: a connection that only receives messages is pinged, and closed") {
  client_site s;
  int pings = 0;
  bool answers = true;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    pings += c[0] == "PING" && c.size() == 1 ? 1 : 0;
    if (answers) answer_all(c, to);
  });
  redis::client db(s.ctx, server.url(), {.ping_interval = 10ms, .silence_timeout = 60ms});
  redis::subscription sub(db);
  s.run(add(sub, "a"));
  const auto chat = [&] {
    server.push("message", "a", "x");
    s.wait(beck::duration(3'000'000));
  };
  while (pings < 2) chat();
  CHECK(server.connections() == 1);
  answers = false;
  for (int i = 0; i < 1000 && server.connections() == 1; ++i) chat();
  CHECK(server.connections() == 2);
}

CONFORMANCE("redis subscription: add() waits for a server that comes, and not for ever") {
  client_site s({.hold_timeout = 30ms});
  const beck::ip::tcp::endpoint at = s.server.endpoint();
  s.server.close();
  redis::subscription sub(*s.db);
  s.run([](redis::subscription& to) -> task<> {
    const auto refused = co_await to.add("a");
    CHECK(refused.error() == beck::error::connection_refused);
  }(sub));
  s.db.emplace(s.ctx, "redis://" + s.address());
  CHECK(queued(sub) == "end");
  redis::subscription next(*s.db);
  bool on = false;
  next.add("a")([&](beck::error_code ec) { on = !ec; });
  s.wait(beck::duration(1'000'000));
  CHECK(!on);
  redis::memory_server later(s.ctx, at);
  REQUIRE(s.run_until([&] { return on; }));
}

CONFORMANCE("redis subscription: a refused login ends add(), and a confirmed one waits on") {
  client_site s;
  redis::subscription sub(*s.db);
  s.run(add(sub, "a"));
  s.server.fail_next("HELLO", "WRONGPASS invalid username-password pair", 2);
  s.server.cut();
  beck::error_code why;
  sub.add("b")([&](beck::error_code ec) { why = ec; });
  REQUIRE(s.run_until([&] { return !!why; }));
  CHECK(why == redis::error::wrongpass);
  REQUIRE(s.run_until([&] { return queued(sub) == "gap "; }));
  s.run(publish(*s.db, "a", "x", 1));
  s.run(publish(*s.db, "b", "x", 0));
}

CONFORMANCE("redis subscription: the next connection speaks RESP2, and ends it") {
  client_site s;
  redis::subscription sub(*s.db);
  s.run(add(sub, "a"));
  s.server.fail_next("HELLO", "NOPROTO unsupported protocol version");
  s.server.cut();
  std::vector<std::string> seen;
  s.run(collect(sub, seen, 1));
  CHECK(seen == std::vector<std::string>{"ended"});
  CHECK(sub.try_next().error() == redis::error::noproto);
}

CONFORMANCE("redis subscription: a message before its confirmation is of the time before") {
  client_site s;
  bool answers = true;
  int left = 0;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    left += c[0] == "unsubscribe" ? 1 : 0;
    if (answers) answer_all(c, to);
  });
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  redis::subscription witness(db);
  s.run(add(sub, "a"));
  s.run(add(witness, "w"));
  answers = false;
  sub.remove("a");
  REQUIRE(s.run_until([&] { return left == 1; }));
  bool on = false;
  sub.add("a")([&](beck::error_code ec) { on = !ec; });
  server.push("message", "a", "before");
  server.push("message", "w", "1");
  REQUIRE(s.run_until([&] { return queued(witness) == "1 "; }));
  answers = true;
  server.send(">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n+beck-fence-3\r\n");
  REQUIRE(s.run_until([&] { return on; }));
  server.push("message", "a", "behind");
  server.push("message", "w", "2");
  REQUIRE(s.run_until([&] { return queued(witness) == "2 "; }));
  CHECK(queued(sub) == "behind ");
}

namespace {

/// Publishes until the channel has no subscribers.
task<beck::io_result<>> wait_for_none(redis::client& db, std::string channel) {
  for (;;) {
    const auto r = co_await db.exec<long>("PUBLISH", channel, "y");
    if (!r || *r == 0) co_return beck::io_result<>();
  }
}

}  // namespace

CONFORMANCE("redis subscription: an UNSUBSCRIBE that is refused for now is sent again") {
  client_site s;
  s.run([](redis::client& db, redis::memory_server& server) -> task<> {
    redis::subscription sub(db);
    beck::ignore(co_await sub.add("a", "b", "c"));
    server.fail_next("unsubscribe", "BUSY Redis is busy running a script.", 5);
    sub.remove("a", "b");
    beck::ignore(co_await db.exec<void>("PING"));
    const auto on = co_await sub.add("b");
    CHECK(on);
    co_await publish(db, "b", "x", 1);
    const auto at_last =
        co_await beck::timeout(wait_for_none(db, "a"), beck::duration(900'000'000));
    CHECK(!at_last.error());
    co_await publish(db, "b", "z", 1);
    co_await publish(db, "c", "z", 1);
    CHECK(queued(sub) == "x z z ");
  }(*s.db, s.server));
}

CONFORMANCE("redis subscription: a channel that is refused for now is due on the next connection") {
  client_site s;
  int refusals = 0;
  std::string asked;  // on the second connection, up to the fence
  bool is_fenced = false;
  hand_server* peer = nullptr;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (peer->connections() == 1 && c[0] == "subscribe" && c[1] == "b") {
      ++refusals;
      to.error("BUSY Redis is busy running a script.");
      return;
    }
    if (peer->connections() == 2 && c[0] == "PING") is_fenced = true;
    if (!is_fenced && c[0] == "subscribe") asked += std::string(c[1]) + " ";
    answer_all(c, to);
  });
  peer = &server;
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  s.run(add(sub, "a"));
  bool is_on = false;
  sub.add("b")([&](beck::error_code ec) { is_on = !ec; });
  REQUIRE(s.run_until([&] { return refusals == 4; }));
  asked.clear();
  server.cut();
  REQUIRE(s.run_until([&] { return is_on; }));
  CHECK((asked == "a b " || asked == "b a "));
}

CONFORMANCE_ON(
    beck::test::sim,
    "redis subscription: hold_timeout counts for add() from the last loss of a connection") {
  client_site s;
  hand_server* peer = nullptr;
  bool is_silent = false;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (peer->connections() == 1 && c[0] == "subscribe") is_silent = true;
    if (peer->connections() == 2) is_silent = false;
    if (!is_silent) answer_all(c, to);
  });
  peer = &server;
  redis::client db(s.ctx, server.url(), {.hold_timeout = beck::duration(3'000'000'000)});
  redis::subscription sub(db);
  s.run(add(sub, "a"));  // behind silence_timeout, which is longer
  CHECK(server.connections() == 2);
}

CONFORMANCE("redis subscription: add() ends if each connection is lost before it is confirmed") {
  client_site s;
  hand_server* closing = nullptr;
  bool is_closing = true;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (c[0] == "subscribe" && c[1] == "x" && is_closing) {
      closing->cut();
    } else {
      answer_all(c, to);
    }
  });
  closing = &server;
  redis::client db(s.ctx, server.url(), {.attempts = 3});
  redis::subscription sub(db);
  beck::error_code why;
  sub.add("x")([&](beck::error_code ec) { why = ec; });
  REQUIRE(s.run_until([&] { return !!why; }));
  CHECK(why == beck::error::eof);
  CHECK(server.connections() == 3);
  is_closing = false;
  s.run(add(sub, "x"));
}

CONFORMANCE_ON(beck::test::sim,
               "redis subscription: a server that never confirms again is asked less and less") {
  client_site s;
  hand_server* closing = nullptr;
  bool is_closing = false;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    is_closing ? closing->cut() : answer_all(c, to);
  });
  closing = &server;
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  s.run(add(sub, "a"));
  is_closing = true;
  server.cut();
  s.wait(beck::duration(60'000'000'000));
  CHECK(server.connections() > 10);
  CHECK(server.connections() < 60);
  is_closing = false;
  REQUIRE(s.run_until([&] { return queued(sub) == "gap "; }));
}
