// SPDX-License-Identifier: BSL-1.0
// A session on one connection: slices, servers that answer wrongly, exchanges that are destroyed
// early, and the cost of a command.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "redis/scripted_redis.hpp"
#include "support/allocations.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

constexpr std::string_view get_key = "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";

/// An exchange of equal commands, whose replies are the integers from 0 on.
class counted_exchange final : public detail::exchange {
 public:
  explicit counted_exchange(std::size_t commands, std::string_view key = "key") {
    for (std::size_t i = 0; i < commands; ++i) wire_.push("GET", key);
    again();
  }
  /// Prepares it to be used once more.
  void again() {
    part_ = {wire_.bytes(), static_cast<std::uint32_t>(wire_.size())};
    set_commands(&part_, 1);
    ended = 0;
    place_ = 0;
  }
  detail::reply_place place_of(std::uint32_t i) noexcept override {
    check(i);
    return detail::place_of(to_);
  }
  void done(const beck::error_code& ec) noexcept override {
    if (!ec) check(commands());
    why = ec;
    ++ended;
  }

  int ended = 0;
  bool is_wrong = false;
  beck::error_code why;

 private:
  void check(std::uint32_t i) {
    if (i != place_ && (i != place_ + 1 || !to_ || *to_ != place_)) is_wrong = true;
    place_ = i;
  }

  request wire_;
  reply<long> to_;
  detail::command_bytes part_;
  std::uint32_t place_ = 0;
};

struct ready_session : detail::session {
  explicit ready_session(const detail::session_limits& most = {}, detail::push_sink* to = nullptr)
      : session(most, to) {
    connected(0);
    queues().open();
  }
};

/// Writes all that may be written. Returns the bytes.
std::string write_all(detail::session& session) {
  beck::const_buffer parts[detail::gathered_write::parts_max];
  const std::size_t count = session.writer().gather(parts, 0);
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i)
    bytes.append(static_cast<const char*>(parts[i].data()), parts[i].size());
  session.writer().wrote(bytes.size());
  return bytes;
}

/// Answers the commands in `bytes`: the next integers for "key", 0 for others.
std::string answer_to(std::string_view bytes, long long& next) {
  request_parser parser;
  reply_writer to;
  for (;;) {
    const parsed_request found = parser.parse(bytes);
    if (found.event != request_event::command) return std::string(to.bytes());
    to.integer(found.command[1] == "key" ? next++ : 0);
    bytes.remove_prefix(found.consumed);
  }
}

/// Returns how a session takes `replies` to one command, whole or byte by byte.
std::string taken(std::string_view replies, bool is_whole) {
  scripted_redis redis;
  auto& one = redis.submit("g");
  redis.write();
  redis.commands[0].answered = 1;
  beck::error_code ec;
  for (std::size_t at = 0, next = 0; at < replies.size() && !ec; at = next) {
    next = is_whole ? replies.size() : at + 1;
    ec = redis.receive(replies.substr(at, next - at));
  }
  std::string text = !one.is_under_way() ? "ended " : "open ";
  for (const std::string& push : redis.pushes) text += push + " ";
  if (!ec) return text;
  redis.lose(ec);
  CHECK(redis.verdict() == "");
  text += name_of(static_cast<protocol_error>(ec.value()));
  return text + " " + std::to_string(redis.session.reader().error_offset());
}

}  // namespace

