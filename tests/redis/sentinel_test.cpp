// SPDX-License-Identifier: BSL-1.0
// A client of the primary that sentinels name: it is found, checked, left for another one, and its
// name may be unknown.
#include <beck/redis/client.hpp>

#include <doctest/doctest.h>

#include <beck/coro/timeout.hpp>
#include <beck/redis/subscription.hpp>

#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "redis/client/sentinels.hpp"
#include "redis/rotation.hpp"
#include "redis/sentinel_site.hpp"

using namespace beck::redis::test;

namespace {

redis::detail::sentinel_answer answer(long epoch, const char* host) {
  redis::detail::sentinel_answer made;
  made.word = redis::detail::sentinel_word::known;
  made.epoch = epoch;
  made.at = {host, 6379};
  return made;
}

/// Returns the host that is chosen; "-": none.
std::string chosen(const std::vector<redis::detail::sentinel_answer>& all,
                   const redis::detail::sentinel_answer* now = nullptr) {
  std::vector<const redis::detail::sentinel_answer*> pointers;
  for (const auto& one : all) pointers.push_back(&one);
  const auto* const best = redis::detail::choose_primary(pointers, now);
  return best != nullptr ? best->at.host : "-";
}

task<> use_lanes(sentinel_site& s) {
  auto lane = co_await s.db->lane();
  REQUIRE(!lane.error());
  const auto watched = co_await lane->exec<void>("WATCH", "k");
  CHECK(!watched.error());
  s.fail_over();
  const auto lost =
      co_await lane->exec<std::optional<std::pair<std::string, std::string>>>("BLPOP", "q", 0);
  CHECK(lost.error() == redis::error::not_primary);
  auto next = co_await s.db->lane();
  REQUIRE(!next.error());
  const auto pushed = co_await next->exec<long>("LPUSH", "q", 1);
  CHECK(pushed.value() == 1);
  CHECK(s.server(1).exists("q"));
  // A refusal is the reply of a lane, and its end.
  s.replicate(1);
  const auto refused = co_await next->exec<long>("LPUSH", "q", 2);
  CHECK(refused.error() == redis::error::readonly);
  CHECK(refused.outcome() == outcome::executed);
  const auto later = co_await next->exec<long>("LLEN", "q");
  CHECK(later.error() == redis::error::readonly);
  CHECK(later.outcome() == outcome::not_sent);
}

task<> follow_news(sentinel_site& s) {
  redis::subscription sub(*s.db);
  const auto on = co_await sub.add("news");
  CHECK(!on.error());
  s.fail_over();
  auto gap = co_await sub.next();
  REQUIRE(!gap.error());
  CHECK(gap.value_.is_gap());
  const auto heard = co_await s.db->exec<long>("PUBLISH", "news", "x");
  CHECK(heard.value() == 1);
  auto message = co_await sub.next();
  CHECK(message.value_.payload() == "x");
  CHECK(s.server(0).connections() == 0);
}

task<> use_replica(sentinel_site& s) {
  redis::client replica(s.ctx, "redis://" + s.addresses[1]);
  const auto role = co_await replica.exec<redis::value>("ROLE");
  CHECK((*role->root().begin()).text() == "slave");
  const auto refused = co_await replica.exec<void>("SET", "k", 1);
  CHECK(refused.error() == redis::error::readonly);
  const auto flushed = co_await replica.exec<void>("FLUSHALL");
  CHECK(flushed.error() == redis::error::readonly);
  const auto read = co_await replica.exec<std::optional<std::string>>("GET", "k");
  CHECK(!read.error());
  const auto heard = co_await replica.exec<long>("PUBLISH", "c", 1);
  CHECK(!heard.error());
  const auto whole = co_await replica.transaction(cmd<void>("SET", "k", 1), cmd<long>("DBSIZE"));
  CHECK(whole.error() == redis::error::exec_abort);
  CHECK(std::get<0>(*whole).error() == redis::error::readonly);
  s.server(1).become_primary();
  const auto taken = co_await replica.exec<void>("SET", "k", 1);
  CHECK(!taken.error());
  const auto now = co_await replica.exec<redis::value>("ROLE");
  CHECK((*now->root().begin()).text() == "master");
}

}  // namespace

