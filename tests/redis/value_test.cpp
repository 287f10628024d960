// SPDX-License-Identifier: BSL-1.0
// Replies as values: what they hold, how they are visited and compared, and their memory. That they
// agree with the tokens is checked with each transcript (redis/replies.hpp).
#include <beck/redis/value.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "redis/replies.hpp"
#include "support/allocations.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

/// Parses one reply into a value.
void read_into(value& to, std::string_view input) {
  reply_parser parser;
  token tokens[16];
  for (;;) {
    const parsed found = parser.parse(input, tokens, 16);
    input.remove_prefix(found.consumed);
    if (found.tokens != 0) CHECK(to.append(tokens, found.tokens) == found.tokens);
    if (found.outcome != parse_outcome::full) break;
  }
  REQUIRE(input.empty());
}

value value_of(std::string_view input) {
  value made;
  read_into(made, input);
  return made;
}

std::string debug_text(std::string_view input) {
  return to_text<std::string>(value_of(input).root());
}

}  // namespace

TEST_CASE("redis: a value holds each type") {
  const value all = value_of(
      "*12\r\n_\r\n+s\r\n-E\r\n:-5\r\n$2\r\nhi\r\n#t\r\n,1.5\r\n(12\r\n!1\r\ne\r\n=5\r\nmkd:x\r\n"
      "~1\r\n:1\r\n%1\r\n+k\r\n+v\r\n");
  CHECK(all.is_complete());
  const value_item root = all.root();
  CHECK(root.type() == data_type::array);
  CHECK(root.size() == 12);
  CHECK(root.text().empty());
  CHECK(root[0].is_null());
  CHECK(root[1].text() == "s");
  CHECK_FALSE(root[1].is_error());
  CHECK(root[2].is_error());
  CHECK(root[2].text() == "E");
  CHECK(root[3].integer() == -5);
  CHECK(root[3].text().empty());
  CHECK(root[4].text() == "hi");
  CHECK(root[4].size() == 0);
  CHECK(root[4].begin() == root[4].end());
  CHECK(root[5].integer() == 1);
  CHECK(root[6].real() == 1.5);
  CHECK(root[7].type() == data_type::big_number);
  CHECK(root[7].text() == "12");
  CHECK(root[8].is_error());
  CHECK(root[9].format() == "mkd");
  CHECK(root[9].text() == "x");
  CHECK(root[9].has_attributes() == false);
  CHECK(root[10].type() == data_type::set);
  CHECK(root[10][0].integer() == 1);
  CHECK(root[11].size() == 2);
  CHECK(root[11][1].text() == "v");
  CHECK(root[4].format().empty());
}

TEST_CASE("redis: the elements of a value are visited without its attributes, which are beside") {
  const value all =
      value_of("|1\r\n+a\r\n:1\r\n*3\r\n|0\r\n|1\r\n+b\r\n:2\r\n:7\r\n*0\r\n|0\r\n*1\r\n:8\r\n");
  const value_item root = all.root();
  CHECK(root.type() == data_type::array);
  REQUIRE(root.has_attributes());
  CHECK(root.attributes()[1].integer() == 1);
  CHECK_FALSE(root.attributes().has_next_attribute(root));
  CHECK(root[0].integer() == 7);
  CHECK(root[0].attributes().size() == 0);
  REQUIRE(root[0].attributes().has_next_attribute(root[0]));
  CHECK(root[0].attributes().next_attribute()[0].text() == "b");
  CHECK_FALSE(root[1].has_attributes());
  CHECK(root[2].has_attributes());
  CHECK(root[2][0].integer() == 8);
  std::size_t count = 0;
  for (auto at = root.begin(); at != root.end(); at++) ++count;
  CHECK(count == 3);
}

TEST_CASE("redis: a streamed reply makes the same value as a whole one") {
  CHECK(value_of("*?\r\n:1\r\n$?\r\n;1\r\na\r\n;2\r\nbc\r\n;0\r\n.\r\n") ==
        value_of("*2\r\n:1\r\n$3\r\nabc\r\n"));
  CHECK(value_of("%?\r\n+a\r\n|0\r\n~?\r\n.\r\n.\r\n") == value_of("%1\r\n+a\r\n|0\r\n~0\r\n"));
  CHECK(value_of("*1\r\n*?\r\n_\r\n_\r\n.\r\n").root()[0].size() == 2);
}

