// SPDX-License-Identifier: BSL-1.0
// The end of subscriptions, of their client, and of the context.
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

CONFORMANCE("redis subscription: the end of the client ends it, behind the queued events") {
  client_site s;
  redis::subscription sub(*s.db);
  redis::subscription waiting(*s.db);
  s.run(add(sub, "a"));
  s.run(publish(*s.db, "a", "x", 1));
  std::vector<std::string> seen;
  s.start(collect(waiting, seen, 1));
  beck::error_code why;
  s.server.pause();
  sub.add("b")([&](beck::error_code ec) { why = ec; });
  s.wait(beck::duration(1'000'000));
  s.db.reset();
  REQUIRE(s.run_until([&] { return s.ended == s.started && why; }));
  CHECK(seen == std::vector<std::string>{"aborted"});
  CHECK(why == beck::error::operation_aborted);
  CHECK(queued(sub) == "x end");
  s.run([](redis::subscription& to) -> task<> {
    const auto late = co_await to.add("a");
    CHECK(late.error() == beck::error::operation_aborted);
    const auto none = co_await to.next();
    CHECK(none.error() == beck::error::operation_aborted);
  }(sub));
  s.server.close();
  s.ctx.restart();
  s.ctx.run();  // nothing is left
}

CONFORMANCE("redis subscription: its end ends its calls") {
  client_site s;
  std::optional<redis::subscription> sub(std::in_place, *s.db);
  s.run(add(*sub, "a"));
  std::vector<std::string> seen;
  s.start(collect(*sub, seen, 1));
  s.server.pause();
  beck::error_code why;
  sub->add("b", "a")([&](beck::error_code ec) { why = ec; });
  s.wait(beck::duration(1'000'000));
  sub.reset();
  REQUIRE(s.run_until([&] { return s.ended == s.started && why; }));
  CHECK(seen == std::vector<std::string>{"aborted"});
  CHECK(why == beck::error::operation_aborted);
  s.server.resume();
  s.run([](redis::client& db) -> task<> {  // that of "a" and "b" may go behind this one
    beck::ignore(co_await db.exec<void>("PING"));
  }(*s.db));
  for (const char* channel : {"a", "b"}) s.run(publish(*s.db, channel, "x", 0));
}

CONFORMANCE("redis subscription: its end ends its calls also inside of a gap") {
  client_site s;
  bool answers = true;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (answers || (c.size() > 1 && c[1] == "a")) answer_all(c, to);
  });
  redis::client db(s.ctx, server.url());
  std::optional<redis::subscription> sub(std::in_place, db);
  redis::subscription witness(db);
  s.run(add(*sub, "a"));
  s.run(add(*sub, "b"));
  s.run(add(witness, "a"));
  std::vector<std::string> seen;
  s.start(collect(*sub, seen, 1));
  answers = false;
  server.cut();
  std::string events;
  REQUIRE(s.run_until([&] { return (events += queued(witness)) == "gap "; }));
  server.push("message", "a", "behind");
  REQUIRE(s.run_until([&] { return (events += queued(witness)) == "gap behind "; }));
  CHECK(seen.empty());
  sub.reset();
  REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  CHECK(seen == std::vector<std::string>{"aborted"});
}

CONFORMANCE("redis subscription: a channel that is removed inside of a gap does not hold it") {
  client_site s;
  bool answers = true;
  hand_server server(s.ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (answers || (c.size() > 1 && c[1] == "a")) answer_all(c, to);
  });
  redis::client db(s.ctx, server.url());
  redis::subscription sub(db);
  redis::subscription witness(db);
  s.run(add(sub, "a"));
  s.run(add(sub, "b"));
  s.run(add(witness, "a"));
  answers = false;
  server.cut();
  REQUIRE(s.run_until([&] { return queued(witness) == "gap "; }));
  CHECK(queued(sub) == "");
  sub.remove("b");
  CHECK(queued(sub) == "gap ");
}

namespace {

/// Owns a client and a subscription of it, as a program does.
task<> own_both(beck::io_context& ctx, std::string url, std::vector<std::string>& seen, int& ended,
                int state) {
  redis::client db(ctx, url);
  redis::subscription sub(db);
  redis::subscription idle(db);
  const auto count = [&ended](beck::error_code, auto&&...) { ++ended; };
  idle.next()(count);
  if (state >= 1) co_await add(sub, "a");
  if (state >= 2) co_await publish(db, "a", "in the queue", 1);
  if (state >= 3) sub.remove("a");
  sub.add("b")(count);
  seen.push_back("ready");
  if (state == 4) {
    const auto e = co_await sub.add("c", "d");
    CHECK(e);
  }
  co_await collect(idle, seen, 1);
}

}  // namespace

CONFORMANCE("redis subscription: handlers that own it are dropped with the context") {
  struct owner {
    owner(beck::io_context& ctx, const std::string& url) : db(ctx, url), sub(db), other(db) {}
    redis::client db;
    redis::subscription sub;
    redis::subscription other;
  };
  for (const bool is_adding : {false, true}) {
    CAPTURE(is_adding);
    std::weak_ptr<owner> left;
    int ended = 0;
    {
      client_site s;
      auto all = std::make_shared<owner>(s.ctx, "redis://" + s.address());
      left = all;
      s.run(add(all->sub, "a"));
      s.server.pause();
      if (is_adding) {
        all->sub.add("b")([all, &ended](beck::error_code) { ++ended; });
      } else {
        all->sub.next()([all, &ended](beck::error_code, const redis::push_event&) { ++ended; });
      }
      all.reset();
      s.wait(beck::duration(1'000'000));
      CHECK(!left.expired());
    }
    CHECK(left.expired());
    CHECK(ended == 0);
  }
}

CONFORMANCE("redis subscription: a context may be destroyed in every state of it") {
  for (int state = 0; state < 15; ++state) {
    CAPTURE(state);
    std::vector<std::string> seen;
    int ended = 0;
    {
      client_site s;
      s.start(own_both(s.ctx, "redis://" + s.address(), seen, ended, state % 5));
      REQUIRE(s.run_until([&] { return !seen.empty(); }));
      if (state >= 5) s.server.pause();
      if (state >= 10) s.server.cut();
      if (state >= 5) s.ctx.poll();
    }
    CHECK(ended <= 1);  // add() may have ended
    CHECK(seen == std::vector<std::string>{"ready"});
  }
}
