// SPDX-License-Identifier: BSL-1.0
// The parts of a session alone: a write and the bytes that it refers to, a blocking command and its
// end, guards, greetings; and the states of exchanges that a write holds.
#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <vector>

#include "redis/scripted_redis.hpp"
#include "redis/session/handshake.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

constexpr std::size_t lent_bytes = 20'000;  // of a value that is lent

std::vector<std::string> parts_of(const detail::gathered_write& write) {
  beck::const_buffer parts[detail::gathered_write::parts_max];
  std::vector<std::string> texts;
  const std::size_t count = write.gather(parts);
  for (std::size_t i = 0; i < count; ++i)
    texts.emplace_back(static_cast<const char*>(parts[i].data()), parts[i].size());
  return texts;
}

/// Sends a greeting. Returns its end as the server's `replies` decide it.
std::string greeting_end(const detail::server_url& to, std::string_view replies,
                         protocol version = protocol::resp3, std::string_view name = {},
                         detail::handshake::stage when = detail::handshake::stage::begin) {
  using answer = detail::handshake::answer;
  detail::handshake one(to, version, name, when);
  detail::session session({}, nullptr);
  session.connected(0);
  session.queues().greet(one, 0);
  beck::const_buffer parts[detail::gathered_write::parts_max];
  CHECK(session.writer().gather(parts, 0) == 1);
  session.writer().wrote(parts[0].size());
  CHECK_FALSE(one.is_done());
  CHECK(!session.reader().received(replies, 0));
  CHECK(one.is_done());
  const detail::handshake::verdict said = one.judge();
  const std::string text(said.text);
  switch (said.answer) {
    case answer::accepted:
      CHECK(!said.why);
      return "accepted" + text;
    case answer::no_resp3:
      return "no RESP3: " + text;
    case answer::refused:
      return said.why == error::not_primary ? "no primary" + text : "refused: " + text;
    case answer::refused_for_good:
      break;
  }
  CHECK(said.why);
  return "for good: " + text;
}

/// Cancels an exchange while a write refers to its bytes, and ends the write.
void check_held(scripted_redis& redis, scripted_exchange& one) {
  redis.session.cancel(one, cancelled());
  CHECK(one.is_held());
  CHECK(one.is_under_way());
  CHECK(one.ended() == 0);
  redis.session.cancel(one, connection_reset());  // it has ended already
  redis.end_write();
  redis.write();  // the rest, if the server has taken a part
  CHECK(one.ended() == 1);
  CHECK_FALSE(one.is_under_way());
  CHECK(one.why() == cancelled());
}

}  // namespace

TEST_CASE("redis: a write has copies in one buffer, and each lent part in its own") {
  ledger commands;
  scripted_exchange first(commands, 0, "g", false);
  scripted_exchange second(commands, 1, "g", false);
  const std::string lent = "lent";
  detail::gathered_write write;
  CHECK(write.empty());
  write.begin();
  CHECK(write.add("ab", nullptr));
  CHECK(write.add("cd", nullptr));
  CHECK(write.add(lent, &first));
  CHECK(write.add("ef", nullptr));
  CHECK(parts_of(write) == std::vector<std::string>{"abcd", "lent", "ef"});
  CHECK(write.is_lent(first));
  CHECK_FALSE(write.is_lent(second));
  CHECK_FALSE(write.take_written(3));
  CHECK(parts_of(write) == std::vector<std::string>{"d", "lent", "ef"});
  CHECK_FALSE(write.take_written(2));
  CHECK(parts_of(write) == std::vector<std::string>{"ent", "ef"});
  CHECK(write.is_lent(first));
  CHECK(write.take_written(5));
  CHECK(write.empty());
  CHECK_FALSE(write.is_lent(first));
  write.begin();
  CHECK(write.add("next", nullptr));
  CHECK_FALSE(write.is_lent(first));  // that was another write
  write.clear();
  CHECK(write.empty());
}

TEST_CASE("redis: a write that has all its buffers takes copies behind a copy only") {
  ledger commands;
  scripted_exchange one(commands, 0, "g", false);
  detail::gathered_write write;
  write.begin();
  for (std::size_t i = 1; i < detail::gathered_write::parts_max; ++i) CHECK(write.add("x", &one));
  CHECK(write.add("y", nullptr));
  CHECK(write.add("z", nullptr));
  CHECK_FALSE(write.add("x", &one));
  CHECK(parts_of(write).back() == "yz");
}