TEST_CASE("redis: values are equal if everything in them is") {
  const char* inputs[] = {"_\r\n",
                          ":1\r\n",
                          ":2\r\n",
                          "#t\r\n",
                          ",1\r\n",
                          ",nan\r\n",
                          "+1\r\n",
                          "$1\r\n1\r\n",
                          "$1\r\n2\r\n",
                          "*0\r\n",
                          "~0\r\n",
                          "*1\r\n*1\r\n:1\r\n",
                          "*2\r\n*0\r\n:1\r\n",
                          "*2\r\n:1\r\n*0\r\n",
                          "|0\r\n:1\r\n",
                          "=5\r\ntxt:1\r\n",
                          "=5\r\nmkd:1\r\n",
                          "%1\r\n:1\r\n:2\r\n",
                          "%1\r\n:2\r\n:1\r\n"};
  for (const char* one : inputs)
    for (const char* other : inputs) {
      INFO(one, other);
      CHECK((value_of(one) == value_of(other)) == (std::strcmp(one, other) == 0));
    }
  CHECK(value_of(",0\r\n") == value_of(",-0\r\n"));
  CHECK(value() == value());
  CHECK_FALSE(value() == value_of("_\r\n"));
  CHECK(value_of("*2\r\n:1\r\n+a\r\n").root()[1] == value_of("+a\r\n").root());
}

TEST_CASE("redis: a value is moved, copied, swapped and cleared") {
  value first = value_of("*2\r\n+a\r\n$3\r\nxyz\r\n");
  const value copy = first;
  value moved(std::move(first));
  CHECK(moved == copy);
  CHECK(first.elements() == 0);
  first = copy;
  CHECK(first == copy);
  value other = value_of(":1\r\n");
  other.swap(first);
  CHECK(other == copy);
  CHECK(first == value_of(":1\r\n"));
  first = std::move(other);
  CHECK(first == copy);
  first.clear();
  CHECK_FALSE(first.is_complete());
  CHECK(first.capacity_bytes() != 0);
  read_into(first, ":9\r\n");
  CHECK(first.root().integer() == 9);
  first.clear();
  first.shrink(1'000'000);
  CHECK(first.capacity_bytes() != 0);
  first.shrink();
  CHECK(first.capacity_bytes() == 0);
  value empty;
  const value of_empty = empty;
  CHECK(of_empty.elements() == 0);
}

TEST_CASE("redis: a value is written as text for debugging") {
  CHECK(debug_text("*6\r\n:1\r\n$2\r\na\r\r\n%1\r\n+k\r\n_\r\n-ERR no\r\n,1.5\r\n#t\r\n") ==
        R"([1, "a\x0d", {"k": null}, !"ERR no", 1.5, true])");
  CHECK(debug_text("*0\r\n") == "[]");
  CHECK(debug_text("~2\r\n*0\r\n%0\r\n") == "~[[], {}]");
  CHECK(debug_text(">1\r\n+a\"b\\c\r\n") == R"(>["a\"b\\c"])");
  CHECK(debug_text("|1\r\n+a\r\n:1\r\n*2\r\n|0\r\n:1\r\n|0\r\n*0\r\n") ==
        R"(|{"a": 1} [|{} 1, |{} []])");
  CHECK(debug_text("%2\r\n|0\r\n+a\r\n|0\r\n:1\r\n:2\r\n#f\r\n") ==
        R"({|{} "a": |{} 1, 2: false})");
  CHECK(debug_text("=5\r\ntxt:x\r\n") == R"(txt:"x")");
  CHECK(debug_text("*4\r\n(12\r\n,inf\r\n,-inf\r\n,nan\r\n") == "[12, inf, -inf, nan]");
  CHECK(debug_text("!3\r\n\x80yz\r\n") == R"(!"\x80yz")");
  CHECK(to_text<std::string>(value_of("*2\r\n|0\r\n:1\r\n:2\r\n").root()[0]) == "|{} 1");
}

TEST_CASE("redis: the deepest value is built, compared, written and destroyed without recursion") {
  const std::string input = repeated("*1\r\n", 128) + ":1\r\n";
  const value deep = value_of(input);
  CHECK(deep == value_of(input));
  CHECK(to_text<std::string>(deep.root()) == std::string(128, '[') + "1" + std::string(128, ']'));
}

