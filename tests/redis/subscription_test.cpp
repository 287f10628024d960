// SPDX-License-Identifier: BSL-1.0
// Subscriptions beside the commands of a client: channels that are confirmed, refused and removed,
// messages in their order, and queues that are full.
#include "redis/client_site.hpp"
#include "redis/queued.hpp"

#include <beck/redis/subscription.hpp>
#include <beck/run/bind.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/allocations.hpp"

using namespace beck::redis::test;

namespace {

task<> publish(redis::client& db, std::string channel, std::string payload, long receivers = -1) {
  const auto r = co_await db.exec<long>("PUBLISH", channel, payload);
  CHECK(r);
  if (receivers >= 0) CHECK(*r == receivers);
}

/// Returns "channel=payload", or "(dropped)" of a gap.
std::string text_of(const redis::push_event& e) {
  if (e.is_gap()) return "(" + std::to_string(e.dropped()) + ")";
  std::string text(e.pattern());
  if (!text.empty()) text += ":";
  return text + std::string(e.channel()) + "=" + std::string(e.payload());
}

/// Returns the events in the queue, and how it has ended.
std::string queued(redis::subscription& from) { return redis::test::queued(from, text_of); }

}  // namespace

CONFORMANCE("redis subscription: messages of channels, patterns and shards come beside replies") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    const auto on = co_await sub.add("news", redis::pattern("log.*"), redis::sharded("{a}x"));
    CHECK(on);
    co_await publish(db, "news", "one", 1);
    co_await publish(db, "log.7", "two", 1);
    co_await publish(db, "other", "three", 0);
    const auto sharded = co_await db.exec<long>("SPUBLISH", "{a}x", "four");
    CHECK(*sharded == 1);
    for (const char* const expected : {"news=one", "log.*:log.7=two", "{a}x=four"}) {
      const auto e = co_await sub.next();
      CHECK(e);
      CHECK(text_of(*e) == expected);
      const auto echo = co_await db.exec<std::string>("ECHO", expected);
      CHECK(*echo == expected);
    }
    CHECK(queued(sub) == "");
  }(*s.db));
}

CONFORMANCE("redis subscription: the server is asked once for a channel of several") {
  client_site s;
  int asked = 0;
  s.server.on_command([&](const redis::arguments& c) { asked += c[0] == "subscribe" ? 1 : 0; });
  s.run([](redis::client& db) -> task<> {
    redis::subscription one(db);
    {
      redis::subscription other(db);
      beck::ignore(co_await one.add("a", "b"));
      beck::ignore(co_await other.add("b", "b", "c"));
      co_await publish(db, "b", "x", 1);
      CHECK(queued(one) == "b=x ");
      CHECK(queued(other) == "b=x ");
      other.remove("b", "never added");
      co_await publish(db, "b", "y", 1);
      CHECK(queued(other) == "");
      CHECK(queued(one) == "b=y ");
    }
    co_await publish(db, "c", "z", 0);  // the destructor has unsubscribed it, and only it
    co_await publish(db, "b", "z", 1);
    one.remove("a", "b");
    const auto numbers = co_await db.exec<std::vector<std::string>>("PUBSUB", "NUMSUB", "a", "b");
    const bool none = *numbers == std::vector<std::string>{"a", "0", "b", "0"};
    CHECK(none);
    CHECK(queued(one) == "b=z ");  // had come before
  }(*s.db));
  CHECK(asked == 3);
}

CONFORMANCE("redis subscription: calls of one turn are one request, and are sent before commands") {
  client_site s;
  std::vector<std::string> seen;
  s.server.on_command([&](const redis::arguments& c) { seen.emplace_back(c[0]); });
  redis::subscription sub(*s.db);
  s.start([](redis::client& db) -> task<> { co_await publish(db, "a", "x", 1); }(*s.db));
  for (const char* name : {"a", "b", "c"}) {
    s.start([](redis::subscription& to, std::string channel) -> task<> {
      const auto on = co_await to.add(channel);
      CHECK(on);
    }(sub, name));
  }
  REQUIRE(s.run_until([&] { return s.ended == s.started; }));
  CHECK(seen == std::vector<std::string>{"HELLO", "subscribe", "subscribe", "subscribe", "PING",
                                         "PUBLISH"});
  CHECK(queued(sub) == "a=x ");
  CHECK(s.db->stats().writes == 2);  // the greeting is one
}