TEST_CASE("redis sentinel: the newest configuration counts, and most sentinels are waited for") {
  const redis::detail::sentinel_answer none;
  redis::detail::sentinel_answer failed;
  failed.word = redis::detail::sentinel_word::failed;
  const auto a1 = answer(1, "a");
  const auto a2 = answer(2, "a");
  const auto b1 = answer(1, "b");
  const auto b2 = answer(2, "b");
  CHECK(chosen({}) == "-");
  CHECK(chosen({none, none, none}) == "-");
  CHECK(chosen({a1, none, none}) == "-");  // the others may know a newer one
  CHECK(chosen({a1, a1, none}) == "a");
  CHECK(chosen({a1, failed, none}) == "-");
  CHECK(chosen({a1, failed, failed}) == "a");
  CHECK(chosen({a1, b2, none}) == "b");
  CHECK(chosen({a1, a1, b2}) == "b");
  CHECK(chosen({b2, a1, a1}) == "b");
  // Equal epochs: that of most, or that of now.
  CHECK(chosen({a1, b1, b1}) == "b");
  CHECK(chosen({a1, b1, failed}) == "a");
  CHECK(chosen({a1, b1, failed}, &b1) == "b");
  CHECK(chosen({b1, a1, failed}, &a2) == "a");
  // A few sentinels do not lead back.
  CHECK(chosen({a1, failed, failed}, &b2) == "b");
  CHECK(chosen({a1, none, none}, &b2) == "b");
  CHECK(chosen({b2, failed, failed}, &a1) == "b");
  CHECK(chosen({a1, a1, failed}, &b2) == "a");  // most may: they were set up anew
  CHECK(chosen({failed, failed, failed}, &b2) == "-");
}

TEST_CASE("redis sentinel: URLs name the sentinels, the primary, the database and two logins") {
  using redis::detail::parse_sentinel_url;
  const auto url = parse_sentinel_url(
      "redis+sentinel://app:s%40crt@h1,h2:7,[::1],[::2]:8/my%20master/3?sentinel_login=u:p%2F");
  REQUIRE(url.sentinels.size() == 4);
  CHECK(url.sentinels[0].host == "h1");
  CHECK(url.sentinels[0].port == 26379);
  CHECK(url.sentinels[1].port == 7);
  CHECK(url.sentinels[2].host == "::1");
  CHECK(url.sentinels[2].port == 26379);
  CHECK(url.sentinels[3].port == 8);
  CHECK(url.sentinels[3].user == "u");
  CHECK(url.sentinels[3].password == "p/");
  CHECK_FALSE(url.sentinels[0].must_be_primary);
  CHECK(url.name == "my master");
  CHECK(url.primary.user == "app");
  CHECK(url.primary.password == "s@crt");
  CHECK(url.primary.database == 3);
  CHECK(url.primary.must_be_primary);
  CHECK_FALSE(url.primary.is_secure);
  const auto secure = parse_sentinel_url("rediss+sentinel://h/m");
  CHECK(secure.primary.is_secure);
  CHECK(secure.sentinels[0].is_secure);
  CHECK(secure.sentinels[0].password.empty());
  std::string many = "redis+sentinel://h";
  for (int i = 1; i < 32; ++i) many += ",h";
  CHECK(parse_sentinel_url(many + "/m").sentinels.size() == 32);
  for (const std::string& text :
       {std::string("redis+sentinel://h"), std::string("redis+sentinel://h/"),
        std::string("redis+sentinel:///m"), std::string("redis+sentinel://h,,g/m"),
        std::string("redis+sentinel://h/m/x"), std::string("redis+sentinel://h/m/1/2"),
        std::string("redis+sentinel://h:99999/m"), std::string("redis+sentinel://h/m?db=1"),
        std::string("redis+sentinel://h/m?sentinel_login=a:b/c"),
        std::string("redis+sentinel://user@h/m"), many + ",h/m"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_sentinel_url(text), std::invalid_argument);
  }
}

