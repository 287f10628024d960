// SPDX-License-Identifier: BSL-1.0
// The parser of replies: numbers, long texts in parts, pushes inside replies, and how much work and
// memory bytes cost. Its limits are in resp3_limits_test.cpp, the vectors are in
// vectors/replies.tsv.
#include <beck/redis/resp3.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "redis/protocol/number_text.hpp"
#include "redis/replies.hpp"
#include "support/allocations.hpp"
#include "support/small_random.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

/// Counts the tokens of an input that is whole, 64 at a time.
std::size_t count_tokens(reply_parser& parser, std::string_view input) {
  token tokens[64];
  std::size_t count = 0;
  for (;;) {
    const parsed found = parser.parse(input, tokens, 64);
    input.remove_prefix(found.consumed);
    count += found.tokens;
    if (found.outcome != parse_outcome::full) return count;
  }
}

}  // namespace

TEST_CASE("redis: integers of all sizes are read as they were written") {
  beck::testing::small_random random(7);
  std::string input, expected;
  for (unsigned i = 0; i < 4000; ++i) {
    const std::uint64_t bits = random.next() >> random.below(64);
    const auto number = static_cast<std::int64_t>(random.chance(500) ? bits : 0 - bits);
    input += ":" + std::to_string(number) + "\r\n";
    expected += ":" + std::to_string(number) + "/";
  }
  CHECK(transcript_of(input) == expected);
  std::vector<std::size_t> bytes;
  for (std::size_t at = 1; at < input.size(); ++at) bytes.push_back(at);
  CHECK(transcript_of(input, {.cuts = bytes}) == expected);
}

TEST_CASE("redis: doubles of all lengths are the nearest ones to their texts") {
  beck::testing::small_random random(11);
  reply_parser parser;
  token made;
  for (unsigned i = 0; i < 20'000; ++i) {
    std::string digits(1 + random.below(20), '0');
    for (char& digit : digits) digit = static_cast<char>('0' + random.below(10));
    if (digits[0] == '0' && digits.size() > 1) digits.insert(1, ".");
    if (digits[0] != '0' && digits.size() > 1)
      digits.insert(1 + random.below(static_cast<unsigned>(digits.size() - 1)), ".");
    const std::string text = (random.chance(500) ? "-" : "") + digits;
    INFO(text);
    const std::string line = "," + text + "\r\n";
    REQUIRE(parser.parse(line, &made, 1).tokens == 1);
    REQUIRE(made.real() == std::strtod(text.c_str(), nullptr));
    REQUIRE(made.text == text);
  }
}

TEST_CASE("redis: the greatest numbers are accepted, and one more is refused") {
  for (const char* good : {"9223372036854775807", "-9223372036854775808"}) {
    std::int64_t number = 0;
    CHECK_FALSE(detail::read_integer(good, number).is_bad);
    CHECK(std::to_string(number) == good);
    std::string worse = good;
    ++worse.back();
    CHECK(detail::read_integer(worse, number).reason == protocol_error::number_too_large);
  }
}

TEST_CASE("redis: a million empty arrays are parsed without memory of their own") {
  const std::string input = "*1000000\r\n" + repeated("*0\r\n", 1'000'000);
  reply_parser parser;
  const std::uint64_t before = beck::test::allocations();
  CHECK(count_tokens(parser, input) == 1'000'001);
  CHECK(beck::test::allocations() == before);
  CHECK(parser.is_between_replies());
  CHECK(parser.offset() == input.size());
}

TEST_CASE("redis: a long text is delivered in parts, however much of it has arrived") {
  arrival how{.limits = limits_with(&parse_limits::whole_bytes, 8)};
  for (const std::size_t bytes : {7U, 8U, 9U, 40U}) {
    const std::string text(bytes, 'y');
    CHECK(transcript_at_all_splits(bulk(text) + ":1\r\n", how) == "$" + text + "/:1/");
    CHECK(transcript_at_all_splits("*2\r\n!" + bulk(text).substr(1) + ":1\r\n", how) ==
          "*2 1!" + text + " 1:1/");
    CHECK(transcript_at_all_splits("=" + bulk("txt:" + text).substr(1), how) ==
          "=txt:" + text + "/");
    const std::string part = ";" + bulk(text).substr(1);
    CHECK(transcript_at_all_splits("$?\r\n" + part + part + ";0\r\n", how) ==
          "$" + text + text + "/");
    CHECK(
        end_of(transcript_at_all_splits(bulk(text).substr(0, bulk(text).size() - 1) + "x", how)) ==
        "refused:bad_text_end@" + std::to_string(bulk(text).size() - 1));
    CHECK(transcript_at_all_splits("=" + bulk("txtx" + text).substr(1), how) ==
          "refused:bad_verbatim@" + std::to_string(bulk("txtx" + text).find('t') + 3));
  }
}

