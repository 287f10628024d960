// SPDX-License-Identifier: BSL-1.0
// The limits of the parser of replies: exactly the limit is accepted, and one more is refused.
#include <beck/redis/resp3.hpp>

#include <doctest/doctest.h>

#include <string>

#include "redis/replies.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

TEST_CASE("redis: a depth of the limit is accepted, and one more is refused, empty or not") {
  for (const std::uint32_t depth : {1U, 2U, 5U, 128U}) {
    const arrival how{.limits = limits_with(&parse_limits::depth, depth)};
    for (const char* head : {"*1\r\n", "~1\r\n", "*?\r\n"}) {
      const std::string edge = repeated(head, depth);
      CHECK(end_of(transcript_of(edge + ":1\r\n", how)).find("refused") == std::string::npos);
      const std::string place = "@" + std::to_string(edge.size());
      CHECK(end_of(transcript_of(edge + "*0\r\n", how)) == "refused:too_deep" + place);
      CHECK(end_of(transcript_of(edge + "|0\r\n", how)) == "refused:too_deep" + place);
      CHECK(end_of(transcript_of(edge + "*1\r\n", how)) == "refused:too_deep" + place);
    }
  }
  const std::string bomb = repeated("*1\r\n", 1'000'000);
  CHECK(end_of(transcript_of(bomb)) == "refused:too_deep@512");
  CHECK(end_of(transcript_of(repeated("|1\r\n", 1'000'000))) == "refused:too_deep@512");
}

