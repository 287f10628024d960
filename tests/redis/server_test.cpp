// SPDX-License-Identifier: BSL-1.0
// The server's side: requests at every split, strictness, limits at the limit and one more; replies
// in both protocols, read again by the client's parser.
#include <beck/redis/request_parser.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <new>
#include <ostream>
#include <string>
#include <vector>

#include <beck/redis/reply_writer.hpp>
#include <beck/redis/value.hpp>

#include "redis/requests.hpp"
#include "support/allocations.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

constexpr auto lines = request_parser::inline_commands::allowed;
constexpr const char* count = "refused:Protocol error: invalid multibulk length";
constexpr const char* length = "refused:Protocol error: invalid bulk length";

std::string strict(const std::string& input, const request_limits& most = {}) {
  return commands_at_all_splits(input, most);
}
std::string lenient(const std::string& input, const request_limits& most = {}) {
  return commands_at_all_splits(input, most, lines);
}

/// Returns the text of the value that a client reads from `bytes`.
std::string read_again(std::string_view bytes, protocol version) {
  reply_parser parser({}, version);
  token tokens[64];
  const parsed found = parser.parse(bytes, tokens, 64);
  value all;
  std::string text;
  for (std::size_t i = 0; i < found.tokens; ++i) {
    if (!all.append(tokens[i])) continue;
    text += to_text<std::string>(all.root()) + " ";
    all.clear();
  }
  return found.consumed == bytes.size() && found.outcome == parse_outcome::more ? text : "refused";
}

}  // namespace

TEST_CASE("redis: commands are parsed at every split") {
  CHECK(strict("*1\r\n$4\r\nPING\r\n") == "[PING]");
  CHECK(strict("*2\r\n$3\r\nGET\r\n$0\r\n\r\n*1\r\n$1\r\nX\r\n") == "[GET,][X]");
  std::string many = "*12\r\n";
  for (int i = 0; i < 12; ++i) many += "$11\r\n12345678\r\n\r\r\n";
  std::string expected = "[";
  for (int i = 0; i < 12; ++i) expected += std::string(i == 0 ? "" : ",") + "12345678\r\n\r";
  CHECK(strict(many) == expected + "]");
  CHECK(strict("*1\r\n$4\r\nPI") == "more");
  CHECK(strict("") == "");
}

TEST_CASE("redis: bytes that are no command are refused at every split, and stay refused") {
  for (const char* text : {"*0\r\n", "*-1\r\n", "*01\r\n", "*+1\r\n", "*\r\n", "* 1\r\n", "*1x\r\n",
                           "*1048577\r\n", "*99999999999999999999999\r\n", "*1 \r\n"}) {
    CAPTURE(text);
    CHECK(strict(text) == count);
  }
  for (const char* text : {"*1\r\n$-1\r\n", "*1\r\n$01\r\nX\r\n", "*1\r\n$\r\n", "*1\r\n$+1\r\n",
                           "*1\r\n$536870913\r\n", "*1\r\n$18446744073709551617\r\nX\r\n"}) {
    CAPTURE(text);
    CHECK(strict(text) == length);
  }
  CHECK(strict("*1\n").find("invalid multibulk") != std::string::npos);
  CHECK(strict("*1\rx").find("does not end with CR LF") != std::string::npos);
  CHECK(strict("*1\r\n$1\rx").find("does not end with CR LF") != std::string::npos);
  CHECK(strict("*1\r\n$1\r\nXY\r\n").find("argument does not end") != std::string::npos);
  CHECK(strict("*1\r\n$1\r\nX\rY").find("argument does not end") != std::string::npos);
  CHECK(strict("*1\r\n:1\r\n") == "refused:Protocol error: expected '$', got ':'");
  CHECK(strict("GET / HTTP/1.1\r\n") == "refused:Protocol error: expected '*', got 'G'");
  CHECK(strict("\r\n") == "refused:Protocol error: expected '*', got '?'");
  request_parser parser;
  CHECK(parser.parse("x").event == request_event::refused);
  CHECK(parser.parse("*1\r\n$4\r\nPING\r\n").event == request_event::refused);
  CHECK(parser.parse("").consumed == 0);
}