TEST_CASE("redis: a cancelled exchange is held by its write, whatever its state") {
  scripted_redis redis;
  SUBCASE("a part of it waits") {
    auto& one = redis.submit("SSSSSSSSSSSSSSSSSSSS", false, lent_bytes);
    redis.begin_write();
    CHECK(redis.session.queues().waiting() == 1);
    check_held(redis, one);
    CHECK(redis.session.queues().waiting() == 0);
  }
  SUBCASE("it is sent") {
    auto& one = redis.submit("S", false, lent_bytes);
    redis.begin_write();
    CHECK(redis.session.queues().waiting() == 0);
    check_held(redis, one);
  }
  SUBCASE("a part of it is to be sent before all others") {
    auto& one = redis.make("SSSSSSSSSSSSSSSSSSSS", false, lent_bytes);
    redis.session.queues().greet(one, redis.now);
    redis.begin_write();
    CHECK(one.is_greeting());
    check_held(redis, one);
  }
  SUBCASE("it is sent before all others") {
    auto& one = redis.make("S", false, lent_bytes);
    redis.session.queues().greet(one, redis.now);
    redis.begin_write();
    check_held(redis, one);
  }
  SUBCASE("the server has refused it for now, before it has taken it whole") {
    auto& one = redis.submit("G", false, lent_bytes);
    redis.begin_write(100);
    CHECK_FALSE(redis.receive("-LOADING soon\r\n"));
    CHECK(redis.session.queues().waiting() == 1);
    check_held(redis, one);
    CHECK(redis.session.queues().wake_at() == INT64_MAX);
    CHECK(redis.session.queues().waiting() == 0);
  }
}

TEST_CASE("redis: an exchange that the server has refused for now is cancelled or forgotten") {
  for (const bool is_forgotten : {false, true}) {
    scripted_redis redis;
    auto& one = redis.submit("g");
    redis.write();
    CHECK_FALSE(redis.receive("-LOADING soon\r\n"));
    CHECK(redis.session.queues().wake_at() != INT64_MAX);
    if (is_forgotten) {
      redis.forget(one);
    } else {
      redis.session.cancel(one, cancelled());
      CHECK(one.why() == cancelled());
    }
    CHECK(redis.session.queues().wake_at() == INT64_MAX);
    CHECK(redis.session.queues().waiting() == 0);
  }
}

TEST_CASE("redis: what the server refuses for now is sent again behind pauses that double") {
  scripted_redis redis;
  auto& one = redis.submit("g", true);
  auto& other = redis.submit("g", true);
  redis.write();
  std::int64_t pause = 10'000'000;
  for (int round = 0; round < 3; ++round, pause *= 2) {
    for (int i = 0; i < 2; ++i) CHECK_FALSE(redis.receive("-LOADING soon\r\n"));
    CHECK(redis.session.queues().waiting() == 2);
    CHECK(redis.session.queues().wake_at() == redis.now + pause);
    CHECK_FALSE(redis.session.writer().has_output());
    redis.session.queues().wake(redis.now + pause - 1);
    CHECK_FALSE(redis.session.writer().has_output());
    redis.now += pause;
    redis.session.queues().wake(redis.now);
    redis.write();
    CHECK(redis.session.queues().waiting() == 0);
  }
  for (int i = 0; i < 2; ++i) CHECK_FALSE(redis.receive("+OK\r\n"));
  CHECK(one.ended() == 1);
  CHECK(other.ended() == 1);
  CHECK(redis.session.queues().wake_at() == INT64_MAX);
}

TEST_CASE("redis: a blocking command ends by its reply, by a stop, or is nobody's") {
  ledger commands;
  scripted_exchange one(commands, 0, "g", false);
  detail::blocking_state state;
  CHECK_FALSE(state.is_blocked());
  CHECK(state.until(5) == INT64_MIN);
  state.begin(100, 10);
  CHECK(state.is_blocked());
  CHECK(state.until(5) == 110);
  CHECK(state.until(50) == 150);
  state.detach(one);  // it was not stopped
  CHECK(state.is_blocked());
  state.stop(one, cancelled());
  CHECK(state.stopped() == &one);
  CHECK(state.reason() == cancelled());
  CHECK(state.is_blocked());
  SUBCASE("it is answered") {
    state.end();
    CHECK_FALSE(state.is_stopping());
  }
  SUBCASE("its wait is ended") {
    state.unblock();
    CHECK(state.is_unblocked());
    CHECK_FALSE(state.is_stopping());
    CHECK(state.stopped() == &one);
    CHECK_FALSE(state.is_blocked());
    SUBCASE("and its exchange ends") { state.end(); }
    SUBCASE("and its exchange is cancelled") { state.detach(one); }
    CHECK(state.stopped() != &one);
  }
  SUBCASE("its exchange is cancelled") {
    state.detach(one);
    CHECK_FALSE(state.is_stopping());
    CHECK(state.is_blocked());
    state.end();
  }
  CHECK_FALSE(state.is_blocked());
  state.begin(INT64_MAX, 10);
  CHECK(state.until(5) == INT64_MAX);
}

