// SPDX-License-Identifier: BSL-1.0
// A watch of the primary without a connection to it: found, changed, unknown, closed.
#include <beck/redis/primary_watch.hpp>

#include <doctest/doctest.h>

#include <beck/run/post.hpp>

#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "redis/sentinel_site.hpp"

using namespace beck::redis::test;

namespace {

/// Returns "127.0.0.1:6379" of the primary that a watch has found.
std::string place(const redis::primary_watch& group) {
  return std::string(group.host()) + ":" + std::to_string(group.port());
}

/// Asks until the sentinels name a primary, or until they do not.
task<> find_until(sentinel_site& s, redis::primary_watch& group, bool is_found) {
  for (;;) {
    const auto asked = co_await group.find();
    if (!asked.error() == is_found) co_return;
    beck::steady_timer pause(s.ctx, beck::duration(1'000'000));
    beck::ignore(co_await pause.async_wait());
  }
}

task<> find_and_follow(sentinel_site& s) {
  redis::primary_watch group(s.ctx, s.url);
  CHECK(place(group) == ":0");
  CHECK(group.changes() == 0);
  const auto found = co_await group.find();
  CHECK(!found.error());
  CHECK(group.error_text().empty());
  CHECK(place(group) == s.addresses[0]);
  CHECK(group.changes() == 1);
  const auto at_once = co_await group.wait_for_change(0);
  CHECK(!at_once.error());
  s.fail_over();
  const auto changed = co_await group.wait_for_change(1);
  CHECK(!changed.error());
  CHECK(place(group) == s.addresses[1]);
  CHECK(group.changes() == 2);
  const auto again = co_await group.find();
  CHECK(!again.error());
  CHECK(place(group) == s.addresses[1]);
  CHECK(group.changes() == 2);
}

task<> find_none(sentinel_site& s) {
  for (int i = 0; i < 3; ++i) s.sentinel(i).know("", 1);
  redis::primary_watch group(s.ctx, s.url);
  const auto found = co_await group.find();
  CHECK(found.error() == redis::error::unknown_primary);
  CHECK(group.error_text().find("it knows none") != std::string_view::npos);
  CHECK(group.changes() == 0);
  for (int i = 0; i < 3; ++i) s.sentinel(i).know(s.addresses[1], 1);
  co_await find_until(s, group, true);
  CHECK(place(group) == s.addresses[1]);
  CHECK(group.changes() == 1);
  CHECK(group.error_text().empty());
}

task<> lose_the_sentinels(sentinel_site& s) {
  redis::primary_watch group(s.ctx, s.url);
  const auto found = co_await group.find();
  CHECK(!found.error());
  for (int i = 0; i < 3; ++i) s.sentinel(i).kill();
  co_await find_until(s, group, false);
  CHECK(!group.error_text().empty());
  CHECK(place(group) == s.addresses[0]);
  for (int i = 0; i < 3; ++i) s.sentinel(i).revive();
  co_await find_until(s, group, true);
  CHECK(group.changes() == 1);  // the same one is no change
}

task<> wait_for_the_end(redis::primary_watch& group, beck::error_code& how) {
  const auto changed = co_await group.wait_for_change(group.changes());
  how = changed.error();
}

task<> close_it(sentinel_site& s) {
  redis::primary_watch group(s.ctx, s.url);
  const auto found = co_await group.find();
  CHECK(!found.error());
  beck::error_code how;
  beck::co_spawn(s.ctx, wait_for_the_end(group, how), beck::detached);
  co_await beck::post(s.ctx, beck::deferred);
  CHECK(!how);
  group.close();
  while (!how) co_await beck::post(s.ctx, beck::deferred);
  CHECK(how == beck::error::operation_aborted);
  const auto later = co_await group.find();
  CHECK(later.error() == beck::error::operation_aborted);
  const auto never = co_await group.wait_for_change(group.changes());
  CHECK(never.error() == beck::error::operation_aborted);
}

}  // namespace

CONFORMANCE("redis primary_watch: the primary is found, and a switch ends a wait") {
  sentinel_site s;
  s.run(find_and_follow(s));
}

CONFORMANCE("redis primary_watch: sentinels that know none, and later one") {
  sentinel_site s;
  s.run(find_none(s));
}

CONFORMANCE("redis primary_watch: the same primary behind a loss of all sentinels is no change") {
  sentinel_site s;
  s.run(lose_the_sentinels(s));
}

CONFORMANCE("redis primary_watch: close() ends its tasks and the connections to sentinels") {
  sentinel_site s;
  s.run(close_it(s));
  CHECK(s.run_until([&] { return s.sentinel(0).connections() == 0; }));
}

TEST_CASE("redis primary_watch: URLs that are not of sentinels are refused") {
  beck::io_context ctx;
  CHECK_THROWS_AS(redis::primary_watch(ctx, "redis://h"), std::invalid_argument);
  CHECK_THROWS_AS(redis::primary_watch(ctx, "redis+sentinel://h"), std::invalid_argument);
  CHECK_THROWS_AS(redis::primary_watch(ctx, "redis+sentinel://h/"), std::invalid_argument);
}
