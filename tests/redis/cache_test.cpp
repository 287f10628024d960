// SPDX-License-Identifier: BSL-1.0
// A cache beside a client: which replies are held, for how long, how much room they have, and calls
// that share a read.
#include "redis/cache_site.hpp"

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/allocations.hpp"

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

}  // namespace

CONFORMANCE("redis cache: a reply that is held is returned at once, and nothing is sent") {
  cache_site s;
  s.ask("SET", "k", 17);
  s.run([](redis::cache& cache, redis::memory_server& server, redis::client& db) -> task<> {
    const auto first = co_await cache.exec<long>(1min, "GET", "k");
    CHECK(*first == 17);
    CHECK(first.outcome() == outcome::executed);
    const auto commands = server.commands();
    const auto calls = db.stats().calls;
    std::uint64_t made = 0;
    for (int i = 0; i < 10; ++i) {
      const auto before = beck::test::allocations();
      const auto next = co_await cache.exec<long>(1min, "GET", "k");
      made += beck::test::allocations() - before;
      CHECK(*next == 17);
      CHECK(next.outcome() == outcome::executed);
    }
    if (beck::test::counts_allocations()) CHECK(made == 0);
    CHECK(server.commands() == commands);
    CHECK(db.stats().calls == calls);
    auto ready = cache.exec<long>(1min, "GET", "k");
    CHECK(ready.ready());
  }(*s.cache, s.server, *s.db));
  const redis::cache_stats stats = s.cache->stats();
  CHECK(stats.hits == 11);
  CHECK(stats.misses == 1);
  CHECK(stats.entries == 1);
  CHECK(stats.bytes > 0);
}

