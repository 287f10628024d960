// SPDX-License-Identifier: BSL-1.0
// The client with a server that behaves: replies by type, many calls on one connection, logins,
// refused calls, cancellation, and its end.
#include "redis/client_site.hpp"

#include <beck/coro/task_group.hpp>
#include <beck/coro/within.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/redirect_error.hpp>

#include <chrono>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

using namespace beck::redis::test;

namespace {

struct user {
  std::string name;
  int age = 0;
};
void redis_fields(auto& f, user& u) {
  f("name", u.name);
  f("age", u.age);
}

/// Increments `key` as often as `times` says, and checks that no other call's reply comes.
task<> increment(redis::client& db, std::string key, long times) {
  for (long i = 1; i <= times; ++i) {
    const auto r = co_await db.exec<long>("INCR", key);
    CHECK(r);
    CHECK(*r == i);
  }
}

}  // namespace

CONFORMANCE("redis client: commands are answered by the types of their replies") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    const auto set = co_await db.exec<void>("SET", "k", "hello", "EX", 60);
    CHECK(set);
    CHECK(set.outcome() == outcome::executed);
    const auto got = co_await db.exec<std::optional<std::string>>("GET", "k");
    CHECK(*got == "hello");
    const auto none = co_await db.exec<std::optional<std::string>>("GET", "nothing");
    CHECK(none);
    CHECK(!*none);
    const auto ttl = co_await db.exec<int>("TTL", "k");
    CHECK(*ttl == 60);
    const std::map<std::string, std::string> fields{{"name", "Ada"}, {"age", "36"}};
    beck::ignore(co_await db.exec<void>("HSET", "u", redis::each(fields)));
    const auto who = co_await db.exec<user>("HGETALL", "u");
    CHECK(who->name == "Ada");
    CHECK(who->age == 36);
    const auto wrong = co_await db.exec<long>("LPUSH", "k", 1);
    CHECK(wrong.error() == redis::error::wrongtype);
    CHECK(wrong.message().substr(0, 9) == "WRONGTYPE");
    CHECK(wrong.outcome() == outcome::executed);
  }(*s.db));
  CHECK(s.server.text("k") == "hello");
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis client: several commands have a reply each, and each its own error") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    const auto all = co_await db.exec(cmd<long>("INCR", "n"), cmd<std::string>("GET", "nothing"),
                                      cmd<long>("LLEN", "n"), cmd<std::string>("GET", "n"));
    CHECK(all);
    const auto& [n, none, wrong, text] = *all;
    CHECK(*n == 1);
    CHECK(none.error() == redis::error::null_reply);
    CHECK(wrong.error() == redis::error::wrongtype);
    CHECK(*text == "1");
    CHECK(text.outcome() == outcome::executed);
  }(*s.db));
  CHECK(s.db->stats().writes == 2);  // the greeting is one
}

CONFORMANCE("redis client: the commands of a request are answered in their order") {
  client_site s;
  redis::request q;
  for (int i = 0; i < 1000; ++i) q.push("SET", i, 3 * i).push("GET", i);
  redis::request empty;
  s.run([](redis::client& db, const redis::request& many, const redis::request& none) -> task<> {
    const auto all = co_await db.exec_each<std::string>(many);
    CHECK(all);
    CHECK(all->size() == 2000);
    bool right = true;
    for (std::size_t i = 0; i < 1000; ++i) {
      right &= *(*all)[2 * i] == "OK" && *(*all)[2 * i + 1] == std::to_string(3 * i);
    }
    CHECK(right);
    const auto nothing = co_await db.exec_each<long>(none);
    CHECK(nothing);
    CHECK(nothing->empty());
  }(*s.db, q, empty));
}

CONFORMANCE("redis client: calls that are there together go out with one write") {
  client_site s;
  constexpr int callers = 50;
  constexpr long times = 20;
  for (int i = 0; i < callers; ++i) s.start(increment(*s.db, "n" + std::to_string(i), times));
  REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  const redis::client_stats now = s.db->stats();
  CHECK(now.calls == callers * times);
  // One write for each of their rounds would be 20; a network that delivers the replies in pieces
  // makes groups of them.
  CHECK(now.writes < callers * times / 2);
  CHECK(now.waiting == 0);
  CHECK(now.in_flight == 0);
}

CONFORMANCE("redis client: all that waits is written, although nothing is answered") {
  client_site s;
  s.run(increment(*s.db, "n", 1));
  s.server.pause();
  redis::request q;
  for (int i = 0; i < 3000; ++i) q.push("GET", "a key of thirty bytes or so....");
  int done = 0;
  const auto note = [&](beck::error_code ec, const redis::reply<redis::reply_list<void>>&) {
    CHECK(!ec);
    ++done;
  };
  s.db->exec_each<void>(q)(note);
  s.db->exec_each<void>(q)(note);
  CHECK(s.run_until([&] { return s.db->stats().in_flight == 6000; }));
  s.server.resume();
  REQUIRE(s.run_until([&] { return done == 2; }));
}