CONFORMANCE("redis subscription: a channel that is refused ends its call, which leaves nothing") {
  client_site s;
  s.run([](redis::client& db, redis::memory_server& server) -> task<> {
    redis::subscription sub(db);
    beck::ignore(co_await sub.add("kept"));
    server.fail_next("PSUBSCRIBE",
                     "NOPERM this user has no permissions to access one of the "
                     "channels used as arguments");
    const auto refused = co_await sub.add("a", redis::pattern("p*"), "kept", "b");
    CHECK(refused.error() == redis::error::noperm);
    for (const char* channel : {"a", "b", "pa"}) co_await publish(db, channel, "lost", 0);
    co_await publish(db, "kept", "x", 1);
    CHECK(queued(sub) == "kept=x ");
    const auto again = co_await sub.add(redis::pattern("p*"));
    CHECK(again);
    co_await publish(db, "pa", "y", 1);
    CHECK(queued(sub) == "p*:pa=y ");
  }(*s.db, s.server));
}

CONFORMANCE("redis subscription: a refusal for now is no refusal") {
  client_site s;
  s.server.fail_next("SUBSCRIBE", "BUSY Redis is busy running a script.", 3);
  s.server.fail_next("PING", "LOADING Redis is loading the dataset in memory", 1);
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    const auto on = co_await sub.add("a", "b");
    CHECK(on);
    co_await publish(db, "a", "x", 1);
    co_await publish(db, "b", "y", 1);
    CHECK(queued(sub) == "a=x b=y ");
  }(*s.db));
}

CONFORMANCE("redis subscription: a cancelled add() removes the names that it has added") {
  client_site s;
  s.run([](redis::client& db, redis::memory_server& server) -> task<> {
    redis::subscription sub(db);
    beck::ignore(co_await sub.add("kept"));
    server.pause();
    {
      const auto late = co_await beck::timeout(sub.add("kept", "a"), beck::duration(5'000'000));
      CHECK(late.error() == beck::error::timeout);
    }
    server.resume();
    co_await publish(db, "kept", "x", 1);
    const auto numbers = co_await db.exec<std::vector<std::string>>("PUBSUB", "NUMSUB", "a");
    const bool none = *numbers == std::vector<std::string>{"a", "0"};
    CHECK(none);
    CHECK(queued(sub) == "kept=x ");
    const auto on = co_await sub.add("a");
    CHECK(on);
  }(*s.db, s.server));
}

CONFORMANCE("redis subscription: a channel that is removed while it is added is not subscribed") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    sub.add("a", "b")([](beck::error_code ec) { CHECK(!ec); });
    sub.remove("a");
    bool done = false;
    sub.add("b")([&](beck::error_code ec) {
      CHECK(!ec);
      done = true;
    });
    co_await publish(db, "a", "x", 0);
    co_await publish(db, "b", "x", 1);
    CHECK(done);
    CHECK(queued(sub) == "b=x ");
    sub.remove("b");
    const auto again = co_await sub.add("b");  // between UNSUBSCRIBE and its confirmation
    CHECK(again);
    co_await publish(db, "b", "y", 1);
    CHECK(queued(sub) == "b=y ");
  }(*s.db));
}

