// SPDX-License-Identifier: BSL-1.0
// client_options::guard_commands: an ECHO behind so many commands finds replies out of step.
#include <doctest/doctest.h>

#include <ostream>
#include <string>

#include "redis/client_site.hpp"
#include "redis/hand_server.hpp"
#include "redis/scripted_redis.hpp"

using namespace beck::redis::test;

namespace {

redis::detail::session_limits guarded(std::uint32_t commands) {
  redis::detail::session_limits most;
  most.guard = commands;
  most.guard_seed = 1;
  return most;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Makes a session with exchanges of seven commands in flight, a guard behind the third and the
/// sixth.
struct guarded_flight {
  guarded_flight() : redis(guarded(3)) {
    for (int i = 0; i < 7; ++i) redis.submit("s");
    redis.write();
  }
  std::string outcomes() const {
    std::string text;
    for (const auto& each : redis.exchanges) text += each->outcomes();
    return text;
  }
  scripted_redis redis;
};

}  // namespace

TEST_CASE("redis: a guard is an ECHO behind so many commands, in the same write, with a new text") {
  guarded_flight f;
  CHECK(count(f.redis.offered, "ECHO") == 2);
  CHECK(f.redis.peer->unanswered() == 9);
  CHECK(f.redis.session.writer().in_flight() == 9);
  const std::string first = f.redis.offered.substr(f.redis.offered.find("ECHO"), 27);
  CHECK(count(f.redis.offered, first) == 1);
  f.redis.finish();
  CHECK(f.outcomes() == "eeeeeee");
  CHECK(f.redis.verdict() == "");
}

TEST_CASE("redis: a pipeline has a guard behind each so many of its commands") {
  scripted_redis redis(guarded(2));
  redis.submit("ssssss");
  redis.write();
  CHECK(count(redis.offered, "ECHO") == 3);
  CHECK(redis.offered.find("ECHO") < redis.offered.find("$1\r\n2\r\n"));
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: a guard that is read byte by byte, or described by an attribute, is passed") {
  guarded_flight f;
  for (int i = 0; i < 3; ++i) f.redis.answer();
  CHECK_FALSE(f.redis.receive("|1\r\n+a\r\n*1\r\n+x\r\n"));
  while (f.redis.peer->has_unanswered()) f.redis.answer(1);
  CHECK(f.outcomes() == "eeeeeee");
  CHECK(f.redis.verdict() == "");
}

TEST_CASE("redis: a reply that is missing is found at the next guard, and no later reply is used") {
  guarded_flight f;
  f.redis.answer();
  f.redis.peer->skip();
  f.redis.answer();
  f.redis.answer();  // the guard's text, which the third command takes: it cannot be known
  CHECK(f.redis.receive(f.redis.peer->answer(99)) == redis::protocol_error::failed_guard);
  f.redis.lose(redis::protocol_error::failed_guard);
  CHECK(f.outcomes() == "eeemmmm");
}

TEST_CASE("redis: a reply that came twice is found at the next guard") {
  guarded_flight f;
  f.redis.answer();
  f.redis.answer();
  CHECK_FALSE(f.redis.receive("$1\r\n1\r\n"));
  CHECK(f.redis.receive(f.redis.peer->answer(99)) == redis::protocol_error::failed_guard);
  f.redis.lose(redis::protocol_error::failed_guard);
  CHECK(f.outcomes() == "eeemmmm");
}

TEST_CASE("redis: replies of other types do not pass a guard, refusals for now do") {
  for (const char* const reply :
       {"*1\r\n$16\r\n0123456789abcdef\r\n", "$16\r\n0123456789abcdef\r\n", "$-1\r\n", ":1\r\n",
        "-NOPERM x\r\n", "-ERR unknown command\r\n", "_\r\n"}) {
    CAPTURE(reply);
    guarded_flight f;
    for (int i = 0; i < 3; ++i) f.redis.answer();
    CHECK(f.redis.receive(reply) == redis::protocol_error::failed_guard);
  }
  for (const char* const reply : {"-BUSY x\r\n", "-LOADING x\r\n"}) {
    CAPTURE(reply);
    guarded_flight f;
    for (int i = 0; i < 3; ++i) f.redis.answer();
    f.redis.peer->skip();
    CHECK_FALSE(f.redis.receive(reply));
    f.redis.finish();
    CHECK(f.outcomes() == "eeeeeee");
    CHECK(f.redis.verdict() == "");
  }
}

TEST_CASE("redis: a guard for which a write has no room goes first in the next one") {
  auto most = guarded(16);
  most.gather_bytes = 60;  // each command is lent
  scripted_redis redis(most);
  for (int i = 0; i < 16; ++i) redis.submit("S", false, 100);
  redis.write();
  CHECK(count(redis.offered, "ECHO") == 0);
  CHECK(redis.session.writer().has_output());
  redis.write();
  CHECK(redis.offered.find("ECHO") == 8);
  CHECK_FALSE(redis.session.writer().has_output());
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: a transaction has no guard inside") {
  auto most = guarded(2);
  scripted_redis redis(most);
  auto& whole = redis.make("sssss");
  whole.terms().is_whole = true;
  redis.session.queues().submit(whole, redis.now);
  redis.submit("s");
  redis.write();
  CHECK(count(redis.offered, "ECHO") == 1);
  CHECK(redis.offered.find("ECHO") > redis.offered.find("$1\r\n4\r\n"));
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: guards begin again on each connection") {
  guarded_flight f;
  for (int i = 0; i < 5; ++i) f.redis.answer();
  f.redis.lose();
  f.redis.reconnect();
  for (int i = 0; i < 2; ++i) f.redis.submit("s");
  f.redis.write();
  CHECK(count(f.redis.offered, "ECHO") == 0);
  f.redis.submit("s");
  f.redis.write();
  CHECK(count(f.redis.offered, "ECHO") == 1);
  f.redis.finish();
  CHECK(f.redis.verdict() == "");
}

CONFORMANCE("redis client: guards are answered by the server, and none is sent on a lane") {
  beck::io_context ctx(context_options());
  int echoes = 0;
  hand_server server(ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    if (c[0] == "ECHO") ++echoes;
    c[0] == "ECHO" ? to.bulk(c[1]) : to.integer(1);
  });
  redis::client db(ctx, server.url(), {.guard_commands = 3});
  bool is_over = false;
  const auto work = [&]() -> task<> {
    for (int i = 0; i < 10; ++i) CHECK((co_await db.exec<long>("INCR", "n")).value() == 1);
    CHECK(echoes == 3);
    auto lane = co_await db.lane();
    REQUIRE(lane);
    for (int i = 0; i < 10; ++i) CHECK((co_await lane->exec<long>("INCR", "m")).value() == 1);
    CHECK(echoes == 3);
    db.close();
    is_over = true;
    ctx.stop();
  };
  co_spawn(ctx, work, beck::detached);
  ctx.run_for(20s);
  CHECK(is_over);
}

