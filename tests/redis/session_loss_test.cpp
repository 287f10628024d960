// SPDX-License-Identifier: BSL-1.0
// A session that loses its connection: commands that are sent again or end, and their outcomes,
// compared with the commands that the server has seen.
#include <doctest/doctest.h>

#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "redis/scripted_redis.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

constexpr std::size_t all = static_cast<std::size_t>(-1);

detail::session_limits small_slices() {
  detail::session_limits most;
  most.slice_commands = 2;
  most.gather_bytes = 64;
  return most;
}

struct cut {
  std::size_t bytes;    // that were written
  std::size_t replies;  // that came
  bool half_a_reply;    // and a part of the next one
};

/// Submits pipelines of every kind.
void submit_pipelines(scripted_redis& redis) {
  redis.submit("ggggg");
  redis.submit("gsg");
  redis.submit("sgS", true);
  redis.submit("GG");
  redis.submit("ss");
}

/// Returns whether an exchange must go over to the next connection.
bool may_go_on(scripted_redis& redis, const scripted_exchange& one) {
  for (std::size_t i = 0; i < one.commands(); ++i) {
    const command_record& known = redis.commands[one.first() + i];
    if (known.seen != 0 && known.answered == 0 && !known.may_run_again) return false;
  }
  return true;
}

/// Cuts a connection, and finishes on the next one. Returns the fault; `is_over`: there was no such
/// cut.
std::string run_cut(const cut& at, bool& is_over) {
  scripted_redis redis(small_slices());
  submit_pipelines(redis);
  std::size_t left = at.bytes;
  while (left != 0) {
    const std::size_t written = redis.write(left);
    if (written == 0) is_over = true;
    if (written == 0) break;
    left -= written;
  }
  if (redis.peer->unanswered() < at.replies + (at.half_a_reply ? 1 : 0)) return "";
  for (std::size_t i = 0; i < at.replies; ++i) redis.answer();
  if (at.half_a_reply) redis.answer(5);
  redis.lose();
  for (const auto& each : redis.exchanges) {
    const bool is_answered = each->answered() == each->commands();
    if (is_answered || each->is_under_way() == may_go_on(redis, *each)) continue;
    return "command " + std::to_string(each->first()) + " has ended or goes on wrongly";
  }
  redis.finish();
  return redis.verdict();
}

/// An exchange of one GET, with a reply of any type.
template <class T>
class typed_exchange final : public detail::exchange {
 public:
  explicit typed_exchange(reply<T> start = {}) : to(std::move(start)) {
    wire_.push("GET", "k");
    part_ = {wire_.bytes(), 1};
    set_commands(&part_, 1);
  }
  /// Prepares it to be used once more.
  void again() { set_commands(&part_, 1); }
  detail::reply_place place_of(std::uint32_t) noexcept override { return detail::place_of(to); }
  void done(const beck::error_code&) noexcept override { ++ended; }

  reply<T> to;
  int ended = 0;

 private:
  request wire_;
  detail::command_bytes part_;
};

void write_all(detail::session& session) {
  beck::const_buffer parts[detail::gathered_write::parts_max];
  CHECK(session.writer().gather(parts, 0) == 1);
  session.writer().wrote(parts[0].size());
}

/// Loses a connection behind each byte of the reply; the last one brings all of it.
template <class T>
void read_after_cuts(typed_exchange<T>& one, std::string_view reply) {
  detail::session_limits most;
  most.attempts = 1000;
  detail::session session(most, nullptr);
  session.queues().submit(one, 0);
  for (std::size_t at = 1; at <= reply.size(); ++at) {
    session.connected(0);
    session.queues().open();
    write_all(session);
    CHECK_FALSE(session.reader().received(reply.substr(0, at), 0));
    CHECK(one.ended == (at == reply.size() ? 1 : 0));
    session.lost(connection_reset(), 0);
  }
}

}  // namespace