TEST_CASE("redis: a value that is used again does not allocate") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  const std::string input =
      "*3\r\n$5\r\nhello\r\n%1\r\n+k\r\n,1.5\r\n$20\r\n" + std::string(20, 'x') + "\r\n";
  value used;
  read_into(used, input);
  const std::uint64_t before = beck::test::allocations();
  reply_parser parser;
  token tokens[16];
  for (int i = 0; i < 1000; ++i) {
    used.clear();
    const parsed found = parser.parse(input, tokens, 16);
    used.append(tokens, found.tokens);
  }
  CHECK(beck::test::allocations() == before);
  CHECK(used == value_of(input));
}

TEST_CASE(
    "redis: announced sizes reserve no memory, and bytes that come at most twice their size") {
  const auto held_after = [](std::string_view input) {
    reply_parser parser;
    value to;
    token tokens[64];
    std::size_t most = 0;
    for (std::size_t at = 0; at < input.size();) {
      const std::size_t end = std::min(input.size(), at + 4096);
      const parsed found = parser.parse(input.substr(at, end - at), tokens, 64);
      to.append(tokens, found.tokens);
      at += found.consumed;
      most = std::max(most, to.capacity_bytes());
      if (found.consumed == 0 && found.outcome == parse_outcome::more) break;
    }
    return most;
  };
  CHECK(held_after("*4000000\r\n") <= 65'536);
  CHECK(held_after("%2000000\r\n") <= 65'536);
  CHECK(held_after("$60000000\r\n") <= 65'536);
  CHECK(held_after("$60000000\r\nabc") <= 65'536);
  CHECK(held_after("=60000000\r\ntxt:") <= 65'536);
  const std::string long_text(300'000, 'x');
  CHECK(held_after("$60000000\r\n" + long_text) <= 2 * long_text.size() + 65'536);
  CHECK(held_after("$300000\r\n" + long_text + "\r\n") <= 2 * long_text.size() + 65'536);
  const std::string many = "*50000\r\n" + repeated("_\r\n", 50'000);
  CHECK(held_after(many) <= 2 * 50'001 * 24 + 65'536);
}

TEST_CASE("redis: a long text is received into its place in a value") {
  const std::string text(200'000, 'q');
  const std::string input = "*2\r\n:1\r\n$200000\r\n" + text + "\r\n";
  reply_parser parser;
  value to;
  token tokens[8];
  std::size_t at = parser.parse(std::string_view(input).substr(0, 100), tokens, 8).consumed;
  CHECK(at == 100);
  to.append(tokens, 3);
  while (parser.text_left() != 0) {
    std::size_t bytes = parser.text_left();
    char* const place = to.text_room(bytes);
    REQUIRE(bytes != 0);
    CHECK(bytes <= at + 65'536);
    std::memcpy(place, input.data() + at, bytes);
    to.text_written(bytes);
    parser.skip_text(bytes);
    at += bytes;
    CHECK(to.capacity_bytes() <= 2 * at + 65'536);
  }
  const parsed found = parser.parse(std::string_view(input).substr(at), tokens, 8);
  CHECK(found.tokens == 1);
  CHECK(to.append(tokens[0]));
  CHECK(to.root()[1].text() == text);
}

TEST_CASE("redis: a value whose allocation fails holds what it held before the token") {
  NEEDS_ALLOCATION_FAULTS();
  const std::string input = "*40\r\n" + repeated("$9\r\n012345678\r\n", 40);
  const value expected = value_of(input);
  std::vector<token> tokens(64);
  reply_parser parser;
  const parsed found = parser.parse(input, tokens.data(), tokens.size());
  REQUIRE(found.tokens == 41);
  int faults = 0;
  for (int n = 1;; ++n) {
    value to;
    std::size_t added = 0;
    bool fired = false;
    {
      beck::test::allocation_fault fault(n);
      for (; added < found.tokens; ++added) {
        try {
          to.append(tokens[added]);
        } catch (const std::bad_alloc&) {
          to.append(tokens[added]);  // only one fails
        }
      }
      fired = fault.fired();
    }
    CHECK(to == expected);
    if (!fired) break;
    ++faults;
  }
  CHECK(faults > 3);
}