CONFORMANCE(
    "redis client: a call in a scope that was stopped frees the value it would have read into") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    beck::stop_source stop;
    stop.request_stop();
    auto ask = cmd<std::string>("GET", "k");
    ask.read_into(std::string(1000, 'x'));  // AddressSanitizer looks for its memory at the end
    auto call = db.exec(std::move(ask));
    const auto got = co_await beck::with_stop(stop.get_token(), std::move(call));
    CHECK(got.error() == beck::error::operation_aborted);
  }(*s.db));
  CHECK(s.db->stats().calls == 0);
}

CONFORMANCE_ON(
    beck::test::kernel,
    "redis client: what a handler of another context has not taken yet holds no client") {
  beck::io_context home;
  std::string text;
  {
    client_site s;
    s.db->exec<std::string>("ECHO", "late")(beck::bind_executor(
        home.get_executor(),
        [&](beck::error_code, const redis::reply<std::string>& r) { text = *r; }));
    REQUIRE(s.run_until([&] { return s.db->stats().in_flight == 0 && s.server.commands() != 0; }));
  }
  CHECK(text.empty());
  home.run();
  CHECK(text == "late");
}

CONFORMANCE("redis client: handlers and values in the program's memory") {
  client_site s;
  char room[8];
  int calls = 0;
  s.db->exec<long>("INCR", "n")([&](beck::error_code ec, redis::reply<long> r) {
    CHECK(!ec);
    CHECK(*r == 1);
    ++calls;
  });
  s.db->exec(cmd(redis::into(beck::buffer(room)), "ECHO", "12345678"))(
      [&](beck::error_code ec, redis::reply<redis::into> r) {
        CHECK(!ec);
        CHECK(r->text() == "12345678");
        CHECK(r->text().data() == room);
        ++calls;
      });
  s.db->exec(cmd(redis::into(beck::buffer(room)), "ECHO", "123456789"))(
      [&](beck::error_code ec, redis::reply<redis::into>) {
        CHECK(ec == redis::error::reply_too_large);
        ++calls;
      });
  REQUIRE(s.run_until([&] { return calls == 3; }));
}

CONFORMANCE("redis client: as_tuple and redirect_error have the error of a reply") {
  client_site s;
  beck::error_code handled;
  s.db->exec<long>("LLEN", "none")(
      beck::redirect_error([](const redis::reply<long>& r) { CHECK(*r == 0); }, handled));
  s.run([](redis::client& db) -> task<> {
    const auto set = co_await db.exec<void>("SET", "text", "abc");
    CHECK(set);
    const auto [fine, n] = co_await db.exec<long>("STRLEN", "text")(beck::as_tuple);
    CHECK(!fine);
    CHECK(*n == 3);
    const auto [wrong, length] = co_await db.exec<long>("LLEN", "text")(beck::as_tuple);
    CHECK(wrong == redis::error::wrongtype);
    CHECK(length.error() == wrong);

    beck::error_code ec;
    const auto llen = co_await db.exec<long>("LLEN", "text")(beck::redirect_error(ec));
    CHECK(ec == redis::error::wrongtype);
    CHECK(!llen);
    const auto pair = co_await db.exec(cmd<long>("STRLEN", "text"),
                                       cmd<long>("LLEN", "text"))(beck::redirect_error(ec));
    CHECK(!ec);
    CHECK(std::get<1>(*pair).error() == redis::error::wrongtype);
  }(*s.db));
  CHECK(!handled);
}

CONFORMANCE("redis client: large values go out and come back whole, beside small ones") {
  client_site s;
  std::string large(1'000'000, ' ');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 23);
  s.start(increment(*s.db, "n", 200));
  s.run([](redis::client& db, const std::string& text) -> task<> {
    for (int i = 0; i < 3; ++i) {
      const auto set = co_await db.exec<void>("SET", "large", text);
      CHECK(set);
      const auto got = co_await db.exec<std::string>("GET", "large");
      const bool same = *got == text;
      CHECK(same);
    }
  }(*s.db, large));
}

