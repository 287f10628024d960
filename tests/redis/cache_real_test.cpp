// SPDX-License-Identifier: BSL-1.0
// A cache of a redis-server: its messages of changes, expired keys, transactions, and its end.
#include <doctest/doctest.h>

#include <beck/redis/cache.hpp>
#include <beck/redis/client.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>

#include <exception>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "redis/names.hpp"
#include "redis/real_site.hpp"
#include "support/report.hpp"

using namespace beck::redis::test;

namespace {

/// A site with a cache.
struct cached_site : real_site {
  cached_site() : cache(db, 1 << 20) {}

  /// Reads through the cache; "none" of a null.
  std::string get(std::string_view key) {
    std::string got = "?";
    cache.exec<std::optional<std::string>>(1min, "GET", key)(
        [&](beck::error_code ec, const redis::reply<std::optional<std::string>>& r) {
          got = ec ? ec.message() : (*r).value_or("none");
        });
    REQUIRE(run_until([&] { return got != "?"; }));
    return got;
  }
  /// Waits until the message of a change has come.
  void wait_for_message(std::uint64_t before) {
    REQUIRE(run_until([&] { return cache.stats().invalidated > before; }));
  }

  redis::cache cache;
};

}  // namespace

TEST_CASE("redis cache: a redis-server says which replies are out of date") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  cached_site s;
  std::uint64_t before = 0;
  const auto is_held = [&](std::string_view key, std::string_view value) {
    const auto hits = s.cache.stats().hits;
    CHECK(s.get(key) == value);
    CHECK(s.get(key) == value);
    CHECK(s.cache.stats().hits > hits);
    before = s.cache.stats().invalidated;
  };
  CHECK(s.ask("SET k 1") == "+OK\r\n");
  is_held("k", "1");
  CHECK(s.ask("INCR k") == ":2\r\n");
  s.wait_for_message(before);
  is_held("k", "2");
  bool is_done = false;  // the client's own change, in a transaction
  s.db.transaction(cmd<void>("SET", "k", 3), cmd<void>("SET", "other", 1))(
      [&](beck::error_code ec, const auto&) { is_done = !ec; });
  REQUIRE(s.run_until([&] { return is_done; }));
  s.wait_for_message(before);
  is_held("k", "3");
  CHECK(s.ask("PEXPIRE k 1") == ":1\r\n");  // a change, and then the end of the key
  s.wait_for_message(before);
  for (int i = 0; i < 100'000 && s.ask("EXISTS k") != ":0\r\n"; ++i) continue;
  REQUIRE(s.run_until([&] { return s.cache.stats().entries == 0; }));
  is_held("k", "none");
  is_held("other", "1");
  CHECK(s.ask("FLUSHALL") == "+OK\r\n");
  s.wait_for_message(before);
  CHECK(s.cache.stats().entries == 0);
  is_held("other", "none");
  // A table of tracked keys that is full: the server takes keys out, and says so.
  CHECK(s.ask("CONFIG SET tracking-table-max-keys 1") == "+OK\r\n");
  for (const char* const key : {"a", "b", "c"}) CHECK(s.get(key) == "none");
  REQUIRE(s.run_until([&] { return s.cache.stats().entries <= 1; }));
}

TEST_CASE("redis cache: a redis-server that is killed empties it") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  cached_site s;
  CHECK(s.ask("SET k old") == "+OK\r\n");
  CHECK(s.get("k") == "old");
  s.real.restart();
  REQUIRE(s.real.is_connected());
  REQUIRE(s.run_until([&] { return s.cache.stats().entries == 0; }));
  CHECK(s.ask("SET k new") == "+OK\r\n");
  CHECK(s.get("k") == "new");
  CHECK(s.get("k") == "new");
  CHECK(s.cache.stats().hits == 1);
  CHECK(s.cache.stats().lost == 1);
}

TEST_CASE("redis cache: a redis-server whose ACL allows no tracking is asked for each call") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  cached_site s;
  CHECK(s.ask("ACL SETUSER app on >pw ~* +@all -client|tracking") == "+OK\r\n");
  redis::client app(s.ctx, "unix://app:pw@" + s.real.path());
  redis::cache cache(app, 1 << 20);
  int left = 2;
  for (int i = 0; i < 2; ++i) {
    cache.exec<std::string>(1min, "GET", "k")([&](beck::error_code ec, const auto&) {
      CHECK(ec == redis::error::null_reply);
      --left;
    });
    REQUIRE(s.run_until([&] { return left == 1 - i; }));
  }
  CHECK(cache.stats().uncached == 2);
}