CONFORMANCE("redis cache: a reply is read into any type, as often as it is asked for") {
  cache_site s;
  s.ask("HSET", "u", "name", "ann", "age", 30);
  s.ask("RPUSH", "l", "a", "b");
  s.ask("SET", "large", std::string(100'000, 'x'));
  s.ask("ZADD", "z", "0.5", "m");
  s.run([](redis::cache& cache) -> task<> {
    char room[8];
    for (int i = 0; i < 3; ++i) {
      const auto u = co_await cache.exec<user>(1min, "HGETALL", "u");
      CHECK(u->name == "ann");
      CHECK(u->age == 30);
      const auto all =
          co_await cache.exec<std::map<std::string, std::string>>(1min, "HGETALL", "u");
      CHECK(all->size() == 2);
      const auto whole = co_await cache.exec<redis::value>(1min, "HGETALL", "u");
      CHECK(redis::to_text<std::string>(whole->root()) == R"({"age": "30", "name": "ann"})");
      const auto list = co_await cache.exec<std::vector<std::string>>(1min, "LRANGE", "l", 0, -1);
      CHECK(*list == std::vector<std::string>{"a", "b"});
      const auto large = co_await cache.exec<std::string>(1min, "GET", "large");
      CHECK(*large == std::string(100'000, 'x'));
      const auto score = co_await cache.exec<double>(1min, "ZSCORE", "z", "m");
      CHECK(*score == 0.5);
      const auto digits = co_await cache.exec<std::string>(1min, "ZSCORE", "z", "m");
      CHECK(*digits == "0.5");
      const auto into = co_await cache.exec(
          1min, redis::cmd(redis::into(beck::buffer(room)), "LRANGE", "l", 0, -1));
      CHECK(into.error() == redis::error::wrong_reply);
      const auto wrong = co_await cache.exec<long>(1min, "HGETALL", "u");
      CHECK(wrong.error() == redis::error::wrong_reply);
      const auto null = co_await cache.exec<long>(1min, "GET", "missing");
      CHECK(null.error() == redis::error::null_reply);
      const auto none = co_await cache.exec<text_or_nil>(1min, "GET", "missing");
      CHECK(none);
      CHECK(!*none);
    }
  }(*s.cache));
  CHECK(s.cache->stats().misses == 5);
  CHECK(s.cache->stats().entries == 5);
}

CONFORMANCE("redis cache: handlers, and values in the program's memory") {
  cache_site s;
  s.ask("SET", "k", "value");
  char room[8] = {};
  std::string text;
  std::vector<beck::error_code> errors;
  for (int i = 0; i < 2; ++i) {  // a miss, then a hit
    s.cache->exec(1min, redis::cmd(redis::into(beck::buffer(room)), "GET", "k"))(
        [&](const beck::error_code& ec, const redis::reply<redis::into>& got) {
          errors.push_back(ec);
          text += got->text();
        });
    REQUIRE(s.run_until([&] { return errors.size() == 1U + static_cast<unsigned>(i); }));
  }
  CHECK(text == "valuevalue");
  CHECK(room[0] == 'v');
  s.cache->exec<long>(1min, "GET", "k")(
      [&](const beck::error_code& ec, const redis::reply<long>&) { errors.push_back(ec); });
  REQUIRE(s.run_until([&] { return errors.size() == 3; }));
  CHECK(errors == std::vector<beck::error_code>{{}, {}, redis::error::wrong_reply});
  CHECK(s.cache->stats().hits == 2);
}

CONFORMANCE("redis cache: a change of a key drops the replies that depend on it, and no others") {
  cache_site s;
  s.ask("MSET", "a", 1, "b", 1, "c", 1);
  CHECK(s.get("a") == "1");
  CHECK(s.get("c") == "1");
  CHECK(s.get("missing") == "none");
  CHECK(s.read(1min, "STRLEN", "a") == "1");
  const auto both = [&] {
    std::string got;
    s.cache->exec<std::vector<std::string>>(1min, "MGET", "a", "b", "a")(
        [&](beck::error_code, const redis::reply<std::vector<std::string>>& r) {
          for (const std::string& one : *r) got += one;
        });
    REQUIRE(s.run_until([&] { return !got.empty(); }));
    return got;
  };
  CHECK(both() == "111");
  s.ask("SET", "a", 22);
  s.settle();
  CHECK(s.cache->stats().invalidated == 3);
  CHECK(s.cache->stats().entries == 2);
  CHECK(s.get("a") == "22");
  CHECK(s.read(1min, "STRLEN", "a") == "2");
  CHECK(both() == "22122");
  s.ask("DEL", "b");
  s.ask("SET", "missing", "here");
  s.settle();
  CHECK(s.get("missing") == "here");
  CHECK(s.cache->stats().invalidated == 5);
  const auto misses = s.cache->stats().misses;
  CHECK(s.get("c") == "1");
  CHECK(s.cache->stats().misses == misses);
  s.run([](redis::client& db) -> task<> {  // a change by the client itself, and in a transaction
    beck::ignore(co_await db.exec<void>("SET", "c", 2));
    beck::ignore(co_await db.transaction(cmd<void>("SET", "a", 3), cmd<long>("INCR", "a")));
    beck::ignore(co_await db.exec<void>("PING"));
  }(*s.db));
  CHECK(s.get("c") == "2");
  CHECK(s.get("a") == "4");
}

CONFORMANCE("redis cache: FLUSHALL drops all replies") {
  cache_site s;
  s.ask("MSET", "a", 1, "b", 2);
  CHECK(s.get("a") == "1");
  CHECK(s.get("b") == "2");
  s.ask("FLUSHALL");
  s.settle();
  CHECK(s.cache->stats().entries == 0);
  CHECK(s.cache->stats().bytes == 0);
  CHECK(s.cache->stats().invalidated == 2);
  CHECK(s.get("a") == "none");
}

CONFORMANCE("redis cache: each read stands directly behind its CLIENT CACHING") {
  cache_site s;
  std::vector<std::string> seen;
  s.server.on_command([&](const redis::arguments& c) {
    std::string line;
    for (std::size_t i = 0; i < c.size(); ++i) (line += c[i]) += ' ';
    seen.push_back(line);
  });
  int left = 0;
  for (int i = 0; i < 400; ++i) {
    left += 2;
    s.db->exec<void>("PING")([&](beck::error_code, const redis::reply<void>&) { --left; });
    s.cache->exec<text_or_nil>(1min, "GET",
                               i)([&](beck::error_code ec, const redis::reply<text_or_nil>&) {
      CHECK(!ec);
      --left;
    });
  }
  REQUIRE(s.run_until([&] { return left == 0; }));
  REQUIRE(seen.size() == 2 + 3 * 400);
  CHECK(seen[1] == "CLIENT TRACKING ON OPTIN ");
  int reads = 0;
  for (std::size_t i = 2; i + 1 < seen.size(); ++i) {
    if (seen[i] != "CLIENT CACHING YES ") continue;
    CHECK(seen[i + 1].starts_with("GET "));
    ++reads;
  }
  CHECK(reads == 400);
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis cache: keys are tracked while there is a cache, and only those of its reads") {
  client_site s;
  int asked = 0;
  s.server.on_command([&](const redis::arguments& c) {
    asked += c.size() > 1 && c[0] == "CLIENT" && c[1] == "TRACKING" ? 1 : 0;
  });
  s.run([](redis::client& db, redis::memory_server& server, int& times) -> task<> {
    beck::ignore(co_await db.exec<void>("SET", "k", 1));
    CHECK(times == 0);
    {
      redis::cache first(db, 10'000);
      redis::cache second(db, 10'000);
      beck::ignore(co_await db.exec<void>("GET", "not tracked"));
      for (redis::cache* const one : {&first, &second, &first}) {
        const auto k = co_await one->exec<long>(1min, "GET", "k");
        CHECK(*k == 1);
      }
      CHECK(times == 1);
      CHECK(first.stats().hits == 1);
      beck::ignore(co_await db.exec<void>("SET", "k", 2));
      beck::ignore(co_await db.exec<void>("PING"));
      for (redis::cache* const one : {&first, &second}) {
        CHECK(one->stats().invalidated == 1);
        const auto k = co_await one->exec<long>(1min, "GET", "k");
        CHECK(*k == 2);
      }
      server.cut();
      beck::ignore(co_await db.exec<void>("PING"));  // the loss is known
      const auto again = co_await first.exec<long>(1min, "GET", "k");
      CHECK(*again == 2);
      CHECK(times == 2);
    }
    beck::ignore(co_await db.exec<void>("SET", "k", 3));  // its message finds no cache
    server.cut();
    beck::ignore(co_await db.exec<void>("PING"));
    CHECK(times == 2);
  }(*s.db, s.server, asked));
}

CONFORMANCE("redis cache: commands that do not only read keys are refused, with the reason") {
  cache_site s;
  s.run([](redis::cache& cache, redis::memory_server& server) -> task<> {
    const auto commands = server.commands();
    const std::vector<std::vector<std::string>> refused = {
        {"SET", "k", "v"},
        {"GETDEL", "k"},
        {"PING"},
        {"KEYS", "*"},
        {"DBSIZE"},
        {"SRANDMEMBER", "s"},
        {"ttl", "k"},
        {"Sort_Ro", "l"},
        {"EVAL_RO", "return 1", "1", "k"},
        {"OBJECT", "FREQ", "k"},
        {"BLPOP", "k", "0"},
        {"XREAD", "BLOCK", "1", "STREAMS", "s", "0"},
        {"MODULE.GET", "k"},
        {"WATCH", "k"},
        {"EXISTS"},
    };
    for (const auto& one : refused) {
      CAPTURE(one[0]);
      const std::vector<std::string> rest(one.begin() + 1, one.end());
      const auto r = co_await cache.exec<redis::value>(1min, one[0], redis::each(rest));
      CHECK(r.error() == redis::error::not_cacheable);
      CHECK(r.outcome() == outcome::not_sent);
      CHECK(r.error_text().starts_with(one[0] + ": "));
    }
    const auto r = co_await cache.exec<text_or_nil>(1min, "SET", "k", "v");
    CHECK(r.error_text() == "SET: it may write");
    const auto marked = co_await cache.exec<text_or_nil>(1min, "MODULE.GET", redis::key("doc"));
    CHECK(marked.error_text() == "MODULE.GET: the table of commands does not have it");
    CHECK(server.commands() == commands);
  }(*s.cache, s.server));
  CHECK(s.cache->stats().misses == 0);
}

CONFORMANCE("redis cache: an age of 0 always asks the server") {
  cache_site s;
  s.ask("SET", "k", 1);
  for (int i = 0; i < 3; ++i) CHECK(s.read(0s, "GET", "k") == "1");
  CHECK(s.read(beck::duration(-1), "GET", "k") == "1");
  CHECK(s.cache->stats().misses == 4);
  CHECK(s.get("k") == "1");
  CHECK(s.cache->stats().hits == 1);
}

CONFORMANCE_ON(beck::test::sim, "redis cache: a reply is returned while it is as young as asked") {
  cache_site s;
  s.ask("SET", "k", 1);
  CHECK(s.get("k") == "1");
  s.wait(9s);
  CHECK(s.read(10s, "GET", "k") == "1");
  CHECK(s.cache->stats().hits == 1);
  s.wait(1s);
  CHECK(s.read(20s, "GET", "k") == "1");
  CHECK(s.cache->stats().hits == 2);
  CHECK(s.read(10s, "GET", "k") == "1");  // too old for this call
  CHECK(s.cache->stats().hits == 2);
  CHECK(s.cache->stats().misses == 2);
  CHECK(s.read(10s, "GET", "k") == "1");  // the new one
  CHECK(s.cache->stats().hits == 3);
  CHECK(s.cache->stats().entries == 1);
}

CONFORMANCE("redis cache: its bytes are bounded, and replies that are used stay") {
  constexpr std::size_t most = 20'000;
  cache_site s(most);
  CHECK(s.get("kept") == "none");
  for (int i = 0; i < 200; ++i) {
    s.get("k" + std::to_string(i));
    CHECK(s.get("kept") == "none");
    CHECK(s.cache->stats().bytes <= most);
  }
  const redis::cache_stats stats = s.cache->stats();
  CHECK(stats.misses == 201);  // "kept" was read once
  CHECK(stats.hits == 200);
  CHECK(stats.entries > 10);
  CHECK(stats.evicted == 201 - stats.entries);
  CHECK(stats.bytes > most / 2);
  s.get("k0");
  CHECK(s.cache->stats().misses == 202);
}

CONFORMANCE("redis cache: a reply that is too large for it is returned, and not held") {
  cache_site s(1 << 20, 10'000);
  s.ask("MSET", "small", "x", "large", std::string(20'000, 'x'));
  CHECK(s.get("small") == "x");
  for (int i = 0; i < 2; ++i) CHECK(s.get("large") == std::string(20'000, 'x'));
  CHECK(s.cache->stats().entries == 1);
  CHECK(s.cache->stats().uncached == 2);
  CHECK(s.cache->stats().evicted == 0);
  redis::cache none(*s.db, 0);
  s.run([](redis::cache& cache) -> task<> {
    for (int i = 0; i < 2; ++i) {
      const auto r = co_await cache.exec<std::string>(1min, "GET", "small");
      CHECK(*r == "x");
    }
    CHECK(cache.stats().entries == 0);
    CHECK(cache.stats().uncached == 2);
  }(none));
}

CONFORMANCE("redis cache: an error is returned, and not held") {
  cache_site s;
  s.ask("RPUSH", "l", "x");
  s.run([](redis::cache& cache) -> task<> {
    for (int i = 0; i < 2; ++i) {
      const auto r = co_await cache.exec<text_or_nil>(1min, "GET", "l");
      CHECK(r.error() == redis::error::wrongtype);
      CHECK(r.error_text().starts_with("WRONGTYPE "));
      CHECK(r.outcome() == outcome::executed);
    }
  }(*s.cache));
  CHECK(s.cache->stats().entries == 0);
  CHECK(s.cache->stats().misses == 2);
  CHECK(s.cache->stats().uncached == 0);
}