TEST_CASE("redis: limits of commands hold at the limit and refuse one more") {
  const request_limits three{.arguments = 3, .argument_bytes = 5};
  CHECK(strict("*3\r\n$5\r\n12345\r\n$0\r\n\r\n$1\r\nx\r\n", three) == "[12345,,x]");
  CHECK(strict("*4\r\n", three) == count);
  CHECK(strict("*1\r\n$6\r\n", three) == length);
  const std::string whole = "*1\r\n$5\r\n12345\r\n";
  CHECK(strict(whole, {.request_bytes = whole.size()}) == "[12345]");
  CHECK(strict(whole, {.request_bytes = whole.size() - 1}) ==
        "refused:Protocol error: a command of more than 14 bytes");
  CHECK(strict("*1\r\n$99999\r\n", {.request_bytes = 1000}) ==
        "refused:Protocol error: a command of more than 1000 bytes");
  CHECK(strict("*1048576\r\n") == "more");
  CHECK(strict("*1\r\n$536870912\r\n") == "more");
  CHECK(lenient("12345\r\n", {.inline_bytes = 6}) == "[12345]");
  CHECK(lenient("1234567", {.inline_bytes = 6}) ==
        "refused:Protocol error: too big inline request");
}

TEST_CASE("redis: inline and empty commands are for proxies that allow them") {
  CHECK(lenient("PING\r\n\r\n*0\r\n*-10\r\nGET k\n*1\r\n$1\r\nX\r\n") == "[PING][GET,k][X]");
  CHECK(lenient(" SET  k \"a b\\x41\\n\\\"\" '\\'' \r\n") == "[SET,k,a bA\n\",']");
  CHECK(lenient("SET \"\" x\r\n") == "[SET,,x]");
  for (const char* text : {"SET \"x\r\n", "SET 'x\r\n", "SET \"x\"y\r\n"})
    CHECK(lenient(text) == "refused:Protocol error: unbalanced quotes in request");
  CHECK(lenient("POST / HTTP/1.1\r\n") == "refused:Protocol error: a request of HTTP");
  CHECK(lenient("Host: x\r\n") == "refused:Protocol error: a request of HTTP");
  CHECK(lenient("host: x\r\n") == "refused:Protocol error: a request of HTTP");
  CHECK(lenient(std::string("a\0b\r\n", 5)) == "refused:Protocol error: NUL in a line");
  CHECK(lenient("a b c\r\n", {.arguments = 2}) == "refused:a command of 3 arguments; at most 2");
  CHECK(lenient("*3x\r\n") == count);
  CHECK(lenient("*1\r\n$-10\r\n") == length);
}

TEST_CASE("redis: bytes that say nothing are skipped without lines of words") {
  const auto skipping = [](const std::string& input) {
    return commands_at_all_splits(input, {}, request_parser::inline_commands::skipped);
  };
  CHECK(skipping("\r\n\n*0\r\n*-10\r\n*1\r\n$1\r\nX\r\n\r\n*0\r\n*1\r\n$1\r\nY\r\n") == "[X][Y]");
  CHECK(skipping("PING\r\n") == "refused:Protocol error: expected '*', got 'P'");
  CHECK(skipping("\r\r\n") == "refused:Protocol error: expected '*', got '?'");
  CHECK(skipping(" \r\n") == "refused:Protocol error: expected '*', got ' '");
  CHECK(skipping("*3x\r\n") == count);
}

TEST_CASE("redis: a parser goes on with an inline command after an allocation has failed") {
  NEEDS_ALLOCATION_FAULTS();
  for (int n = 1;; ++n) {
    REQUIRE(n < 50);
    request_parser parser({}, request_parser::inline_commands::allowed);
    std::string input = "\r\nSET " + std::string(40, 'k') + " v\r\nGET k\r\n";
    bool fired = false;
    parsed_request found;
    try {
      beck::test::allocation_fault fault(n);
      found = parser.parse(input);
    } catch (const std::bad_alloc&) {
      fired = true;
      found = parser.parse(input);
    }
    REQUIRE(found.event == request_event::command);
    CHECK(found.command.size() == 3);
    input.erase(0, found.consumed);
    CHECK(parser.parse(input).command[1] == "k");
    if (!fired) break;
  }
}

