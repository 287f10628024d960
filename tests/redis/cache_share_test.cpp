// SPDX-License-Identifier: BSL-1.0
// Calls that miss at a time: they share a read, and each has its own end.
#include "redis/cache_site.hpp"

#include <beck/run/bind.hpp>

#include <ostream>
#include <string>
#include <vector>

using namespace beck::redis::test;

namespace {

/// Counts the reads that the server executes.
struct share_site : cache_site {
  explicit share_site(const redis::client_options& how = redis::client_options())
      : cache_site(1 << 20, 1 << 20, how) {
    server.on_command([this](const redis::arguments& c) { reads += c[0] == "GET" ? 1 : 0; });
    ask("SET", "k", "v");
  }
  int reads = 0;
};

task<> get(redis::cache& cache, beck::duration limit, std::vector<std::string>& ends) {
  auto reading = cache.exec<text_or_nil>(1min, "GET", "k");
  const auto r = co_await beck::timeout(std::move(reading), limit);
  if (r) ends.push_back((*r).value_or("none"));
  if (r.error() == beck::error::timeout) ends.emplace_back("timeout");
  if (r.error() == beck::error::operation_aborted) ends.emplace_back("aborted");
  if (!r) CHECK(r.outcome() == outcome::maybe_executed);
}

}  // namespace

CONFORMANCE("redis cache: calls that miss the same command at a time share one read") {
  share_site s;
  std::vector<std::string> ends;
  for (int i = 0; i < 100; ++i) s.start(get(*s.cache, 10s, ends));
  REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  CHECK(ends == std::vector<std::string>(100, "v"));
  CHECK(s.reads == 1);
  CHECK(s.cache->stats().misses == 100);
  CHECK(s.cache->stats().shared == 99);
  CHECK(s.cache->stats().entries == 1);
  s.run(get(*s.cache, 10s, ends));
  CHECK(s.cache->stats().hits == 1);
}

CONFORMANCE("redis cache: calls that share a read have types and errors of their own") {
  share_site s;
  int left = 3;
  s.cache->exec<long>(1min, "GET", "k")([&](beck::error_code ec, const redis::reply<long>&) {
    CHECK(ec == redis::error::wrong_reply);
    --left;
  });
  s.cache->exec<std::string>(1min, "GET",
                             "k")([&](beck::error_code ec, const redis::reply<std::string>& r) {
    CHECK(!ec);
    CHECK(*r == "v");
    --left;
  });
  s.cache->exec<redis::value>(1min, "GET",
                              "k")([&](beck::error_code ec, const redis::reply<redis::value>& r) {
    CHECK(!ec);
    CHECK(r->root().text() == "v");
    --left;
  });
  REQUIRE(s.run_until([&] { return left == 0; }));
  CHECK(s.reads == 1);
}

CONFORMANCE("redis cache: an error of a shared read ends all of its calls, and is not held") {
  share_site s;
  s.server.fail_next("get", "NOPERM this user has no permissions to access one of the keys", 1);
  int left = 5;
  for (int i = 0; i < 5; ++i) {
    s.cache->exec<text_or_nil>(1min, "GET",
                               "k")([&](beck::error_code ec, const redis::reply<text_or_nil>& r) {
      CHECK(ec == redis::error::noperm);
      CHECK(r.error_text().starts_with("NOPERM this user"));
      CHECK(r.outcome() == outcome::executed);
      --left;
    });
  }
  REQUIRE(s.run_until([&] { return left == 0; }));
  CHECK(s.get("k") == "v");
}

CONFORMANCE("redis cache: a call that is cancelled leaves those that share its read") {
  share_site s;
  std::vector<std::string> ends;
  s.settle();
  s.server.pause();
  s.start(get(*s.cache, beck::duration(1'000'000), ends));
  s.start(get(*s.cache, 10s, ends));
  s.start(get(*s.cache, beck::duration(2'000'000), ends));
  REQUIRE(s.run_until([&] { return ends.size() == 2; }));
  CHECK(ends == std::vector<std::string>{"timeout", "timeout"});
  s.server.resume();
  REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  CHECK(ends.back() == "v");
  CHECK(s.reads == 1);
  CHECK(s.get("k") == "v");
  CHECK(s.cache->stats().hits == 1);
}

CONFORMANCE("redis cache: the reply to a read that all calls have left is dropped") {
  share_site s;
  std::vector<std::string> ends;
  s.settle();
  s.server.pause();
  for (int i = 0; i < 2; ++i) s.start(get(*s.cache, beck::duration(1'000'000), ends));
  REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  CHECK(ends == std::vector<std::string>{"timeout", "timeout"});
  s.server.resume();
  s.settle();
  CHECK(s.reads == 1);
  CHECK(s.cache->stats().entries == 0);
  CHECK(s.get("k") == "v");  // another read
  CHECK(s.reads == 2);
}

CONFORMANCE("redis cache: a call that is cancelled before its read was written takes it back") {
  share_site s;
  beck::cancellation_signal stop;
  std::string got;
  s.cache->exec<text_or_nil>(1min, "GET", "k")(beck::bind_cancellation_slot(
      stop.slot(), [&](beck::error_code ec, const redis::reply<text_or_nil>& r) {
        CHECK(ec == beck::error::operation_aborted);
        CHECK(r.outcome() == outcome::not_sent);
        got = "ended";
      }));
  stop.emit(beck::cancellation_type::all);
  REQUIRE(s.run_until([&] { return !got.empty(); }));
  s.settle();
  CHECK(s.reads == 0);
}

CONFORMANCE("redis cache: calls that wait are bounded") {
  share_site s({.waiting = 3});
  s.settle();
  s.server.pause();
  int full = 0;
  int good = 0;
  for (int i = 0; i < 5; ++i) {
    s.cache->exec<text_or_nil>(1min, "GET",
                               "k")([&](beck::error_code ec, const redis::reply<text_or_nil>& r) {
      full += ec == redis::error::queue_full ? 1 : 0;
      good += ec ? 0 : 1;
      if (ec) CHECK(r.outcome() == outcome::not_sent);
    });
  }
  s.server.resume();
  REQUIRE(s.run_until([&] { return full + good == 5; }));
  CHECK(full == 2);
  for (int i = 0; i < 5; ++i) CHECK(s.read(0s, "GET", "k") == "v");  // their places are free again
}