TEST_CASE("redis: a guard is due behind its number of commands, and has its own answer") {
  detail::command_guard none(0, 7);
  none.note_commands(1'000);
  CHECK_FALSE(none.is_due());
  CHECK(none.room(256) == 256);
  detail::command_guard guard(10, 7);
  guard.note_commands(4);
  CHECK_FALSE(guard.is_due());
  CHECK(guard.room(256) == 6);
  CHECK(guard.room(3) == 3);
  guard.note_commands(6);
  CHECK(guard.is_due());
  const auto first = guard.next();
  guard.note_added();
  CHECK_FALSE(guard.is_due());
  const auto second = guard.next();
  CHECK(first != second);
  guard.note_added();
  token answer;
  answer.type = data_type::bulk_string;
  const auto text_of = [](const detail::command_guard::echo& echo) {
    return std::string_view(echo.data(), echo.size()).substr(19, 16);
  };
  answer.text = text_of(second);
  CHECK_FALSE(guard.is_answer(answer));
  answer.text = text_of(first);
  CHECK(guard.is_answer(answer));
  guard.note_answer();
  CHECK_FALSE(guard.is_answer(answer));
  answer.text = text_of(second);
  CHECK(guard.is_answer(answer));
  guard.lose();
  CHECK_FALSE(guard.is_answer(answer));
}

TEST_CASE("redis: the first refusal of a greeting decides, but for commands that name the client") {
  detail::server_url to;
  CHECK(greeting_end(to, "%0\r\n") == "accepted");
  CHECK(greeting_end(to, "-NOPROTO no\r\n") == "no RESP3: NOPROTO no");
  CHECK(greeting_end(to, "-ERR unknown command 'HELLO'\r\n") ==
        "no RESP3: ERR unknown command 'HELLO'");
  CHECK(greeting_end(to, "-ERR unknown command 'PING'\r\n", protocol::resp2) ==
        "for good: ERR unknown command 'PING'");
  CHECK(greeting_end(to, "-ERR max number of clients reached\r\n") ==
        "refused: ERR max number of clients reached");
  CHECK(greeting_end(to, "-LOADING soon\r\n") == "refused: LOADING soon");
  CHECK(greeting_end(to, "-NOAUTH no\r\n") == "for good: NOAUTH no");
  const std::string unnamed = "-ERR name\r\n-NOPERM\r\n-ERR unknown command 'CLIENT'\r\n";
  CHECK(greeting_end(to, "%0\r\n" + unnamed, protocol::resp3, "app") == "accepted");
  to.database = 99;
  to.reads_replicas = true;
  CHECK(greeting_end(to, "%0\r\n" + unnamed + "-ERR index\r\n-ERR read\r\n", protocol::resp3,
                     "app") == "for good: ERR index");
  CHECK(greeting_end(to, "+OK\r\n%0\r\n+OK\r\n-ERR read\r\n", protocol::resp3, {},
                     detail::handshake::stage::again) == "for good: ERR read");
  CHECK(greeting_end(to, "%0\r\n", protocol::resp3, "app", detail::handshake::stage::change) ==
        "accepted");
}

TEST_CASE(
    "redis: a greeting that asks for a primary is refused by a replica, with the last reply") {
  detail::server_url to;
  to.must_be_primary = true;
  to.user = "u";
  to.password = "p";
  CHECK(greeting_end(to, "%0\r\n*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n") == "accepted");
  CHECK(greeting_end(to, "%0\r\n*2\r\n$5\r\nslave\r\n:1\r\n") == "no primary");
  CHECK(greeting_end(to, "%0\r\n*0\r\n") == "no primary");
  CHECK(greeting_end(to, "%0\r\n-LOADING soon\r\n") == "refused: LOADING soon");
  CHECK(greeting_end(to, "-WRONGPASS no\r\n-NOAUTH no\r\n") == "for good: WRONGPASS no");
}