CONFORMANCE("redis sentinel: a client finds the primary, logs in there and selects its database") {
  sentinel_site s({}, {.password = "secret"}, "default:secret@", "/2");
  const ending e = increment(s);
  CHECK(!e.ec);
  CHECK(e.value == 1);
  CHECK(s.server(0).integer("n") == 0);  // in another database
  CHECK(s.server(0).connections() == 1);
  CHECK(s.server(1).connections() == 0);
}

CONFORMANCE(
    "redis sentinel: the login at each primary is asked for, and is none of the sentinels") {
  rotation logins;
  logins.logins = {{"", "secret"}};
  sentinel_site s({}, {.password = "secret"});
  s.db->login_with(logins);
  CHECK(increment(s).value == 1);
  CHECK(logins.asked == 1);
  s.settle();
  s.fail_over();
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  CHECK(increment(s).value == 1);
  CHECK(s.server(1).integer("n") == 1);
  CHECK(logins.asked == 2);
}

CONFORMANCE("redis sentinel: an announced switch ends the connection to a primary that goes on") {
  sentinel_site s;
  CHECK(increment(s).value == 1);
  s.settle();
  s.fail_over();
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  CHECK(increment(s).value == 1);
  CHECK(s.server(0).integer("n") == 1);  // although it takes writes
  CHECK(s.server(1).integer("n") == 1);
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis sentinel: one sentinel's announcement is enough, and other names do not count") {
  sentinel_site s;
  increment(s);
  s.settle();
  const int asked = s.sentinel(1).asked();
  s.sentinel(1).announce(s.addresses[0], "other");
  s.sentinel(1).announce(s.addresses[0], "mymaster2");
  s.server(1).become_primary();
  s.sentinel(2).switch_to(s.addresses[1], 2);
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  CHECK(s.sentinel(1).asked() == asked);
  CHECK(increment(s).value == 1);
  CHECK(s.server(1).integer("n") == 1);
}

CONFORMANCE("redis sentinel: a sentinel that is behind does not lead to the former primary") {
  sentinel_site s;
  s.server(1).become_primary();  // and 0 still says that it is one
  s.sentinel(1).know(s.addresses[1], 2);
  s.sentinel(2).pause();
  ending e;
  begin(s.db->exec<long>("INCR", "n"), e);
  REQUIRE(s.run_until([&] { return s.sentinel(0).asked() > 0 && s.sentinel(1).asked() > 0; }));
  s.sentinel(2).resume();
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(s.server(1).integer("n") == 1);
  CHECK(s.server(0).integer("n") == 0);
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis sentinel: without epochs the primary of most sentinels counts") {
  sentinel_site s;
  s.server(1).become_primary();
  for (int i = 0; i < 3; ++i) s.sentinel(i).hide_epoch();
  s.sentinel(1).know(s.addresses[1], 0);
  s.sentinel(2).know(s.addresses[1], 0);
  while (s.server(1).integer("n") == 0) increment(s);  // a first answer may be that of one
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
}

CONFORMANCE("redis sentinel: a server that says it is a replica gets no command") {
  sentinel_site s;
  s.replicate(0);  // no primary at all, and the sentinels do not know it yet
  ending e;
  begin(s.db->exec<long>("INCR", "n"), e);
  REQUIRE(s.run_until([&] { return s.server(0).commands() >= 4; }));  // HELLO and ROLE, twice
  CHECK_FALSE(e.is_over);
  s.fail_over();
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.value == 1);
  CHECK(s.db->stats().connections == 1);
  CHECK(s.server(1).integer("n") == 1);
}

CONFORMANCE("redis sentinel: calls that wait for a primary end at hold_timeout, and say why") {
  sentinel_site s({.hold_timeout = 50ms});
  s.replicate(0);
  const ending e = increment(s);
  CHECK(e.ec == redis::error::not_primary);
  CHECK(e.what == outcome::not_sent);
}