TEST_CASE("redis: a parser knows how many bytes are missing at least") {
  request_parser parser;
  CHECK(parser.parse("*3\r\n").event == request_event::more);
  CHECK(parser.missing() == 18);
  CHECK(parser.parse("*3\r\n$100\r\nabc").event == request_event::more);
  CHECK(parser.missing() == 97 + 2 + 12);
}

TEST_CASE("redis: replies have the form of each protocol") {
  const auto write = [](reply_writer& to) {
    to.simple("OK").error("ERR a\r\nb").integer(-7).bulk("a\r\n").null().null_array();
    to.boolean(true).boolean(false).real(0.1).big_number("-12").verbatim("txt", "v");
    to.bulk_error("ERR x").array(0).set(1).integer(1).map(1).bulk("k").bulk("v").push(1).bulk("p");
    return std::string(to.bytes());
  };
  reply_writer two;
  CHECK(write(two) ==
        "+OK\r\n-ERR a  b\r\n:-7\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n:1\r\n:0\r\n$3\r\n0.1\r\n"
        "$3\r\n-12\r\n$1\r\nv\r\n-ERR x\r\n*0\r\n*1\r\n:1\r\n*2\r\n$1\r\nk\r\n$1\r\nv\r\n"
        "*1\r\n$1\r\np\r\n");
  CHECK(read_again(two.bytes(), protocol::resp2) ==
        R"("OK" !"ERR a  b" -7 "a\x0d\x0a" null null 1 0 "0.1" "-12" "v" !"ERR x" )"
        R"([] [1] ["k", "v"] ["p"] )");
  reply_writer three(protocol::resp3);
  CHECK(write(three) ==
        "+OK\r\n-ERR a  b\r\n:-7\r\n$3\r\na\r\n\r\n_\r\n_\r\n#t\r\n#f\r\n,0.1\r\n"
        "(-12\r\n=5\r\ntxt:v\r\n!5\r\nERR x\r\n*0\r\n~1\r\n:1\r\n%1\r\n$1\r\nk\r\n$1\r\nv\r\n"
        ">1\r\n$1\r\np\r\n");
  CHECK(read_again(three.bytes(), protocol::resp3) ==
        R"("OK" !"ERR a  b" -7 "a\x0d\x0a" null null true false 0.1 -12 txt:"v" !"ERR x" )"
        R"([] ~[1] {"k": "v"} >["p"] )");
}

TEST_CASE("redis: numbers that are none, attributes and streamed forms are written too") {
  reply_writer to(protocol::resp3);
  to.real(std::numeric_limits<double>::infinity()).real(-std::numeric_limits<double>::infinity());
  to.real(std::nan("")).real(-std::nan("")).attribute(1).bulk("a").integer(1).bulk("x");
  to.begin_streamed_text().streamed_part("ab").streamed_part("").streamed_part("c");
  to.end_streamed_text().begin_streamed(data_type::map).bulk("k").integer(2).end_streamed();
  CHECK(to.bytes() ==
        ",inf\r\n,-inf\r\n,nan\r\n,nan\r\n|1\r\n$1\r\na\r\n:1\r\n$1\r\nx\r\n$?\r\n;2\r\nab\r\n"
        ";1\r\nc\r\n;0\r\n%?\r\n$1\r\nk\r\n:2\r\n.\r\n");
  CHECK(read_again(to.bytes(), protocol::resp3) ==
        R"(inf -inf nan nan |{"a": 1} "x" "abc" {"k": 2} )");
  to.clear();
  for (const double d :
       {5e-324, -2.2250738585072009e-308, 1e-5, 1e21, -0.0, 1.7976931348623157e308})
    to.real(d);
  to.begin_streamed(data_type::array).begin_streamed(data_type::set).end_streamed().end_streamed();
  CHECK(read_again(to.bytes(), protocol::resp3) ==
        "5e-324 -2.225073858507201e-308 1e-05 1e+21 -0 1.7976931348623157e+308 [~[]] ");
  to.clear();
  CHECK(to.raw("+OK\r\n").size() == 5);
}
