// SPDX-License-Identifier: BSL-1.0
// The memory that a session and its exchanges share: bytes lent to writes, replies that are read in
// parts, exchanges that are destroyed in any state.
#include <doctest/doctest.h>

#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include "redis/scripted_redis.hpp"
#include "support/allocations.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

constexpr std::size_t long_bytes = 20'000;  // of a value that is lent
constexpr std::size_t all = static_cast<std::size_t>(-1);

/// One GET whose reply goes into `room`.
class room_exchange final : public detail::exchange {
 public:
  explicit room_exchange(std::string& room) : to(into(beck::buffer(room))) {
    wire_.push("GET", "k");
    part_ = {wire_.bytes(), 1};
    set_commands(&part_, 1);
  }
  detail::reply_place place_of(std::uint32_t) noexcept override { return detail::place_of(to); }
  void done(const beck::error_code&) noexcept override { ++ended; }

  reply<into> to;
  int ended = 0;

 private:
  request wire_;
  detail::command_bytes part_;
};

/// Takes the exchange `victim` away in a state that `prepare` brings about, with others around it,
/// and finishes.
template <class Prepare>
void check_forget(std::string_view kinds, Prepare prepare) {
  detail::session_limits most;
  most.slice_commands = 2;
  scripted_redis redis(most);
  auto& before = redis.submit("sg", true);
  auto& victim = redis.submit(kinds, true);
  auto& behind = redis.submit("gs", true);
  prepare(redis, victim);
  redis.forget(victim);
  auto& later = redis.submit("ss");
  redis.finish();
  CHECK(redis.verdict() == "");
  for (const auto* one : {&before, &behind, &later}) CHECK(one->answered() == 2);
}

}  // namespace