CONFORMANCE(
    "redis subscription: a cancelled add() leaves alone the names that were removed meanwhile") {
  for (const bool is_again : {false, true}) {
    CAPTURE(is_again);
    client_site s;
    s.run([](redis::client& db, redis::memory_server& server, bool adds_again) -> task<> {
      redis::subscription sub(db);
      beck::ignore(co_await sub.add("kept"));
      server.pause();
      beck::cancellation_signal stop;
      beck::error_code why;
      sub.add("a", "kept", "b")(
          beck::bind_cancellation_slot(stop.slot(), [&](beck::error_code ec) { why = ec; }));
      sub.remove("a", "kept");  // the client has no use for "a" any more
      if (adds_again) beck::ignore(co_await sub.add("kept"));
      beck::ignore(co_await beck::timeout(sub.add("c"), beck::duration(5'000'000)));
      stop.emit(beck::cancellation_type::all);
      server.resume();
      const long receivers = adds_again ? 1 : 0;
      co_await publish(db, "kept", "x", receivers);
      co_await publish(db, "a", "x", 0);
      co_await publish(db, "b", "x");
      CHECK(why == beck::error::operation_aborted);
      CHECK(queued(sub) == (adds_again ? "kept=x " : ""));
    }(*s.db, s.server, is_again));
  }
}

CONFORMANCE("redis subscription: next() waits, is cancelled without loss, and served in order") {
  client_site s;
  redis::subscription sub(*s.db);
  s.run([](redis::client& db, redis::subscription& from) -> task<> {
    beck::ignore(co_await from.add("a"));
    {
      const auto none = co_await beck::timeout(from.next(), beck::duration(1'000'000));
      CHECK(none.error() == beck::error::timeout);
    }
    std::string text;
    for (const char* name : {"first ", "second "}) {
      from.next()([&text, name](beck::error_code ec, const redis::push_event& e) {
        CHECK(!ec);
        text += name + text_of(e) + " ";
      });
    }
    CHECK(text.empty());
    for (const char* payload : {"1", "2", "3"}) co_await publish(db, "a", payload);
    CHECK(text == "first a=1 second a=2 ");
    CHECK(queued(from) == "a=3 ");
  }(*s.db, sub));
}

CONFORMANCE("redis subscription: a full queue drops the oldest, the newest, or ends") {
  const auto run = [](const redis::subscription_options& how, const std::string& expected) {
    client_site s;
    s.run([](redis::client& db, redis::subscription_options limits, std::string events) -> task<> {
      redis::subscription sub(db, limits);
      beck::ignore(co_await sub.add("a"));
      for (int i = 0; i < 6; ++i) co_await publish(db, "a", std::to_string(i));
      CHECK(queued(sub) == events);
      co_await publish(db, "a", "6");
      CHECK(queued(sub) == (events.ends_with("end") ? "end" : "a=6 "));
      const auto late = co_await sub.add("b");
      CHECK(late.error() ==
            (events.ends_with("end") ? redis::error::queue_full : beck::error_code()));
    }(*s.db, how, expected));
  };
  run({.events = 4}, "(2) a=2 a=3 a=4 a=5 ");
  run({.overflow = redis::drop_newest, .events = 4}, "a=0 a=1 a=2 a=3 (2) ");
  run({.overflow = redis::end_when_full, .events = 4}, "a=0 a=1 a=2 a=3 end");
  run({.queue_bytes = 70}, "(4) a=4 a=5 ");
  run({.queue_bytes = 1}, "(5) a=5 ");
  run({.events = 0}, "(5) a=5 ");
}