TEST_CASE("redis: a line of the limit is accepted, and one byte more is refused before its end") {
  for (const std::uint32_t most : {0U, 1U, 7U, 8U, 100U, 65'536U}) {
    const arrival how{.limits = limits_with(&parse_limits::line_bytes, most)};
    const auto result_of = [&](const std::string& input) {
      return most > 1000 ? transcript_of(input, how) : transcript_at_all_splits(input, how);
    };
    const std::string text(most, 'x');
    CHECK(result_of("+" + text + "\r\n") == "+" + text + "/");
    CHECK(result_of("-" + text + "\r\n") == "-" + text + "/");
    CHECK(result_of("+" + text) == "...");
    CHECK(result_of("+x" + text + "\r\n") == "refused:line_too_long@0");
    CHECK(result_of("+x" + text) == "refused:line_too_long@0");
    CHECK(result_of(":1\r\n-x" + text) == ":1/refused:line_too_long@4");
  }
  const arrival how{.limits = limits_with(&parse_limits::line_bytes, 3)};
  CHECK(transcript_at_all_splits("(123\r\n,1.5\r\n", how) == "(123/,1.5=1.5/");
  CHECK(transcript_at_all_splits("(1234\r\n", how) == "refused:line_too_long@0");
  CHECK(transcript_at_all_splits(",12.5\r\n", how) == "refused:line_too_long@0");
  CHECK(transcript_at_all_splits(":12345\r\n", how) == ":12345/");  // has a bound of its own
}

TEST_CASE("redis: a reply of as many bytes as the limit is accepted, and one more is refused") {
  const std::string replies[] = {":12345\r\n",
                                 "+hello\r\n",
                                 bulk("hello"),
                                 "*2\r\n:1\r\n$1\r\na\r\n",
                                 "_\r\n",
                                 "#t\r\n",
                                 "*0\r\n",
                                 "=7\r\ntxt:abc\r\n",
                                 ",1.5\r\n",
                                 "*?\r\n_\r\n.\r\n",
                                 "$?\r\n;1\r\na\r\n;0\r\n",
                                 "|1\r\n+a\r\n:1\r\n_\r\n",
                                 "%1\r\n+a\r\n$0\r\n\r\n",
                                 "(123\r\n",
                                 "!1\r\nx\r\n",
                                 bulk(std::string(150, 'x'))};
  for (const std::string& reply : replies) {
    INFO(reply);
    const auto size = static_cast<std::uint32_t>(reply.size());
    const arrival edge{.limits = limits_with(&parse_limits::reply_bytes, size)};
    const std::string got = transcript_at_all_splits(reply + reply, edge);
    CHECK(got.find("refused") == std::string::npos);
    CHECK(got.back() == '/');
    const arrival less{.limits = limits_with(&parse_limits::reply_bytes, size - 1)};
    CHECK(transcript_at_all_splits(reply, less).find("refused:reply_too_large@") !=
          std::string::npos);
  }
}

TEST_CASE("redis: a push of as many bytes as its limit is accepted, and one more is refused") {
  const std::string push = ">2\r\n+a\r\n$3\r\nxyz\r\n";
  const auto size = static_cast<std::uint32_t>(push.size());
  const arrival edge{.limits = limits_with(&parse_limits::push_bytes, size)};
  CHECK(transcript_at_all_splits(push + bulk(std::string(80, 'x')) + push, edge) ==
        "^>2 ^1+a ^1$xyz/$" + std::string(80, 'x') + "/^>2 ^1+a ^1$xyz/");
  arrival less{.limits = limits_with(&parse_limits::push_bytes, size - 1)};
  CHECK(transcript_at_all_splits(push, less) == "^>2 ^1+a refused:push_too_large@8");
  less.limits.push_bytes = 3;
  CHECK(transcript_at_all_splits(push, less) == "refused:push_too_large@0");
  const std::string described = "|1\r\n+k\r\n+v\r\n" + push;
  const arrival both{.limits = limits_with(&parse_limits::push_bytes, size + 12)};
  CHECK(transcript_at_all_splits(described, both) == "|2 1+k 1+v ^>2 ^1+a ^1$xyz/");
  less.limits.push_bytes = size + 11;
  CHECK(end_of(transcript_at_all_splits(described, less)) == "refused:push_too_large@20");
  arrival inside{.limits = limits_with(&parse_limits::push_bytes, size), .pushes_inside = true};
  const std::string reply = "*2\r\n" + push + ":1\r\n" + push + bulk(std::string(80, 'x'));
  CHECK(end_of(transcript_at_all_splits(reply, inside)) == "1$" + std::string(80, 'x') + "/");
  inside.limits.push_bytes = size - 1;
  CHECK(end_of(transcript_at_all_splits(reply, inside)) == "refused:push_too_large@12");
}

TEST_CASE("redis: as many elements as the limit are accepted, and one more is refused") {
  const auto result_of = [](const std::string& input, std::uint32_t most) {
    return transcript_at_all_splits(input, {.limits = limits_with(&parse_limits::elements, most)});
  };
  struct {
    std::string input;
    std::uint32_t elements;
  } const cases[] = {
      {"*2\r\n:1\r\n:2\r\n", 3},
      {"*2\r\n*1\r\n:1\r\n*0\r\n", 4},
      {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n", 6},
      {"|1\r\n+a\r\n:1\r\n*1\r\n_\r\n", 5},
      {"*1\r\n|1\r\n+a\r\n:1\r\n_\r\n", 5},
      {"*?\r\n:1\r\n:2\r\n.\r\n", 3},
      {"*?\r\n*?\r\n:1\r\n.\r\n*2\r\n_\r\n_\r\n.\r\n", 6},
      {"%?\r\n+a\r\n:1\r\n.\r\n", 3},
      {"*?\r\n$?\r\n;1\r\na\r\n;0\r\n.\r\n", 2},
      {">2\r\n+a\r\n*1\r\n_\r\n", 4},
  };
  for (const auto& each : cases) {
    INFO(each.input);
    CHECK(result_of(each.input + each.input, each.elements).find("refused") == std::string::npos);
    CHECK(result_of(each.input, each.elements - 1).find("refused:too_many_elements@") !=
          std::string::npos);
  }
  arrival inside{.limits = limits_with(&parse_limits::elements, 5), .pushes_inside = true};
  const std::string reply = "*2\r\n>1\r\n+a\r\n:1\r\n:2\r\n";
  CHECK(transcript_at_all_splits(reply, inside) == "*2 ^>1 ^1+a/1:1 1:2/");
  inside.limits.elements = 4;
  CHECK(transcript_at_all_splits(reply, inside) == "*2 refused:too_many_elements@4");
}

TEST_CASE("redis: attributes in a row are bounded by the elements and the bytes of their reply") {
  const std::string attribute = "|1\r\n+a\r\n:1\r\n";
  const arrival how{.limits = limits_with(&parse_limits::elements, 1000)};
  CHECK(end_of(transcript_of(repeated(attribute, 5000), how)) ==
        "refused:too_many_elements@" + std::to_string(333 * attribute.size()));
  const arrival bytes{.limits = limits_with(&parse_limits::reply_bytes, 1200)};
  CHECK(end_of(transcript_of(repeated(attribute, 5000), bytes)) == "refused:reply_too_large@1200");
}