TEST_CASE("redis: a connection cut at every byte and reply has true outcomes") {
  std::size_t cuts = 0;
  bool is_over = false;
  for (std::size_t bytes = 0; !is_over; ++bytes) {
    for (std::size_t replies = 0; replies < 16; ++replies) {
      for (const bool half : {false, true}) {
        const std::string fault = run_cut({bytes, replies, half}, is_over);
        if (!fault.empty()) FAIL_CHECK(fault << " at byte " << bytes << ", reply " << replies);
        ++cuts;
      }
    }
  }
  CHECK(cuts > 10'000);
}

TEST_CASE("redis: outcomes of a cut pipeline, one by one") {
  scripted_redis redis;
  auto& answered = redis.submit("ssss");
  auto& half_sent = redis.submit("gss");
  auto& unsent = redis.submit("ss");
  redis.begin_write(answered.bytes() + half_sent.bytes() - 1);
  redis.answer();
  redis.answer();
  redis.lose();
  CHECK(answered.outcomes() == "eemm");
  CHECK(half_sent.outcomes() == "mmn");
  CHECK(unsent.is_under_way());
  redis.finish();
  CHECK(unsent.outcomes() == "ee");
  CHECK(redis.commands.text() == "");
}

TEST_CASE("redis: replies to commands that were not sent count, and only the others go again") {
  ledger commands;
  scripted_exchange one(commands, 0, "sss", false);
  detail::session session({}, nullptr);
  session.connected(0);
  session.queues().open();
  session.queues().submit(one, 0);
  beck::const_buffer parts[detail::gathered_write::parts_max];
  CHECK(session.writer().gather(parts, 0) == 1);
  session.writer().wrote(one.bytes() / 3);
  CHECK(!session.reader().received("$1\r\n0\r\n$1\r\n1\r\n", 0));  // the second one is early
  CHECK(session.writer().is_answered());
  session.lost(connection_reset(), 1);
  CHECK(one.is_under_way());
  CHECK(one.answered() == 2);
  session.cancel(one, cancelled());
  CHECK(one.outcomes() == "een");
}

TEST_CASE("redis: a command whose last byte was written may have run, and the next one has not") {
  for (const bool is_whole : {false, true}) {
    scripted_redis redis;
    auto& one = redis.submit("sss");
    redis.write(2 * one.bytes() / 3 - (is_whole ? 0 : 1));
    redis.lose();
    CHECK(one.outcomes() == (is_whole ? "mmn" : "mnn"));
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: a command that was sent once may have run, however it ends") {
  scripted_redis redis;
  auto& sent = redis.submit("ss", true);
  auto& half_sent = redis.submit("gg");
  redis.write(sent.bytes() + half_sent.bytes() - 1);
  redis.answer();
  redis.lose();
  CHECK(sent.is_under_way());
  CHECK(half_sent.is_under_way());
  SUBCASE("it is cancelled while it waits") {
    redis.session.cancel(sent, cancelled());
    redis.session.cancel(half_sent, cancelled());
  }
  SUBCASE("it waits too long") { redis.session.end_waiting(cancelled(), 1000); }
  SUBCASE("further connections take nothing of it") {
    for (int i = 0; i < 3; ++i) {
      redis.reconnect();
      redis.write(3);
      redis.lose();
    }
  }
  CHECK(sent.outcomes() == "em");
  CHECK(half_sent.outcomes() == "mn");
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: an exchange is lost with as many connections as the limit says") {
  scripted_redis redis;
  auto& read = redis.submit("g");
  for (int lost = 1; lost <= 4; ++lost) {
    CHECK(read.is_under_way());
    redis.write();
    redis.lose();
    if (lost != 4) redis.reconnect();
  }
  CHECK(read.ended() == 1);
  CHECK(read.outcomes() == "m");
  CHECK(redis.commands[0].seen == 4);
}

TEST_CASE("redis: a retried pipeline goes on behind its last reply, and keeps its place") {
  scripted_redis redis;
  auto& first = redis.submit("ggg");
  redis.submit("g");
  redis.write();
  redis.answer();
  redis.answer(3);
  redis.submit("s");
  redis.lose();
  CHECK(redis.session.queues().waiting() == 3);
  CHECK(redis.session.writer().in_flight() == 0);
  redis.reconnect();
  redis.write();
  CHECK(redis.peer->answer(all) == "$1\r\n1\r\n");
  CHECK(redis.peer->answer(all) == "$1\r\n2\r\n");
  CHECK(redis.peer->answer(all) == "$1\r\n3\r\n");
  CHECK(redis.peer->answer(all) == "$1\r\n4\r\n");
  CHECK_FALSE(redis.receive("$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n"));
  CHECK(first.answered() == 3);
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: half a reply leaves nothing in the next attempt") {
  std::array<char, 8> room{};
  typed_exchange<std::vector<std::string>> list;
  typed_exchange<into> text(reply<into>(into(beck::buffer(room))));
  typed_exchange<value> tree;
  typed_exchange<long> number;
  read_after_cuts(list, "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
  CHECK(*list.to == std::vector<std::string>{"a", "b"});
  read_after_cuts(text, "$8\r\n12345678\r\n");
  CHECK((*text.to).text() == "12345678");
  read_after_cuts(tree, "|1\r\n+k\r\n:1\r\n*2\r\n*1\r\n:7\r\n_\r\n");
  CHECK(to_text<std::string>((*tree.to).root()) == R"(|{"k": 1} [[7], null])");
  read_after_cuts(number, "*1\r\n:7\r\n");  // an error on this side, early in the reply
  CHECK(number.to.error() == error::wrong_reply);
  CHECK(number.to.outcome() == outcome::executed);
}

TEST_CASE("redis: the greeting comes first, alone, and is never repeated") {
  scripted_redis redis;
  redis.lose();
  auto& waits = redis.submit("g");
  redis.session.connected(redis.now);
  redis.peer = std::make_unique<scripted_peer>(redis.commands);
  CHECK_FALSE(redis.session.writer().has_output());
  auto& hello = redis.make("gg");
  redis.session.queues().greet(hello, redis.now);
  CHECK(redis.session.queues().waiting() == 1);
  CHECK(redis.write() == hello.bytes());
  CHECK(redis.write() == 0);
  redis.answer();
  redis.lose();
  CHECK(hello.ended() == 1);
  CHECK(hello.outcomes() == "em");
  CHECK(redis.commands[waits.first()].seen == 0);
  auto& unsent = redis.make("ggg");
  redis.session.connected(redis.now);
  redis.session.queues().greet(unsent, redis.now);
  redis.session.lost(connection_reset(), redis.now);
  CHECK(unsent.outcomes() == "nnn");
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: between two connections nothing is written") {
  scripted_redis redis;
  redis.submit("g");
  redis.write();
  redis.lose();
  CHECK(redis.session.queues().is_waiting());
  CHECK_FALSE(redis.session.writer().has_output());
  redis.session.connected(redis.now);
  CHECK_FALSE(redis.session.writer().has_output());
}

TEST_CASE("redis: exchanges wait from the loss of a good connection on, or since they came") {
  detail::session_limits most;
  most.in_flight = 1;
  scripted_redis redis(most);
  redis.now = 10;
  auto& sent = redis.submit("s");
  redis.write();
  auto& older = redis.submit("g");
  redis.now = 50;
  redis.lose();
  CHECK(redis.session.queues().waiting_since() == 50);
  redis.now = 60;
  auto& late = redis.submit("g");
  redis.session.connected(70);
  redis.session.lost(connection_reset(), 80);  // it was never ready
  CHECK(redis.session.queues().waiting_since() == 50);
  redis.session.end_waiting(cancelled(), 50);
  CHECK(redis.session.queues().waiting() == 2);
  redis.session.end_waiting(cancelled(), 51);
  CHECK(sent.outcomes() == "m");
  CHECK(older.outcomes() == "n");
  CHECK(late.is_under_way());
  CHECK(redis.session.queues().waiting_since() == 60);
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: an exchange that was not answered is never repeated after a protocol error") {
  scripted_redis redis;
  auto& sent = redis.submit("g");
  redis.write();
  auto& unsent = redis.submit("gs");
  const beck::error_code why = redis.receive("?\r\n");
  CHECK(why == protocol_error::unknown_type);
  redis.lose(why);
  CHECK(sent.why() == protocol_error::unknown_type);
  CHECK(sent.outcomes() == "m");
  CHECK(unsent.is_under_way());
  redis.finish();
  CHECK(redis.verdict() == "");
}

TEST_CASE("redis: an exchange takes new commands after its end") {
  scripted_redis redis;
  typed_exchange<std::string> hello;
  for (int connection = 1; connection <= 6; ++connection) {
    redis.session.queues().greet(hello, redis.now);
    CHECK(redis.session.writer().has_output());
    write_all(redis.session);
    if (connection % 2 == 0) CHECK_FALSE(redis.receive("+OK\r\n"));
    redis.session.lost(connection_reset(), redis.now);
    CHECK(hello.ended == connection);
    redis.session.connected(redis.now);
    hello.again();
  }
  redis.session.queues().open();
  redis.session.queues().submit(hello, redis.now);
  write_all(redis.session);
  CHECK(redis.session.queues().waiting() == 0);
  redis.lose();
  CHECK(hello.is_under_way());
  redis.session.cancel(hello, cancelled());
}

TEST_CASE("redis: a command that was lost, sent again and then refused may have run") {
  for (const bool is_lost : {false, true}) {
    for (const std::string_view why : {"OOM", "READONLY", "NOPERM", "EXECABORT", "WRONGTYPE"}) {
      CAPTURE(is_lost);
      CAPTURE(why);
      detail::session session({}, nullptr);
      typed_exchange<long> one;
      one.terms().is_retryable = true;
      session.queues().submit(one, 0);
      session.connected(0);
      session.queues().open();
      write_all(session);
      if (is_lost) {
        session.lost(connection_reset(), 0);
        session.connected(0);
        session.queues().open();
        write_all(session);
      }
      CHECK_FALSE(session.reader().received("-" + std::string(why) + " x\r\n", 0));
      REQUIRE(one.ended == 1);
      const bool is_known = !is_lost || why == "WRONGTYPE";
      CHECK(one.to.outcome() == (is_known ? outcome::executed : outcome::maybe_executed));
    }
  }
}

TEST_CASE("redis: a command that was refused may have run on the connection before") {
  detail::session session({}, nullptr);
  typed_exchange<std::string> one;
  session.queues().submit(one, 0);
  for (const bool is_lost : {true, false}) {
    session.connected(0);
    session.queues().open();
    write_all(session);
    if (is_lost) session.lost(connection_reset(), 0);
  }
  CHECK_FALSE(session.reader().received("-LOADING Redis is loading the dataset in memory\r\n", 0));
  CHECK(one.ended == 0);
  CHECK(session.queues().wake_at() > 0);
  session.cancel(one, connection_reset());
  CHECK(one.ended == 1);
  CHECK(one.to.outcome() == outcome::maybe_executed);
}