CONFORMANCE("redis client: calls that a shared connection cannot carry are refused") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    const auto select = co_await db.exec<void>("SELECT", 1);
    CHECK(select.error() == redis::error::needs_lane);
    CHECK(select.outcome() == outcome::not_sent);
    const auto pair = co_await db.exec(cmd<long>("INCR", "n"), cmd<void>("BLPOP", "l", 0));
    CHECK(pair.error() == redis::error::needs_lane);
    CHECK(std::get<0>(*pair).error() == redis::error::needs_lane);
    redis::request q;
    q.push("INCR", "n").push("WATCH", "n");
    const auto each = co_await db.exec_each<void>(q);
    CHECK(each.error() == redis::error::needs_lane);
    CHECK((*each)[0].outcome() == outcome::not_sent);
    redis::request large(redis::request_limits{.argument_bytes = 3});
    large.push("GET", "longer");
    const auto refused = co_await db.exec_each<void>(large);
    CHECK(refused.error() == redis::error::request_too_large);
  }(*s.db));
  CHECK(s.server.integer("n") == 0);
  CHECK(s.db->stats().connections == 0);
}

CONFORMANCE("redis client: a limit of waiting calls refuses the next one") {
  client_site s({.waiting = 3});
  int ok = 0;
  int full = 0;
  for (int i = 0; i < 5; ++i) {
    s.db->exec<long>("INCR", "n")([&](beck::error_code ec, redis::reply<long> r) {
      if (ec == redis::error::queue_full) {
        CHECK(r.outcome() == outcome::not_sent);
        ++full;
      } else {
        CHECK(!ec);
        ++ok;
      }
    });
  }
  REQUIRE(s.run_until([&] { return ok + full == 5; }));
  CHECK(ok == 3);
  CHECK(full == 2);
}

CONFORMANCE(
    "redis client: limits of replies drop them, limits of the protocol end the connection") {
  redis::reply_limits small;
  small.text_bytes = 3;
  client_site s({.replies = small});
  s.run([](redis::client& db, redis::reply_limits larger) -> task<> {
    const auto dropped = co_await db.exec<std::string>("ECHO", "four");
    CHECK(dropped.error() == redis::error::reply_too_large);
    CHECK(dropped.outcome() == outcome::executed);
    const auto next = co_await db.exec<std::string>("ECHO", "two");
    CHECK(*next == "two");
    larger.text_bytes = 4;
    const auto own = co_await db.exec<std::string>("ECHO", "four").limits(larger);
    CHECK(*own == "four");
  }(*s.db, small));
  CHECK(s.db->stats().connections == 1);
  redis::parse_limits bounds;
  bounds.reply_bytes = 1000;
  s.db.emplace(s.ctx, "redis://" + s.address(), redis::client_options{.parsing = bounds});
  s.run([](redis::client& db) -> task<> {
    const auto refused = co_await db.exec<std::string>("ECHO", std::string(1000, 'x'));
    CHECK(refused.error() == redis::protocol_error::reply_too_large);
    CHECK(refused.outcome() == outcome::maybe_executed);
    const auto next = co_await db.exec<std::string>("ECHO", "two");
    CHECK(*next == "two");
  }(*s.db));
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis client: no more commands are under way than allowed") {
  client_site s({.in_flight = 3});
  s.run(increment(*s.db, "n", 1));
  s.server.pause();
  int done = 0;
  for (int i = 0; i < 10; ++i) {
    s.db->exec<long>("INCR", "n")([&, i](beck::error_code ec, const redis::reply<long>& r) {
      CHECK(!ec);
      CHECK(*r == 2 + i);
      ++done;
    });
  }
  s.wait(beck::duration(5'000'000));
  CHECK(s.db->stats().in_flight == 3);
  CHECK(s.db->stats().waiting == 7);
  s.server.resume();
  REQUIRE(s.run_until([&] { return done == 10; }));
}

CONFORMANCE("redis client: a time limit ends a call, and no other call notices") {
  client_site s;
  s.run(increment(*s.db, "before", 1));
  s.server.pause();
  s.run([](redis::client& db, redis::memory_server& server) -> task<> {
    const auto late = co_await beck::timeout(db.exec<long>("INCR", "n"), 5ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.outcome() == outcome::maybe_executed);
    server.resume();
    const auto text = co_await db.exec<std::string>("ECHO", "mine");
    CHECK(*text == "mine");
    const auto n = co_await db.exec<long>("INCR", "n");
    CHECK(*n == 2);
  }(*s.db, s.server));
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis client: a call that was not sent yet is taken back") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    beck::stop_source stop;
    stop.request_stop();
    const auto stopped = co_await beck::with_stop(stop.get_token(), db.exec<long>("INCR", "n"));
    CHECK(stopped.error() == beck::error::operation_aborted);
    CHECK(stopped.outcome() == outcome::not_sent);
    const auto n = co_await db.exec<long>("INCR", "n");
    CHECK(*n == 1);
  }(*s.db));
}