TEST_CASE("redis: a small exchange waits for at most two slices of a large one") {
  ready_session session;
  counted_exchange large(100'000);
  session.queues().submit(large, 0);
  long long next = 0;
  int rounds = 0;
  for (; large.ended == 0; ++rounds) {
    counted_exchange small(1, "small");
    session.queues().submit(small, 0);
    const std::string bytes = write_all(session);
    const std::size_t place = bytes.find("small");
    CHECK(place <= 2 * 256 * get_key.size());
    CHECK(bytes.size() <= 65'536 + 256 * get_key.size());
    CHECK_FALSE(session.reader().received(answer_to(bytes, next), 0));
    CHECK(small.ended == 1);
  }
  CHECK(rounds < 100);
  CHECK(next == 100'000);
  CHECK_FALSE(large.is_wrong);
}

TEST_CASE("redis: large exchanges take turns, and in_flight holds with cancelled ones too") {
  detail::session_limits most;
  most.in_flight = 700;
  ready_session session(most);
  counted_exchange first(3000);
  counted_exchange cancelled_one(3000, "none");
  counted_exchange last(3000, "none");
  for (auto* one : {&first, &cancelled_one}) session.queues().submit(*one, 0);
  long long next = 0;
  std::string wire = write_all(session);
  CHECK(session.writer().in_flight() == 700);
  CHECK(write_all(session).empty());
  session.cancel(cancelled_one, cancelled());
  CHECK(session.writer().in_flight() == 700);
  CHECK_FALSE(session.writer().has_output());
  session.queues().submit(last, 0);
  for (int round = 0; first.ended == 0 || session.writer().in_flight() != 0; ++round) {
    CHECK(round < 100);
    CHECK_FALSE(session.reader().received(answer_to(wire, next), 0));
    CHECK(session.writer().in_flight() == 0);
    wire = write_all(session);
    CHECK(session.writer().in_flight() <= 700);
    if (last.is_under_way() && wire.empty()) break;
  }
  CHECK(next == 3000);
  CHECK_FALSE(first.is_wrong);
  CHECK(last.ended == 1);
}

TEST_CASE("redis: the memory of a long pipeline has a bound") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  ready_session session;
  counted_exchange large(100'000);
  session.queues().submit(large, 0);
  long long next = 0;
  std::uint64_t used = 0;
  while (large.ended == 0) {
    const std::uint64_t before = beck::test::allocated_bytes();
    beck::const_buffer parts[detail::gathered_write::parts_max];
    const std::size_t count = session.writer().gather(parts, 0);
    used += beck::test::allocated_bytes() - before;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string replies =
          answer_to({static_cast<const char*>(parts[i].data()), parts[i].size()}, next);
      const std::uint64_t start = beck::test::allocated_bytes();
      CHECK_FALSE(session.reader().received(replies, 0));
      used += beck::test::allocated_bytes() - start;
    }
    session.writer().wrote(count == 0 ? 0 : parts[0].size());
  }
  CHECK(used < 400'000);
}

TEST_CASE("redis: trim() frees the memory that a burst and a long push have needed") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  ready_session session;
  std::vector<std::unique_ptr<counted_exchange>> burst;
  for (int i = 0; i < 5000; ++i) burst.push_back(std::make_unique<counted_exchange>(1, "a"));
  const auto spend = [&](std::size_t exchanges, const std::string& push) {
    for (std::size_t i = 0; i < exchanges; ++i) session.queues().submit(*burst[i], 0);
    const std::uint64_t before = beck::test::allocated_bytes();
    while (session.writer().has_output()) {
      beck::const_buffer parts[detail::gathered_write::parts_max];
      const std::size_t count = session.writer().gather(parts, 0);
      session.writer().wrote(count == 0 ? 0 : parts[0].size());
    }
    CHECK_FALSE(session.reader().received(push, 0));
    for (std::size_t i = 0; i < exchanges; ++i) {
      CHECK_FALSE(session.reader().received(":0\r\n", 0));
      burst[i]->again();
    }
    return beck::test::allocated_bytes() - before;
  };
  const std::string short_push = ">1\r\n$3\r\nabc\r\n";
  CHECK(spend(5000, ">1\r\n$9000\r\n" + std::string(9000, 'x') + "\r\n") > 200'000);
  CHECK(spend(1, short_push) == 0);
  session.trim();
  CHECK(spend(1, "") > 2'000);
  CHECK(spend(1, short_push) > 0);
  CHECK(spend(1, short_push) == 0);
}

TEST_CASE("redis: in a steady state a command costs no allocation") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  ready_session session;
  std::vector<std::unique_ptr<counted_exchange>> ring;
  for (int i = 0; i < 100; ++i) ring.push_back(std::make_unique<counted_exchange>(2));
  const auto round = [&] {
    beck::const_buffer parts[detail::gathered_write::parts_max];
    for (const auto& one : ring) {
      one->again();
      session.queues().submit(*one, 0);
    }
    session.writer().wrote(session.writer().gather(parts, 0) != 0 ? parts[0].size() : 0);
    bool is_good =
        !session.reader().received(":0\r\n:1", 0) && !session.reader().received("\r\n", 0);
    for (int i = 1; i < 100; ++i)
      is_good = is_good && !session.reader().received(":0\r\n:1\r\n", 0);
    for (const auto& one : ring) is_good = is_good && one->ended == 1 && !one->is_wrong;
    return is_good;
  };
  CHECK(round());
  const std::uint64_t before = beck::test::allocations();
  bool is_good = true;
  for (int i = 0; i < 100; ++i) is_good = round() && is_good;
  const std::uint64_t after = beck::test::allocations();
  CHECK(is_good);
  CHECK(after == before);
}

TEST_CASE("redis: bytes that a server sends besides the replies are refused, however they arrive") {
  for (const bool is_whole : {true, false}) {
    CAPTURE(is_whole);
    CHECK(taken("$1\r\n0\r\n", is_whole) == "ended ");
    CHECK(taken("|1\r\n+k\r\n:1\r\n$1\r\n0\r\n", is_whole) == "ended ");
    CHECK(taken("$1\r\n0\r\n>1\r\n+a\r\n", is_whole) == "ended >[\"a\"] ");
    CHECK(taken(">1\r\n+a\r\n>1\r\n+b\r\n", is_whole) == "open >[\"a\"] >[\"b\"] ");
    CHECK(taken("$1\r\n0\r\n>1\r\n+a\r\n:1\r\n", is_whole) == "ended >[\"a\"] unexpected_reply 19");
    CHECK(taken("$1\r\n0\r\n*1\r\n*0\r\n", is_whole).substr(0, 22) == "ended unexpected_reply");
    CHECK(taken("*2\r\n>1\r\n+a\r\n:1\r\n:2\r\n", is_whole) == "ended >[\"a\"] ");
    CHECK(taken("*2\r\n>1\r\n>1\r\n+a\r\n", is_whole) == "open unexpected_push 8");
    CHECK(taken("$1\r\n0\r\n\r\n", is_whole) == "ended unknown_type 7");
  }
}

TEST_CASE("redis: the commands in flight grow while their ring is wrapped, and keep their order") {
  scripted_redis redis;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 50 << round; ++i) redis.submit("s");
    redis.write();
    while (redis.peer->unanswered() > std::size_t{35} << round) redis.answer();
    CHECK(redis.session.writer().in_flight() == std::size_t{35} << round);
  }
  redis.session.cancel(*redis.exchanges.back(), cancelled());
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: half a push is dropped with its connection") {
  scripted_redis redis;
  CHECK_FALSE(redis.receive(">2\r\n+lost\r\n"));
  redis.lose();
  redis.reconnect();
  CHECK_FALSE(redis.receive(">1\r\n+new\r\n"));
  CHECK(redis.pushes == std::vector<std::string>{">[\"new\"]"});
}

TEST_CASE("redis: the limits of an exchange hold for its replies only") {
  scripted_redis redis;
  auto& strict = redis.submit("g");
  auto& other = redis.submit("g");
  reply_limits most;
  most.text_bytes = 3;
  strict.terms().limits = most;
  redis.write();
  CHECK_FALSE(redis.receive("$4\r\nlong\r\n$4\r\nlong\r\n"));
  CHECK(strict.at(0).error() == error::reply_too_large);
  CHECK(strict.at(0).outcome() == outcome::executed);
  CHECK(*other.at(0) == "long");
}

TEST_CASE("redis: a greeting on a connection that is ready goes before the waiting commands") {
  scripted_redis redis;
  redis.submit("s");
  auto& hello = redis.make("gg");
  redis.session.queues().greet(hello, redis.now);
  redis.write();
  redis.answer();
  redis.answer();
  CHECK(hello.outcomes() == "ee");
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: pushes are no sign that a server answers") {
  detail::session s(detail::session_limits{}, nullptr);
  s.connected(1);
  constexpr std::string_view push = ">2\r\n$1\r\na\r\n$1\r\nb\r\n";
  CHECK(!s.reader().received(push, 2));
  CHECK(s.reader().heard_at() == 1);
  counted_exchange one(1);
  s.queues().greet(one, 3);
  beck::const_buffer parts[detail::gathered_write::parts_max];
  REQUIRE(s.writer().gather(parts, 0) == 1);
  s.writer().wrote(parts[0].size());
  CHECK(!s.reader().received(":", 4));  // a part of a reply is one
  CHECK(s.reader().heard_at() == 4);
  CHECK(!s.reader().received("0\r\n", 5));
  CHECK(s.reader().heard_at() == 5);
  CHECK(one.ended == 1);
  CHECK(!s.reader().received(push, 6));
  CHECK(s.reader().heard_at() == 5);
}
