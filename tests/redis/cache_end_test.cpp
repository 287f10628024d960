// SPDX-License-Identifier: BSL-1.0
// The end of caches, of their client, and of the context, in every order.
#include "redis/cache_site.hpp"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

using namespace beck::redis::test;

namespace {

task<> get(redis::cache& cache, std::string key, std::vector<std::string>& ends) {
  const auto r = co_await cache.exec<text_or_nil>(1min, "GET", key);
  if (r) ends.push_back((*r).value_or("none"));
  if (r.error() == beck::error::operation_aborted) ends.emplace_back("aborted");
}

}  // namespace

CONFORMANCE("redis cache: its end ends its calls, and leaves the client whole") {
  cache_site s;
  CHECK(s.get("held") == "none");
  std::vector<std::string> ends;
  s.server.pause();
  for (const char* const key : {"a", "a", "b"}) s.start(get(*s.cache, key, ends));
  s.wait(beck::duration(1'000'000));
  bool is_ended = false;  // before it is written
  s.cache->exec<text_or_nil>(1min, "GET",
                             "c")([&](beck::error_code ec, const redis::reply<text_or_nil>& r) {
    CHECK(ec == beck::error::operation_aborted);
    CHECK(r.outcome() == outcome::not_sent);
    is_ended = true;
  });
  s.cache.reset();
  REQUIRE(s.run_until([&] { return s.ended == s.started && is_ended; }));
  CHECK(ends == std::vector<std::string>(3, "aborted"));
  s.server.resume();
  s.ask("SET", "held", 1);  // its message finds no cache
  s.run([](redis::client& db) -> task<> {
    const auto echo = co_await db.exec<std::string>("ECHO", "in step");
    CHECK(*echo == "in step");
  }(*s.db));
  s.cache.emplace(*s.db, 10'000);
  CHECK(s.get("held") == "1");
  CHECK(s.get("held") == "1");
  CHECK(s.cache->stats().hits == 1);
}

CONFORMANCE("redis cache: the end of the client ends its calls, and empties it") {
  cache_site s;
  CHECK(s.get("held") == "none");
  std::vector<std::string> ends;
  s.server.pause();
  for (const char* const key : {"a", "a", "b"}) s.start(get(*s.cache, key, ends));
  s.wait(beck::duration(1'000'000));
  s.db.reset();
  CHECK(s.cache->stats().entries == 0);
  REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  CHECK(ends == std::vector<std::string>(3, "aborted"));
  s.run(get(*s.cache, "held", ends));
  CHECK(ends.back() == "aborted");
  s.server.resume();
  s.other.close();
  s.server.close();
  s.ctx.restart();
  s.ctx.run();  // nothing is left
}

CONFORMANCE("redis cache: it may end before and behind its client in all states") {
  for (int state = 0; state < 8; ++state) {
    CAPTURE(state);
    cache_site s;
    std::vector<std::string> ends;
    if ((state & 1) != 0) s.start(get(*s.cache, "a", ends));
    if ((state & 2) != 0) CHECK(s.get("b") == "none");
    if ((state & 1) != 0) s.start(get(*s.cache, "c", ends));
    s.ctx.poll();
    if ((state & 4) != 0) s.db.reset();
    s.cache.reset();
    s.db.reset();
    REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  }
}

CONFORMANCE("redis cache: operations that have not started may be destroyed") {
  cache_site s;
  {
    auto one = s.cache->exec<text_or_nil>(1min, "GET", "k");
    auto moved = std::move(one);
  }
  CHECK(s.cache->stats().misses == 0);
}

namespace {

/// Owns a client and a cache of it, as a program does.
task<> own_both(beck::io_context& ctx, std::string url, std::vector<std::string>& seen, int& ended,
                int state) {
  redis::client db(ctx, url);
  redis::cache cache(db, 10'000);
  const auto count = [&ended](beck::error_code, const redis::reply<text_or_nil>&) { ++ended; };
  if (state == 1) {
    const auto held = co_await cache.exec<text_or_nil>(1min, "GET", "held");
    CHECK(held);
  }
  seen.emplace_back("ready");
  for (const char* const key : {"a", "a", "b"}) cache.exec<text_or_nil>(1min, "GET", key)(count);
  if (state == 2) {
    const auto all = co_await cache.exec<text_or_nil>(0s, "GET", "c");
    CHECK(all);
  }
  auto never = cache.exec<text_or_nil>(0s, "GET", "a");
  const auto r = co_await std::move(never);
  if (state != 2) CHECK(r);
  co_await get(cache, "d", seen);
}

}  // namespace

CONFORMANCE("redis cache: handlers that own it are dropped with the context") {
  struct owner {
    owner(beck::io_context& ctx, const std::string& url) : db(ctx, url), cache(db, 10'000) {}
    redis::client db;
    redis::cache cache;
  };
  for (int calls = 1; calls <= 3; ++calls) {
    CAPTURE(calls);
    std::weak_ptr<owner> left;
    int ended = 0;
    {
      client_site s;
      auto all = std::make_shared<owner>(s.ctx, "redis://" + s.address());
      left = all;
      s.run([](redis::cache& cache) -> task<> {
        beck::ignore(co_await cache.exec<text_or_nil>(1min, "GET", "held"));
      }(all->cache));
      s.server.pause();
      for (int i = 0; i < calls; ++i) {
        all->cache.exec<text_or_nil>(0s, "GET", i / 2)(
            [all, &ended](beck::error_code, const redis::reply<text_or_nil>&) { ++ended; });
      }
      all.reset();
      s.wait(beck::duration(1'000'000));
      CHECK(!left.expired());
    }
    CHECK(left.expired());
    CHECK(ended == 0);
  }
}

CONFORMANCE("redis cache: a handler that owns it is dropped before others of the same read") {
  int ended = 0;
  {
    client_site s;
    auto owned = std::make_shared<redis::cache>(*s.db, 10'000);
    redis::cache& cache = *owned;
    s.server.pause();
    cache.exec<text_or_nil>(
        1min, "GET", "k")([owner = std::move(owned), &ended](
                              beck::error_code, const redis::reply<text_or_nil>&) { ++ended; });
    for (int i = 0; i < 2; ++i) {
      cache.exec<text_or_nil>(1min, "GET", "k")(
          [&ended](beck::error_code, const redis::reply<text_or_nil>&) { ++ended; });
    }
    s.wait(beck::duration(1'000'000));
    CHECK(cache.stats().shared == 2);
  }
  CHECK(ended == 0);
}

CONFORMANCE("redis cache: a context may be destroyed in every state of it") {
  for (int state = 0; state < 9; ++state) {
    CAPTURE(state);
    std::vector<std::string> seen;
    int ended = 0;
    {
      client_site s;
      s.start(own_both(s.ctx, "redis://" + s.address(), seen, ended, state % 3));
      REQUIRE(s.run_until([&] { return !seen.empty(); }));
      if (state >= 3) s.server.pause();
      if (state >= 6) s.server.cut();
      if (state >= 3) s.ctx.poll();
    }
    CHECK(seen.back() != "aborted");
    CHECK(ended <= 3);
  }
}