CONFORMANCE("redis client: a cancelled large value is sent whole, or not at all") {
  client_site s;
  s.run(increment(*s.db, "n", 1));
  s.server.pause();
  s.run([](redis::client& db, redis::memory_server& server) -> task<> {
    std::string large(8'000'000, 'x');  // more than the sockets hold
    {
      auto call = beck::timeout(db.exec<void>("SET", "large", large), 5ms);
      beck::steady_timer timer(db.get_executor(), 20ms);
      timer.async_wait([&](beck::error_code) { server.resume(); });  // lets the write end
      const auto cut = co_await std::move(call);
      CHECK(cut.error() == beck::error::timeout);
      CHECK(cut.outcome() == outcome::maybe_executed);
    }
    large.assign(large.size(), 'y');  // nothing refers to it any more
    const auto got = co_await db.exec<std::optional<std::string>>("GET", "large");
    const bool whole = *got == std::string(8'000'000, 'x');
    CHECK(whole);
  }(*s.db, s.server));
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis client: the end of the client ends its calls") {
  client_site s;
  s.run(increment(*s.db, "n", 1));
  s.server.pause();
  int ended = 0;
  const auto note = [&](beck::error_code ec, const redis::reply<long>&) {
    CHECK(ec == beck::error::operation_aborted);
    ++ended;
  };
  s.db->exec<long>("INCR", "n")(note);
  s.wait(beck::duration(1'000'000));
  s.db->exec<long>("INCR", "n")(note);
  s.db.reset();
  s.server.close();
  s.ctx.restart();
  s.ctx.run();
  CHECK(ended == 2);
}

CONFORMANCE("redis client: calls of a client that was closed end") {
  client_site s;
  s.run(increment(*s.db, "n", 1));
  s.db->close();
  s.run([](redis::client& db) -> task<> {
    const auto late = co_await db.exec<long>("INCR", "n");
    CHECK(late.error() == beck::error::operation_aborted);
    CHECK(late.outcome() == outcome::not_sent);
  }(*s.db));
  CHECK(s.server.integer("n") == 1);
}

CONFORMANCE("redis client: a context may be destroyed with calls under way") {
  int ended = 0;
  {
    client_site s;
    s.run(increment(*s.db, "n", 1));
    s.server.pause();
    const std::string large(4'000'000, 'x');
    for (int i = 0; i < 3; ++i) {
      s.db->exec<void>("SET", i,
                       large)([&](beck::error_code, const redis::reply<void>&) { ++ended; });
      s.start(increment(*s.db, "m", 1));
    }
    s.wait(beck::duration(1'000'000));
    s.db->exec<void>("SET", "k",
                     "v")([&](beck::error_code, const redis::reply<void>&) { ++ended; });
    s.db.reset();
    s.server.close();
  }
  CHECK(ended == 0);
}

CONFORMANCE("redis client: a login, a database, and servers that refuse them") {
  {
    client_site s({}, {.password = "secret"}, ":secret@");
    s.run(increment(*s.db, "n", 2));
    CHECK(s.server.integer("n") == 2);
  }
  {
    client_site s({}, {.password = "secret"}, "default:wrong@");
    s.run([](redis::client& db) -> task<> {
      const auto refused = co_await db.exec<long>("INCR", "n");
      CHECK(refused.error() == redis::error::wrongpass);
      CHECK(refused.outcome() == outcome::not_sent);
    }(*s.db));
  }
  client_site s;
  s.db.emplace(s.ctx, "redis://" + s.address() + "/3");
  s.run(increment(*s.db, "n", 2));
  CHECK(s.server.integer("n") == 0);  // which is that of database 0
  s.db.emplace(s.ctx, "redis://" + s.address() + "/99");
  s.run([](redis::client& db) -> task<> {
    const auto refused = co_await db.exec<long>("INCR", "n");
    CHECK(refused.error() == redis::error::err);
    CHECK(refused.outcome() == outcome::not_sent);
  }(*s.db));
}

CONFORMANCE("redis client: a server without RESP3 is logged in to in RESP2") {
  client_site s({}, {.password = "secret"}, ":secret@");
  s.server.fail_next("HELLO", "ERR unknown command 'HELLO'");
  s.run([](redis::client& db) -> task<> {
    const auto n = co_await db.exec<long>("INCR", "n");
    CHECK(*n == 1);
  }(*s.db));
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis client: a server without RESP3 is spoken to in RESP2") {
  client_site s;
  s.server.fail_next("HELLO", "ERR unknown command 'HELLO'");
  s.run([](redis::client& db) -> task<> {
    const std::map<std::string, int> fields{{"a", 1}, {"b", 2}};
    beck::ignore(co_await db.exec<void>("HSET", "h", redis::each(fields)));
    const auto got = co_await db.exec<std::map<std::string, int>>("HGETALL", "h");
    const bool same = *got == fields;
    CHECK(same);
    const auto none = co_await db.exec<std::optional<std::string>>("GET", "nothing");
    CHECK(none);
    CHECK(!*none);
  }(*s.db));
}