CONFORMANCE("redis sentinel: an unknown name ends the calls at once, and the error names it") {
  sentinel_site s;
  for (int i = 0; i < 3; ++i) s.sentinel(i).know("", 0);
  const ending e = increment(s);
  CHECK(e.ec == redis::error::unknown_primary);
  CHECK(e.what == outcome::not_sent);
  CHECK(e.text.find("no sentinel names the primary \"mymaster\": ") == 0);
  CHECK(e.text.find(s.sentinel(2).address() + ": it knows none") != std::string::npos);
  CHECK(s.sentinel(0).asked() <= 3);  // not as often as within hold_timeout
  // One that knows it is enough.
  s.sentinel(1).know(s.addresses[0], 1);
  REQUIRE(s.run_until([&] { return increment(s).value == 1; }));
}

CONFORMANCE("redis sentinel: without any sentinel calls end with the reason of each") {
  sentinel_site s({.fails_fast = true});
  for (int i = 0; i < 3; ++i) s.sentinel(i).kill();
  const ending e = increment(s);
  CHECK(e.ec == std::errc::connection_refused);
  CHECK(e.what == outcome::not_sent);
  for (int i = 0; i < 3; ++i)
    CHECK(e.text.find(s.sentinel(i).address() + ": Connection refused") != std::string::npos);
  s.sentinel(2).revive();
  REQUIRE(s.run_until([&] { return increment(s).value == 1; }));
}

CONFORMANCE("redis sentinel: sentinels may be lost while the primary stays") {
  sentinel_site s;
  increment(s);
  s.settle();
  for (int i = 0; i < 3; ++i) s.sentinel(i).kill();
  for (int i = 0; i < 3; ++i) CHECK(increment(s).value == 2 + i);
  CHECK(s.db->stats().connections == 1);
  // They come back with another primary, which nothing announces.
  s.server(1).become_primary();
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 2);
  for (int i = 0; i < 3; ++i) s.sentinel(i).revive();
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  CHECK(increment(s).value == 1);
  CHECK(s.server(1).integer("n") == 1);
}

CONFORMANCE("redis sentinel: sentinels have a login of their own") {
  {
    sentinel_site s({}, {.password = "secret"}, "default:secret@", "?sentinel_login=watcher:other");
    for (int i = 0; i < 3; ++i) s.sentinel(i).require_login("watcher", "other");
    CHECK(increment(s).value == 1);
  }
  sentinel_site s({}, {.password = "secret"}, "default:secret@");
  for (int i = 0; i < 3; ++i) s.sentinel(i).require_login("watcher", "other");
  const ending e = increment(s);
  CHECK(e.ec == redis::error::noauth);
  CHECK(e.text.find("secret") == std::string::npos);
}

CONFORMANCE("redis sentinel: the lanes of a former primary end, and the next is at the new one") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.run(use_lanes(s));
}

CONFORMANCE("redis sentinel: subscriptions move with the primary, with a gap between") {
  sentinel_site s;
  increment(s);
  s.settle();
  s.run(follow_news(s));
}

CONFORMANCE("redis sentinel: answers that are none leave the other sentinels") {
  sentinel_site s;
  const std::string large = "$70000\r\n" + std::string(70'000, 'x') + "\r\n";
  for (const std::string& bytes :
       {std::string("*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0\r\n"),
        std::string("*2\r\n$0\r\n\r\n$1\r\n1\r\n"),
        std::string("*2\r\n$1\r\na\r\n$6\r\n999999\r\n"), std::string("*1\r\n$1\r\na\r\n"),
        std::string("+OK\r\n"), std::string("-ERR no\r\n"), std::string("!bad\r\n"), large}) {
    CAPTURE(bytes.substr(0, 40));
    s.sentinel(0).answer_with(bytes);
    s.sentinel(1).answer_with(bytes);
    s.db.emplace(s.ctx, s.url, s.options);
    CHECK(!increment(s).ec);
    s.sentinel(2).answer_with(bytes);
    s.db.emplace(s.ctx, s.url, redis::client_options{.fails_fast = true});
    const ending e = increment(s);
    CHECK(e.ec);
    CHECK(e.what == outcome::not_sent);
    s.sentinel(2).answer_with("");
  }
  s.sentinel(0).answer_with("");
  CHECK(s.server(0).integer("n") == 8);
}

CONFORMANCE("redis memory_server: a replica refuses writes, and says its role") {
  sentinel_site s;
  s.run(use_replica(s));
}