TEST_CASE("redis: a cancelled exchange keeps its bytes until their write has ended") {
  for (const std::size_t at : {std::size_t{0}, std::size_t{5'000}, all}) {
    scripted_redis redis;
    auto& before = redis.submit("s");
    auto& one = redis.submit("gSS", false, long_bytes);
    auto& behind = redis.submit("s");
    redis.begin_write(at);
    redis.session.cancel(one, cancelled());
    redis.session.cancel(one, connection_reset());
    CHECK(one.is_under_way());
    redis.end_write();
    if (at != all) {
      CHECK(one.is_under_way());
      redis.write(10'000);
      CHECK(one.is_under_way());
    }
    redis.finish();
    CHECK(one.why() == cancelled());
    CHECK(one.outcomes() == "mmm");
    CHECK(redis.commands[one.first() + 2].seen == 1);
    CHECK(before.outcomes() == "e");
    CHECK(behind.outcomes() == "e");
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: a copied exchange that is cancelled ends at once") {
  scripted_redis redis;
  auto& copied = redis.submit("ss");
  auto& lent = redis.submit("G", false, long_bytes);
  redis.begin_write(3);
  redis.session.cancel(copied, cancelled());
  CHECK(copied.ended() == 1);
  auto& waits = redis.submit("s");
  redis.session.cancel(waits, cancelled());
  CHECK(waits.outcomes() == "n");
  CHECK(lent.is_under_way());
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: a server that answers before the write has ended") {
  scripted_redis redis;
  auto& one = redis.submit("SS", false, long_bytes);
  auto& short_one = redis.submit("s");
  redis.begin_write();
  redis.answer_all();
  CHECK(one.answered() == 2);
  CHECK(one.is_under_way());
  CHECK(short_one.ended() == 1);
  SUBCASE("the write ends") { redis.end_write(); }
  SUBCASE("it is cancelled in vain") { redis.session.cancel(one, cancelled()); }
  SUBCASE("the connection is lost") { redis.lose(); }
  redis.finish();
  CHECK(one.outcomes() == "ee");
  CHECK_FALSE(one.why());
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: a connection that is lost during a write of lent bytes") {
  for (const std::size_t at : {std::size_t{0}, std::size_t{100}, std::size_t{25'000}, all}) {
    scripted_redis redis;
    auto& gone = redis.submit("G", false, long_bytes);
    auto& stays = redis.submit("G", false, long_bytes);
    auto& write = redis.submit("S", false, long_bytes);
    redis.begin_write(at);
    redis.session.cancel(gone, cancelled());
    redis.lose();
    CHECK(gone.ended() == 1);
    CHECK(gone.why() == cancelled());
    CHECK(stays.is_under_way());
    CHECK(write.is_under_way() == (at != all));
    redis.finish();
    CHECK(stays.outcomes() == "e");
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: more buffers than a write has are written by the next ones, in order") {
  for (const std::size_t slice_bytes : {std::size_t{100}, std::size_t{70'000}}) {
    detail::session_limits most;
    most.write_bytes = 10'000'000;
    most.slice_bytes = slice_bytes;
    scripted_redis redis(most);
    std::string kinds = "S";
    for (int i = 0; i < 30; ++i) kinds += "gSg";
    auto& one = redis.submit(kinds, false, long_bytes);
    auto& beside = redis.submit("gSgSgS", false, long_bytes);
    std::size_t written = 0;
    while (const std::size_t bytes = redis.write()) {
      CHECK(bytes <= 16 * (slice_bytes + long_bytes + 100));
      written += bytes;
    }
    CHECK(written == one.bytes() + beside.bytes());
    redis.finish();
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: bytes are lent from the limit on, and copied below it") {
  for (const std::size_t more : {0u, 1u}) {
    ledger commands;
    scripted_exchange one(commands, 0, "S", false, 16'384 - 34 + more);
    detail::session session({}, nullptr);
    session.connected(0);
    session.queues().open();
    session.queues().submit(one, 0);
    beck::const_buffer parts[detail::gathered_write::parts_max];
    CHECK(session.writer().gather(parts, 0) == 1);
    CHECK(parts[0].size() == 16'383 + more);
    session.cancel(one, cancelled());
    CHECK(one.is_under_way() == (more == 1));
    session.writer().wrote(parts[0].size());
    CHECK(one.ended() == 1);
    session.lost(connection_reset(), 0);
  }
}

TEST_CASE("redis: a reply of 20 MiB in small reads goes to its place, and nowhere else") {
  std::string room(20 << 20, '\0');
  room_exchange one(room);
  detail::session session({}, nullptr);
  session.connected(0);
  session.queues().open();
  session.queues().submit(one, 0);
  beck::const_buffer parts[detail::gathered_write::parts_max];
  CHECK(session.writer().gather(parts, 0) == 1);
  session.writer().wrote(parts[0].size());
  const std::string chunk(997, 'x');
  const std::uint64_t before = beck::test::allocated_bytes();
  CHECK_FALSE(session.reader().received("$20971520\r\n", 0));
  bool is_good = true;
  std::size_t left = room.size();
  for (; left > chunk.size(); left -= chunk.size())
    is_good = is_good && !session.reader().received(chunk, 0);
  for (; left != 0; --left) is_good = is_good && !session.reader().received("x", 0);
  CHECK(one.ended == 0);
  is_good = is_good && !session.reader().received("\r", 0) && !session.reader().received("\n", 0);
  const std::uint64_t after = beck::test::allocated_bytes();
  CHECK(is_good);
  CHECK(one.ended == 1);
  CHECK((*one.to).text() == std::string(20 << 20, 'x'));
  if (beck::test::counts_allocations()) CHECK(after - before < 65'536);
}

TEST_CASE("redis: a cancel inside a reply ends the reading of that reply alone") {
  for (const bool is_of_other : {false, true}) {
    std::string room(20'000, '-');
    std::string other_room(20'000, '-');
    room_exchange one(room);
    room_exchange other(other_room);
    detail::session session({}, nullptr);
    session.connected(0);
    session.queues().open();
    session.queues().submit(one, 0);
    session.queues().submit(other, 0);
    beck::const_buffer parts[detail::gathered_write::parts_max];
    CHECK(session.writer().gather(parts, 0) == 1);
    session.writer().wrote(parts[0].size());
    const std::string half(10'000, 'x');
    CHECK_FALSE(session.reader().received("$20000\r\n" + half, 0));
    session.cancel(is_of_other ? other : one, cancelled());
    CHECK_FALSE(session.reader().received(half + "\r\n$1\r\ny\r\n", 0));
    CHECK(one.ended + other.ended == 2);
    CHECK(room == (is_of_other ? half + half : half + std::string(10'000, '-')));
    CHECK(other_room.substr(0, 2) == (is_of_other ? "--" : "y-"));
    CHECK(session.writer().in_flight() == 0);
    session.lost(connection_reset(), 0);
  }
}

TEST_CASE("redis: an exchange is forgotten in every state") {
  const auto no_more = [](scripted_redis&, auto&) {};
  check_forget("sgs", no_more);
  check_forget("sgs", [](scripted_redis& redis, auto&) { redis.write(40); });
  check_forget("sgs", [](scripted_redis& redis, auto&) { redis.write(); });
  check_forget("sgsgsg", [](scripted_redis& redis, auto&) { redis.write(); });
  check_forget("sgsgsg", [](scripted_redis& redis, auto&) {
    redis.write();
    for (int i = 0; i < 3; ++i) redis.answer();
  });
  check_forget("sgs", [](scripted_redis& redis, auto&) {
    redis.write();
    for (int i = 0; i < 2; ++i) redis.answer();
    redis.answer(6);  // a part of its reply
  });
  check_forget("sgs", [](scripted_redis& redis, auto&) {
    redis.write();
    for (int i = 0; i < 3; ++i) redis.answer();
    redis.lose();
  });
  check_forget("sgs", [](scripted_redis& redis, auto&) {
    redis.write();
    for (int i = 0; i < 3; ++i) redis.answer();
    redis.lose();
    redis.reconnect();
    redis.write();
  });
}

TEST_CASE("redis: a greeting is forgotten, and the next one begins anew") {
  for (const bool is_sent : {false, true}) {
    scripted_redis redis;
    auto& waits = redis.submit("s");
    redis.lose();
    redis.session.connected(redis.now);
    redis.peer = std::make_unique<scripted_peer>(redis.commands);
    auto& hello = redis.make("gg");
    redis.session.queues().greet(hello, redis.now);
    if (is_sent) redis.write(40);
    redis.forget(hello);
    CHECK(redis.session.queues().waiting() == 1);
    redis.session.queues().open();
    redis.finish();
    CHECK(waits.outcomes() == "e");
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: without memory a connection is closed, and the next one carries on") {
  NEEDS_ALLOCATION_FAULTS();
  bool has_failed = true;
  for (int n = 1; has_failed; ++n) {
    scripted_redis redis;
    for (const std::string_view kinds : {"gg", "G", "ss", "gGg", "S"})
      redis.submit(kinds, true, long_bytes);
    beck::const_buffer parts[detail::gathered_write::parts_max];
    {
      const beck::test::allocation_fault fault(n);
      try {
        redis.session.writer().wrote(redis.session.writer().gather(parts, 0) != 0 ? parts[0].size()
                                                                                  : 0);
        CHECK_FALSE(redis.session.reader().received(">2\r\n+first\r\n$4\r\nab", redis.now));
        CHECK_FALSE(redis.session.reader().received("cd\r\n>1\r\n+ne", redis.now));
      } catch (const std::bad_alloc&) {
        CHECK(fault.fired());
      }
      has_failed = fault.fired();
    }
    redis.pushes.clear();
    redis.session.lost(connection_reset(), redis.now);
    redis.reconnect();
    CHECK_FALSE(redis.receive(">1\r\n+new\r\n"));
    CHECK(redis.pushes == std::vector<std::string>{">[\"new\"]"});
    redis.finish();
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: a session drops exchanges in every state, each once") {
  detail::session_limits most;
  most.slice_commands = 2;
  most.in_flight = 9;
  scripted_redis redis(most);
  auto& answered = redis.submit("gg");
  auto& half_answered = redis.submit("gg");
  redis.write();
  for (int i = 0; i < 3; ++i) redis.answer();
  redis.answer(5);
  auto& in_turns = redis.submit("gggg");
  auto& held = redis.submit("S", false, long_bytes);
  redis.submit("gggg");
  auto& hello = redis.make("gggg");
  redis.session.queues().greet(hello, redis.now);
  redis.begin_write();
  redis.session.cancel(held, cancelled());
  CHECK(held.is_under_way());
  CHECK(redis.session.queues().is_waiting());
  redis.session.drop_all();
  redis.is_writing = false;
  CHECK(answered.ended() == 1);
  CHECK(half_answered.answered() == 1);
  CHECK(in_turns.dropped() == 1);
  for (const auto& each : redis.exchanges) {
    CHECK(each->ended() + each->dropped() == 1);
    CHECK_FALSE(each->is_under_way());
  }
  CHECK(redis.session.queues().waiting() == 0);
  redis.peer.reset();
  redis.session.lost(connection_reset(), redis.now);
}
