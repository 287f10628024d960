// SPDX-License-Identifier: BSL-1.0
//
// Commands for Redis with beck::redis: a coroutine for each caller, which awaits one command after
// the other on the client of all.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/subscription.hpp>
#include <optional>
#include <string>
#include <tuple>

#include "../common/redis_calls.hpp"
#include "counters.hpp"

namespace {

namespace redis = beck::redis;

struct session {
  explicit session(bench::redis_calls& c)
      : calls(c), context(beck_peer::context_options(c.options())), db(context, url_of(c)) {}

  static std::string url_of(const bench::redis_calls& c) {
    if (c.is_local()) return "unix://" + c.options().path;
    return std::string("redis://127.0.0.1:").append(std::to_string(c.options().port));
  }

  bench::redis_calls& calls;
  beck::io_context context;
  redis::client db;
};

beck::task<> calls_in_turn(session& s) {
  for (bool more = true; more;) {
    auto got = co_await s.db.exec<std::string>("GET", bench::redis_calls::key);
    if (!got) bench::fail(got.error().message().c_str());
    more = s.calls.take(*got);
  }
}

beck::task<> all_calls(session& s) {
  const auto first = co_await s.db.exec<std::string>("GET", bench::redis_calls::key);
  if (!first) bench::fail(first.error().message().c_str());
  beck_peer::counters counters(s.context);
  const std::uint64_t writes = s.db.stats().writes;
  auto callers = [&](beck::task_group& group) -> beck::task<> {
    for (std::size_t i = 0; i < s.calls.callers(); ++i) group.spawn(calls_in_turn(s));
    co_return;
  };
  s.calls.start();
  co_await beck::task_group::run(callers);
  s.calls.finish();
  const auto done = static_cast<double>(s.calls.done());
  s.calls.note("commands_per_write", done / static_cast<double>(s.db.stats().writes - writes));
  counters.report(s.calls.done(),
                  [&](const char* name, double value) { s.calls.note(name, value); });
  s.db.close();
}

using ping = std::string;

beck::task<> publish_in_turn(session& s) {
  for (bool more = true; more;) {
    auto got = co_await s.db.exec(
        redis::cmd<ping>("PING"), redis::cmd<ping>("PING"), redis::cmd<ping>("PING"),
        redis::cmd<ping>("PING"), redis::cmd<ping>("PING"),
        redis::cmd<long>("PUBLISH", bench::redis_calls::channel, bench::redis_calls::value));
    if (!got) bench::fail(got.error().message().c_str());
    bench::require(*std::get<5>(*got) == 1, "a message had no subscriber");
    more = s.calls.take(bench::redis_calls::value);
  }
}

beck::task<> take_messages(session& s, redis::subscription& news) {
  for (;;) {
    auto event = co_await news.next();
    if (!event) co_return;
    bench::require(!event->is_gap(), "messages were lost");
    s.calls.take_message(event->payload());
  }
}

beck::task<> all_pushes(session& s) {
  redis::subscription news(s.db);
  const auto on = co_await news.add(bench::redis_calls::channel);
  if (on.error()) bench::fail(on.error().message().c_str());
  beck_peer::counters counters(s.context);
  s.calls.start();
  auto callers = [&](beck::task_group& group) -> beck::task<> {
    for (std::size_t i = 0; i < s.calls.callers(); ++i) group.spawn(publish_in_turn(s));
    co_return;
  };
  auto all = [&](beck::task_group& group) -> beck::task<> {
    group.spawn(take_messages(s, news));
    co_await beck::task_group::run(callers);
    s.calls.finish();
    s.db.close();  // behind the messages that have come
  };
  co_await beck::task_group::run(all);
  bench::require(s.calls.has_all_messages(), "messages are missing");
  counters.report(s.calls.done(),
                  [&](const char* name, double value) { s.calls.note(name, value); });
}

void run_pushes(bench::redis_calls& calls) {
  session s(calls);
  co_spawn(s.context, all_pushes(s), beck::detached);
  s.context.run();
}

void run(bench::redis_calls& calls) {
  session s(calls);
  co_spawn(s.context, all_calls(s), beck::detached);
  s.context.run();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_redis<run, run_pushes>(argc, argv); }