CONFORMANCE("redis subscription: a message that is too large is dropped, and no call notices") {
  redis::parse_limits most = redis::client_options().parsing;
  most.push_bytes = 1'000;
  client_site s({.parsing = most});
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    beck::ignore(co_await sub.add("a", redis::pattern("b*")));
    co_await publish(db, "a", "0", 1);
    co_await publish(db, "a", std::string(1'000, 'x'), 1);
    co_await publish(db, "b", std::string(1'000, 'x'), 1);
    co_await publish(db, "a", "1", 1);
    CHECK(queued(sub) == "a=0 (2) a=1 ");
    co_await publish(db, "bb", std::string(1'000, 'x'), 1);
    CHECK(queued(sub) == "(1) ");
  }(*s.db));
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis subscription: the number of channels is bounded") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db, {.channels = 3});
    std::vector<std::string> names{"a", "b", "c", "d"};
    const auto many = co_await sub.add(redis::each(names));
    CHECK(many.error() == redis::error::request_too_large);
    names.pop_back();
    const auto on = co_await sub.add(redis::each(names));
    CHECK(on);
    const auto more = co_await sub.add("d");
    CHECK(more.error() == redis::error::request_too_large);
    co_await publish(db, "c", "x", 1);
    sub.remove("a");
    const auto long_name = co_await sub.add(std::string(65'537, 'n'));
    CHECK(long_name.error() == redis::error::request_too_large);
    const auto last = co_await sub.add(std::string(65'536, 'n'));
    CHECK(last);
    co_await publish(db, std::string(65'536, 'n'), "x", 1);
  }(*s.db));
}

CONFORMANCE("redis subscription: thousands of channels, added and removed at once") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    std::vector<std::string> names;
    for (int i = 0; i < 3000; ++i) names.push_back("channel " + std::to_string(i));
    const auto on = co_await sub.add(redis::each(names));
    CHECK(on);
    co_await publish(db, "channel 2999", "x", 1);
    CHECK(queued(sub) == "channel 2999=x ");
    sub.remove(redis::each(names));
    co_await publish(db, "channel 0", "x");
    const auto on_again = co_await sub.add("last");
    CHECK(on_again);
    co_await publish(db, "channel 2999", "x", 0);
  }(*s.db));
}

CONFORMANCE("redis subscription: a transaction of the same client publishes into its own reply") {
  client_site s;
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    beck::ignore(co_await sub.add("a"));
    const auto all =
        co_await db.transaction(cmd<long>("INCR", "n"), cmd<long>("PUBLISH", "a", "x"),
                                cmd<std::string>("ECHO", "e"), cmd<long>("PUBLISH", "a", "y"));
    CHECK(all);
    CHECK(*std::get<1>(*all) == 1);
    CHECK(*std::get<2>(*all) == "e");
    CHECK(queued(sub) == "a=x a=y ");
  }(*s.db));
}

CONFORMANCE("redis subscription: events outlive subscription and client") {
  client_site s;
  redis::push_event kept;
  s.run([](redis::client& db, redis::push_event& to) -> task<> {
    redis::subscription sub(db);
    beck::ignore(co_await sub.add("a"));
    co_await publish(db, "a", std::string(100'000, 'x'));
    auto e = co_await sub.next();
    to = std::move(*e);
  }(*s.db, kept));
  s.db.reset();
  CHECK(kept.channel() == "a");
  CHECK(kept.payload() == std::string(100'000, 'x'));
  CHECK(!kept.is_gap());
}

CONFORMANCE("redis subscription: a server without RESP3 refuses it") {
  client_site s;
  s.server.fail_next("HELLO", "ERR unknown command 'HELLO'");
  s.run([](redis::client& db) -> task<> {
    redis::subscription sub(db);
    const auto refused = co_await sub.add("a");
    CHECK(refused.error() == redis::error::noproto);
    const auto echo = co_await db.exec<std::string>("ECHO", "x");
    CHECK(*echo == "x");
    CHECK(queued(sub) == "");
  }(*s.db));
}

CONFORMANCE("redis subscription: in steady state a message allocates nothing") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  client_site s;
  redis::client source(s.ctx, "redis://" + s.address());
  redis::subscription sub(*s.db);
  s.run([](redis::subscription& to) -> task<> { beck::ignore(co_await to.add("a")); }(sub));
  const auto receive = [&](int count, std::uint64_t& allocations) {
    // They are all in the socket before the subscriber's context reads.
    s.run([](redis::client& db, redis::subscription& from, int messages,
             std::uint64_t& sum) -> task<> {
      for (int i = 0; i < messages; ++i) {
        beck::ignore(co_await db.exec<long>("PUBLISH", "a", "a payload of some length, no more"));
        const std::uint64_t before = beck::test::allocations();
        const auto e = co_await from.next();
        sum += beck::test::allocations() - before;
        CHECK(!e->is_gap());
      }
    }(source, sub, count, allocations));
  };
  std::uint64_t ignored = 0;
  receive(50, ignored);
  std::uint64_t allocations = 0;
  receive(50, allocations);
  CHECK(allocations == 0);
}