CONFORMANCE("redis client: a failed guard closes the connection, and the next one goes on") {
  beck::io_context ctx(context_options());
  std::string last = "none";
  bool is_shifted = true;
  hand_server server(ctx, [&](const redis::arguments& c, redis::reply_writer& to) {
    const std::string now(c[1]);
    to.bulk(is_shifted ? last : now);  // the reply to the command before
    last = now;
  });
  redis::client db(ctx, server.url(), {.guard_commands = 2});
  bool is_over = false;
  const auto work = [&]() -> task<> {
    const auto one = co_await db.exec<std::string>("SET", "1", "");
    CHECK(*one == "none");
    auto pair =
        co_await db.exec(cmd<std::string>("SET", "2", ""), cmd<std::string>("SET", "3", ""));
    const auto& [two, three] = *pair;
    CHECK(*two == "1");
    CHECK(three.error() == redis::protocol_error::failed_guard);
    CHECK(three.outcome() == outcome::maybe_executed);
    is_shifted = false;
    const auto four = co_await db.exec<std::string>("SET", "4", "");
    CHECK(*four == "4");
    CHECK(server.connections() == 2);
    db.close();
    is_over = true;
    ctx.stop();
  };
  co_spawn(ctx, work, beck::detached);
  ctx.run_for(20s);
  CHECK(is_over);
}
