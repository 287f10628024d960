// SPDX-License-Identifier: BSL-1.0
// A session whose server sends more than a limit allows: the reply ends its own exchange, and a
// push is dropped; the other exchanges of the connection are as they were, or are sent again.
#include <beck/redis/client_options.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "redis/scripted_redis.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

detail::session_limits with(const parse_limits& replies) {
  detail::session_limits most;
  most.replies = replies;
  return most;
}

/// Passes a text of `bytes` bytes in pieces.
void receive_text(scripted_redis& redis, std::size_t bytes) {
  const std::string piece(65'536, 'x');
  REQUIRE_FALSE(redis.receive("$" + std::to_string(bytes) + "\r\n"));
  for (std::size_t left = bytes; left != 0;) {
    const std::size_t next = std::min(left, piece.size());
    REQUIRE_FALSE(redis.receive(std::string_view(piece).substr(0, next)));
    left -= next;
  }
  REQUIRE_FALSE(redis.receive("\r\n"));
}

constexpr std::size_t reply_bytes = 67'108'864;

struct oversized {
  const char* name;
  std::string reply;
  parse_limits limits;
  protocol_error why;
};

std::vector<oversized> oversized_replies() {
  std::vector<oversized> all;
  parse_limits most;
  most.depth = 2;
  all.push_back({"depth", "*1\r\n*1\r\n*1\r\n", most, protocol_error::too_deep});
  most = parse_limits();
  most.line_bytes = 8;
  all.push_back({"line", "-ERR that is long\r\n", most, protocol_error::line_too_long});
  all.push_back({"inside", "*2\r\n:1\r\n+that is long\r\n", most, protocol_error::line_too_long});
  most = parse_limits();
  most.reply_bytes = 20;
  all.push_back({"bytes", "$15\r\n", most, protocol_error::reply_too_large});
  most = parse_limits();
  most.elements = 3;
  all.push_back({"elements", "*3\r\n", most, protocol_error::too_many_elements});
  return all;
}

}  // namespace

TEST_CASE("redis: a reply that is larger than a client takes fails alone, also a cancelled one") {
  for (const bool is_cancelled : {false, true}) {
    CAPTURE(is_cancelled);
    scripted_redis redis(with(client_options().parsing));
    auto& first = redis.submit("s");
    auto& large = redis.submit("g");
    auto& many = redis.submit("g");
    auto& last = redis.submit("sg");
    redis.write();
    redis.answer();
    if (is_cancelled) redis.session.cancel(large, cancelled());
    if (is_cancelled) redis.session.cancel(many, cancelled());
    receive_text(redis, reply_bytes + 1);
    REQUIRE_FALSE(redis.receive("*4194304\r\n"));
    std::string elements;
    for (int i = 0; i < 4'096; ++i) elements += ":1\r\n";
    for (int i = 0; i < 1'024; ++i) REQUIRE_FALSE(redis.receive(elements));
    CHECK(first.outcomes() == "e");
    CHECK(large.outcomes() == (is_cancelled ? "m" : "e"));
    CHECK(many.outcomes() == (is_cancelled ? "m" : "e"));
    if (!is_cancelled) {
      CHECK(large.at(0).error() == error::reply_too_large);
      CHECK(many.at(0).error());
    }
    redis.peer->skip();
    redis.peer->skip();
    redis.answer_all();
    CHECK(last.outcomes() == "ee");
    CHECK(last.at(0));
    CHECK(last.at(1));
  }
}

TEST_CASE("redis: a reply over a limit of the protocol ends its exchange, and no other read") {
  for (const oversized& each : oversized_replies()) {
    CAPTURE(each.name);
    scripted_redis redis(with(each.limits));
    auto& before = redis.submit("s");
    auto& large = redis.submit("gg");
    auto& reads = redis.submit("gg");
    auto& writes = redis.submit("gs");
    auto& harmless = redis.submit("s", true);
    redis.write();
    auto& unsent = redis.submit("s");
    redis.answer();
    const beck::error_code why = redis.receive(each.reply);
    CHECK(why == each.why);
    redis.lose(why);
    CHECK(before.at(0));
    CHECK(large.why() == each.why);
    CHECK(large.outcomes() == "mm");
    CHECK(writes.why() == beck::errc::connection_aborted);
    CHECK(writes.outcomes() == "mm");
    redis.finish();
    CHECK(reads.outcomes() == "ee");
    CHECK(harmless.outcomes() == "e");
    CHECK(unsent.outcomes() == "e");
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: a cancelled reply over a limit of the protocol ends no other read") {
  for (const oversized& each : oversized_replies()) {
    CAPTURE(each.name);
    scripted_redis redis(with(each.limits));
    auto& large = redis.submit("g");
    auto& reads = redis.submit("gg");
    redis.write();
    redis.session.cancel(large, cancelled());
    const beck::error_code why = redis.receive(each.reply);
    CHECK(why == each.why);
    redis.lose(why);
    CHECK(reads.is_under_way());
    redis.finish();
    CHECK(reads.outcomes() == "ee");
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: a push over its limit is dropped but for its first elements, at every split") {
  parse_limits most;
  most.push_bytes = 64;
  most.whole_bytes = 4;
  const std::string message = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n";
  const std::string wire = message + "$40\r\n" + std::string(40, 'a') + "\r\n"    // the limit
                           + message + "$41\r\n" + std::string(41, 'b') + "\r\n"  // one more
                           + ">2\r\n+many\r\n*30\r\n" +
                           [] {  // elements
                             std::string text;
                             for (int i = 0; i < 30; ++i) text += ":1\r\n";
                             return text;
                           }() +
                           ">2\r\n+new\r\n:1\r\n";
  const std::vector<std::string> expected{
      ">[\"message\", \"c\", \"" + std::string(40, 'a') + "\"]",
      "cut >[\"message\", \"c\", null]",
      "cut >[\"many\", [",
      ">[\"new\", 1]",
  };
  for (std::size_t split = 1; split < wire.size(); ++split) {
    CAPTURE(split);
    scripted_redis redis(with(most));
    auto& read = redis.submit("g");
    redis.write();
    REQUIRE_FALSE(redis.receive(std::string_view(wire).substr(0, split)));
    REQUIRE_FALSE(redis.receive(std::string_view(wire).substr(split)));
    REQUIRE(redis.pushes.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(redis.pushes[i].substr(0, expected[i].size()) == expected[i]);
    redis.answer_all();
    CHECK(read.at(0));
    CHECK(redis.verdict() == "");
  }
}

TEST_CASE("redis: a push over the limit of replies does not end the exchange that waits") {
  parse_limits most;
  most.reply_bytes = 40;
  scripted_redis redis(with(most));
  auto& waits = redis.submit("g");
  redis.write();
  const beck::error_code why = redis.receive(">2\r\n+a\r\n$100\r\n");
  CHECK(why == protocol_error::push_too_large);
  redis.lose(why);
  CHECK(waits.is_under_way());
  redis.finish();
  CHECK(waits.at(0));
  CHECK(redis.verdict() == "");
}