TEST_CASE(
    "redis: the parts of a long text have the size of its rest, which may bypass the parser") {
  reply_parser parser;
  token tokens[4];
  const std::string text(20'000, 'z');
  const std::string input = bulk(text);
  parsed found = parser.parse(input.substr(0, 100), tokens, 4);
  CHECK(found.outcome == parse_outcome::more);
  CHECK(found.tokens == 1);
  CHECK(found.consumed == 100);
  CHECK(tokens[0].part == text_part::first);
  CHECK(tokens[0].number == 20'000);
  CHECK(tokens[0].text.size() == 92);
  CHECK(parser.text_left() == 20'000 - 92);
  parser.skip_text(1000);
  CHECK(parser.offset() == 1100);
  CHECK(parser.text_left() == 20'000 - 1092);
  found = parser.parse(std::string_view(input).substr(1100, 10), tokens, 4);
  CHECK(found.tokens == 1);
  CHECK(tokens[0].part == text_part::middle);
  parser.skip_text(parser.text_left());
  CHECK(parser.text_left() == 0);
  CHECK_FALSE(parser.is_between_replies());
  found = parser.parse("\r", tokens, 4);
  CHECK(found.tokens == 0);
  CHECK(parser.bytes_needed() == 1);
  found = parser.parse("\r\n", tokens, 4);
  CHECK(found.tokens == 1);
  CHECK(tokens[0].part == text_part::last);
  CHECK(tokens[0].text.empty());
  CHECK(tokens[0].is_last);
  CHECK(parser.is_between_replies());
  CHECK(parser.offset() == input.size());
}

TEST_CASE("redis: a text below the limit for parts is waited for, and the rest of it is named") {
  reply_parser parser;
  token tokens[4];
  const std::string input = bulk(std::string(16'383, 'w'));
  parsed found = parser.parse(std::string_view(input).substr(0, 1000), tokens, 4);
  CHECK(found.tokens == 0);
  CHECK(parser.text_left() == 0);
  CHECK(parser.bytes_needed() == input.size() - 1000);
  std::string_view rest = std::string_view(input).substr(found.consumed);
  found = parser.parse(rest.substr(0, rest.size() - 1), tokens, 4);
  CHECK(found.tokens == 0);
  CHECK(parser.bytes_needed() == 1);
  found = parser.parse(rest.substr(found.consumed), tokens, 4);
  CHECK(found.tokens == 1);
  CHECK(tokens[0].part == text_part::whole);
  CHECK(tokens[0].number == 16'383);
}

TEST_CASE("redis: pushes inside a reply are separate where they are expected, and refused else") {
  const std::string push = ">3\r\n+message\r\n+c\r\n*1\r\n$1\r\nx\r\n";
  const std::string tokens = "^>3 ^1+message ^1+c ^1*1 ^2$x/";
  const arrival how{.pushes_inside = true};
  CHECK(transcript_at_all_splits("*2\r\n" + push + ":1\r\n" + push + push + ":2\r\n" + push, how) ==
        "*2 " + tokens + "1:1 " + tokens + tokens + "1:2/" + tokens);
  CHECK(transcript_at_all_splits("*1\r\n>0\r\n*1\r\n_\r\n", how) == "*1 ^>0/1*1 2_/");
  CHECK(transcript_at_all_splits("*?\r\n" + push + ".\r\n", how) == "*? " + tokens + "./");
  CHECK(transcript_at_all_splits("*1\r\n*2\r\n" + push + ":1\r\n" + push + "_\r\n", how) ==
        "*1 1*2 " + tokens + "2:1 " + tokens + "2_/");
  CHECK(transcript_at_all_splits("%1\r\n+k\r\n~?\r\n" + push + "#t\r\n.\r\n:2\r\n", how) ==
        "%2 1+k 1~? " + tokens + "2#1 1./:2/");
  CHECK(transcript_at_all_splits("*1\r\n>1\r\n" + push, how) == "*1 ^>1 refused:unexpected_push@8");
  CHECK(transcript_at_all_splits(">1\r\n*1\r\n" + push, how) ==
        "^>1 ^1*1 refused:unexpected_push@8");
  CHECK(transcript_at_all_splits("|1\r\n" + push, how) == "|2 refused:unexpected_push@4");
  CHECK(transcript_at_all_splits(">1\r\n" + push, how) == "^>1 refused:unexpected_push@4");
  CHECK(transcript_at_all_splits("*1\r\n" + push, {}) == "*1 refused:unexpected_push@4");
}

TEST_CASE("redis: a push inside a reply is counted as an element if its reader says so") {
  const std::string confirmation = ">3\r\n+subscribe\r\n+c\r\n:1\r\n";
  const std::string input = "*2\r\n:7\r\n" + confirmation + confirmation + "+OK\r\n";
  reply_parser parser;
  parser.expect_pushes_inside(true);
  token tokens[16];
  std::string_view rest = input;
  parsed found = parser.parse(rest, tokens, 16);
  CHECK(found.outcome == parse_outcome::stopped);
  CHECK(found.tokens == 6);
  CHECK(parser.is_behind_push_inside());
  rest.remove_prefix(found.consumed);
  found = parser.parse(rest, tokens, 16);
  CHECK(found.outcome == parse_outcome::stopped);
  CHECK(found.tokens == 4);
  rest.remove_prefix(found.consumed);
  CHECK_FALSE(parser.is_between_replies());
  CHECK(parser.count_push());
  CHECK_FALSE(parser.is_behind_push_inside());
  CHECK(parser.is_between_replies());
  found = parser.parse(rest, tokens, 16);
  CHECK(found.tokens == 1);
  CHECK(tokens[0].depth == 0);
  CHECK(tokens[0].is_last);
}

TEST_CASE("redis: a parser stops behind each reply if it is asked to") {
  reply_parser parser;
  token tokens[8];
  std::string_view rest = "+a\r\n*1\r\n:1\r\n>1\r\n+b\r\n*0\r\n+c";
  for (const std::size_t count : {1U, 2U, 2U, 1U}) {
    const parsed found = parser.parse(rest, tokens, 8, parse_stop::behind_reply);
    CHECK(found.outcome == parse_outcome::stopped);
    CHECK(found.tokens == count);
    CHECK(tokens[count - 1].is_last);
    rest.remove_prefix(found.consumed);
  }
  CHECK(parser.parse(rest, tokens, 8, parse_stop::behind_reply).outcome == parse_outcome::more);
}

TEST_CASE("redis: a parser stops behind elements of every form, and at every split") {
  const std::string first[] = {
      "(12\r\n", "=5\r\ntxt:v\r\n", "!1\r\ne\r\n", "$?\r\n;1\r\na\r\n;0\r\n",
      ">0\r\n",  "|0\r\n:1\r\n",    "*?\r\n.\r\n", "$5\r\nabcde\r\n"};
  parse_limits limits;
  limits.whole_bytes = 4;
  for (const std::string& reply : first) {
    CAPTURE(reply);
    for (std::size_t cut = 0; cut < reply.size(); ++cut) {
      reply_parser parser(limits);
      token tokens[8];
      const parsed part = parser.parse(std::string_view(reply).substr(0, cut), tokens, 8);
      const std::string rest = reply.substr(part.consumed) + "+OK\r\n*1\r\n:1\r\n";
      const parsed found = parser.parse(rest, tokens, 8, parse_stop::behind_reply);
      CHECK(found.outcome == parse_outcome::stopped);
      CHECK(tokens[found.tokens - 1].is_last);
      CHECK(rest.size() - found.consumed == 13);
    }
  }
  reply_parser parser;
  parser.expect_pushes_inside(true);
  token tokens[8];
  const parsed found = parser.parse("*2\r\n>0\r\n:1\r\n:2\r\n", tokens, 8);
  CHECK(found.outcome == parse_outcome::stopped);
  CHECK(found.tokens == 2);
  CHECK_FALSE(parser.count_push());
  CHECK(parser.parse(":1\r\n", tokens, 8).tokens == 1);
  CHECK(parser.is_between_replies());
}

TEST_CASE("redis: a parser that has refused stays refused and consumes nothing") {
  reply_parser parser;
  token tokens[8];
  const parsed found = parser.parse("+OK\r\n:x\r\n:1\r\n", tokens, 8);
  CHECK(found.outcome == parse_outcome::refused);
  CHECK(found.tokens == 1);
  CHECK(found.consumed == 5);
  CHECK(parser.reason() == protocol_error::bad_digit);
  CHECK(parser.error_offset() == 6);
  const parsed again = parser.parse(":1\r\n", tokens, 8);
  CHECK(again.outcome == parse_outcome::refused);
  CHECK(again.consumed == 0);
  CHECK(again.tokens == 0);
  CHECK(parser.reason() == protocol_error::bad_digit);
}

TEST_CASE("redis: limits and version may change between replies") {
  reply_parser parser;
  token tokens[8];
  CHECK(parser.parse("_\r\n", tokens, 8).tokens == 1);
  parser.use(protocol::resp2);
  parser.use(limits_with(&parse_limits::reply_bytes, 8));
  CHECK(parser.parse("+hello\r\n", tokens, 8).tokens == 1);
  CHECK(parser.parse("+hello!\r\n", tokens, 8).outcome == parse_outcome::refused);
  CHECK(parser.reason() == protocol_error::reply_too_large);
  CHECK(parser.error_offset() == 11);
}

TEST_CASE("redis: the work is proportional to the bytes, however they arrive") {
  const std::string inputs[] = {
      "+" + std::string(60'000, 'x') + "\r\n",
      "(" + std::string(60'000, '7') + "\r\n",
      bulk(std::string(60'000, '\r')),
      repeated(":1234567890\r\n", 5000),
      repeated("*1\r\n", 100) + "+" + std::string(50'000, 'x') + "\r\n",
      "$?\r\n" + repeated(";9\r\nabcdefghi\r\n", 4000) + ";0\r\n",
  };
  for (const std::string& input : inputs) {
    reply_parser parser;
    token tokens[4];
    std::size_t begin = 0;
    for (std::size_t end = 1; end <= input.size(); ++end) {
      const parsed found =
          parser.parse(std::string_view(input).substr(begin, end - begin), tokens, 4);
      REQUIRE(found.outcome == parse_outcome::more);
      begin += found.consumed;
    }
    CHECK(parser.is_between_replies());
    CHECK(parser.bytes_examined() <= 3 * input.size() + 8);
  }
}

TEST_CASE("redis: no reply makes the parser allocate") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  const std::string input =
      "*3\r\n:1\r\n$5\r\nhello\r\n%1\r\n+k\r\n,1.5\r\n+OK\r\n-ERR x\r\n_\r\n>1\r\n+p\r\n";
  reply_parser parser;
  const std::uint64_t before = beck::test::allocations();
  std::size_t count = 0;
  for (int i = 0; i < 1000; ++i) count += count_tokens(parser, input);
  CHECK(beck::test::allocations() == before);
  CHECK(count == 11'000);
}

TEST_CASE("redis: errors of the protocol have names, texts and conditions") {
  for (int i = 1; i <= static_cast<int>(protocol_error::push_too_large); ++i) {
    const auto reason = static_cast<protocol_error>(i);
    const beck::error_code code = reason;
    CHECK_FALSE(name_of(reason).empty());
    CHECK_FALSE(code.message().empty());
    CHECK(code.category() == protocol_category());
    const bool is_limit = reason >= protocol_error::line_too_long;
    CHECK((code == std::errc::message_size) == is_limit);
    CHECK((code == std::errc::protocol_error) != is_limit);
  }
  CHECK(protocol_category().message(0) == "Unknown error 0");
  CHECK(protocol_category().message(99) == "Unknown error 99");
  CHECK(std::string_view(protocol_category().name()) == "beck.redis.protocol");
  CHECK(name_of(data_type::end) == "end");
  CHECK(name_of(data_type::bulk_error) == "bulk_error");
}
