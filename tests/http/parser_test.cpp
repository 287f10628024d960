// SPDX-License-Identifier: BSL-1.0
// Heads: their parts, their refusals, and that the limits are exact. The public vectors are in
// vectors_test.cpp.
#include <doctest/doctest.h>
#include <beck/http/parser.hpp>

#include <cctype>
#include <ostream>
#include <string>

#include "http/message_reader.hpp"
#include "support/page_table.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::test;
using namespace std::string_literals;

struct parsed {
  explicit parsed(std::string input, const head_limits& limits = {})
      : text(std::move(input)), parser(limits), status(parser.parse(text, head)) {}
  std::string text;
  request_parser parser;
  request_head head;
  parse_status status;
};

/// Why a request is refused, the same in all ways to read it.
refusal refused(const std::string& input) {
  const auto whole = read_all<request_reader>(input);
  CHECK(read_all<request_reader>(input, true).transcript() == whole.transcript());
  CHECK(read_bytes<request_reader>(input).transcript() == whole.transcript());
  return whole.reason();
}

std::string get(const std::string& lines) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
}

TEST_CASE("a head tells its method, target, version and fields") {
  const parsed p(
      "POST /a/b?c=%20 HTTP/1.1\r\nHost: example.com:8080\r\nX-One:\t1 \t\r\n"
      "content-LENGTH:12  \r\nEmpty:\r\nX-One: 2\r\n\r\nbody");
  REQUIRE(p.status == parse_status::done);
  CHECK(p.head.method() == method::post);
  CHECK(p.head.method_text() == "POST");
  CHECK(p.head.target() == "/a/b?c=%20");
  CHECK(p.head.minor_version() == 1);
  CHECK(p.head.bytes() == p.text.size() - 4);
  CHECK(p.head.size() == 5);
  CHECK(p.head.get(field::host) == "example.com:8080");
  CHECK(p.head.get("x-ONE") == "1");
  CHECK(p.head.get("x-two").empty());
  CHECK(p.head[3].name == "Empty");
  CHECK(p.head[3].value.empty());
  CHECK(p.head[2].id == field::content_length);
  CHECK(p.head[2].name == "content-LENGTH");
  CHECK(p.head.has(field::content_length));
  CHECK_FALSE(p.head.has(field::cookie));
  CHECK(p.head.framing() == body_framing::length);
  CHECK(p.head.content_length() == 12);
  CHECK(p.head.keeps_alive());
  std::string names;
  for (const field_view each : p.head) names += std::string(each.name) + ' ';
  CHECK(names == "Host X-One content-LENGTH Empty X-One ");
}

TEST_CASE("a head follows its text to another place") {
  parsed p("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  const std::string copy = p.text;
  p.head.rebase(copy.data());
  CHECK(p.head.target().data() == copy.data() + 4);
  CHECK(p.head.get(field::host) == "a");
}

TEST_CASE("every known field name is found in any case, and no name beside it") {
  for (unsigned id = 1; id < 64; ++id) {
    const auto known = static_cast<field>(id);
    std::string name(name_of(known));
    CAPTURE(name);
    REQUIRE_FALSE(name.empty());
    CHECK(to_field(name) == known);
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    CHECK(to_field(name) == known);
    if (known != field::host && known != field::content_length &&
        known != field::transfer_encoding && known != field::expect) {
      const parsed p(get(name + ": value\r\n"));
      REQUIRE(p.status == parse_status::done);
      CHECK(p.head[1].id == known);
      CHECK(p.head.get(known) == "value");
    }
    CHECK(to_field(name + 'x') == field::other);
    CHECK(to_field(name.substr(1)) != known);
    for (std::size_t size = 0; size < name.size(); ++size) {
      const field prefix = to_field(name.substr(0, size));
      CHECK((prefix == field::other || name_of(prefix).size() == size));
    }
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::string wrong = name;
      wrong[i] = wrong[i] == 'Q' ? 'Z' : 'Q';
      CHECK(to_field(wrong) != known);
      wrong[i] = static_cast<char>(name[i] & 0x1f);  // equal but for the bits of a letter's case
      CHECK(to_field(wrong) == field::other);
    }
  }
  CHECK(name_of(field::other).empty());
  CHECK(to_field("") == field::other);
}

TEST_CASE("lists of tokens are searched in all fields of the name") {
  const parsed p(get("Connection: Upgrade , x\r\nConnection: ,Close\r\n"));
  REQUIRE(p.status == parse_status::done);
  CHECK(p.head.lists(field::connection, "upgrade"));
  CHECK(p.head.lists(field::connection, "X"));
  CHECK(p.head.lists(field::connection, "close"));
  CHECK_FALSE(p.head.lists(field::connection, "up"));
  CHECK_FALSE(p.head.lists(field::via, "x"));
  CHECK(p.head.repeats(field::connection));
  CHECK_FALSE(p.head.keeps_alive());
}

TEST_CASE("a connection persists as its version and Connection say") {
  const auto persists = [](const std::string& version, const std::string& lines) {
    const parsed p("GET / HTTP/" + version + "\r\nHost: a\r\n" + lines + "\r\n");
    REQUIRE(p.status == parse_status::done);
    return p.head.keeps_alive();
  };
  CHECK(persists("1.1", ""));
  CHECK(persists("1.1", "Connection: keep-alive\r\n"));
  CHECK(persists("1.1", "Connection: Keep-Alive, TE\r\n"));
  CHECK_FALSE(persists("1.1", "Connection: close\r\n"));
  CHECK_FALSE(persists("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  CHECK_FALSE(persists("1.1", "Connection: keep-alive, close\r\n"));
  CHECK_FALSE(persists("1.0", ""));
  CHECK(persists("1.0", "Connection: Keep-Alive\r\n"));
  CHECK_FALSE(persists("1.0", "Connection: close, keep-alive\r\n"));
}

TEST_CASE("first lines are refused for the right reason") {
  CHECK(refused("\n") == refusal::bad_line_end);
  CHECK(refused("\r\n\r\n") == refusal::bad_request_line);
  CHECK(refused(" GET / HTTP/1.1\r\n") == refusal::leading_space);
  CHECK(refused("G@T / HTTP/1.1\r\n") == refusal::bad_method);
  CHECK(refused("G\x80T / HTTP/1.1\r\n") == refusal::bad_request_line);
  CHECK(refused("GET\t/ HTTP/1.1\r\n") == refusal::bad_request_line);
  CHECK(refused("GET  / HTTP/1.1\r\n") == refusal::bad_request_line);
  CHECK(refused("GET / HTTP/1.1 \r\n") == refusal::bad_request_line);
  CHECK(refused("GET /\r\n") == refusal::bad_request_line);
  CHECK(refused("GET / HTTP/1.1\n") == refusal::bad_line_end);
  CHECK(refused("GET / HTTP/1.1\rX") == refusal::bad_line_end);
  CHECK(refused("GET / http/1.1\r\n") == refusal::bad_request_line);
  CHECK(refused("GET / HTTP/2.0\r\n") == refusal::bad_version);
  CHECK(refused("GET / HTTP/1.2\r\n") == refusal::bad_version);
  CHECK(refused("GET /\x7f HTTP/1.1\r\n") == refusal::bad_character);
  CHECK(refused("GET /\xc3\xa4 HTTP/1.1\r\n") == refusal::bad_target);
  CHECK(refused("GET /#a HTTP/1.1\r\n") == refusal::bad_target);
  CHECK(refused("GET /"s + '\0' + " HTTP/1.1\r\n") == refusal::bad_character);
  CHECK(refused("\x16\x03\x01\x02") == refusal::bad_character);  // TLS at the wrong port
}

TEST_CASE("each form of a target belongs to its method") {
  const auto reason = [](const std::string& line, const std::string& host = "a") {
    return refused(line + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  CHECK(reason("OPTIONS *") == refusal::none);
  CHECK(reason("GET *") == refusal::bad_target);
  CHECK(reason("CONNECT a:443", "a:443") == refusal::none);
  CHECK(reason("CONNECT [::1]:443", "[::1]:443") == refusal::none);
  CHECK(reason("CONNECT a:", "a:") == refusal::bad_target);
  CHECK(reason("CONNECT a") == refusal::bad_target);
  CHECK(reason("CONNECT a:99999", "a:99999") == refusal::bad_target);
  CHECK(reason("CONNECT /a") == refusal::bad_target);
  CHECK(reason("GET a:443", "a:443") == refusal::bad_target);
  CHECK(reason("GET http://a/x") == refusal::none);
  CHECK(reason("GET HTTPS://A?x") == refusal::none);
  CHECK(reason("GET http://b/x") == refusal::bad_host);
  CHECK(reason("GET http://u@a/x") == refusal::bad_target);
  CHECK(reason("GET ftp://a/x") == refusal::bad_target);
  CHECK(reason("GET http:///x") == refusal::bad_target);
  CHECK(reason("TRACE /") == refusal::trace_refused);
}

TEST_CASE("nothing behind a CONNECT is another request") {
  const std::string head = "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n";
  CHECK(refused(head + "Content-Length: 0\r\n\r\n") == refusal::bad_content_length);
  CHECK(refused(head + "Transfer-Encoding: chunked\r\n\r\n") == refusal::bad_transfer_encoding);
  const parsed p(head + "Connection: keep-alive\r\n\r\n");
  REQUIRE(p.status == parse_status::done);
  CHECK_FALSE(p.head.keeps_alive());
  CHECK(p.head.framing() == body_framing::none);
}

TEST_CASE("there is exactly one host") {
  const auto reason = [](const std::string& host) {
    return refused("GET / HTTP/1.1\r\nHost:" + host + "\r\n\r\n");
  };
  for (const char* good :
       {" a", " a.b-c:80", " 127.0.0.1:8080", " [::1]", " [::1]:80", " a:", " a_b", " xn--a%20",
        " a-name-of-more-than-thirty-two-characters.example"})
    CHECK(reason(good) == refusal::none);
  for (const char* bad :
       {"", " ", " a b", " a,b", " u@a", " a/b", " a:b", " a:123456", " a:65536", " a:99999",
        " [::1", " []", " [::1]x", " [::g]", " :80", " a?b", " a\xc3\xa4"}) {
    CAPTURE(bad);
    CHECK(reason(bad) == refusal::bad_host);
  }
  CHECK(refused("GET / HTTP/1.1\r\n\r\n") == refusal::host_missing);
  CHECK(refused("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n") == refusal::bad_host);
  CHECK(refused("GET / HTTP/1.0\r\n\r\n") == refusal::none);
  CHECK(refused("GET / HTTP/1.0\r\nHost: a b\r\n\r\n") == refusal::bad_host);
}

TEST_CASE("fields are refused for the right reason") {
  CHECK(refused(get("Name\r\n")) == refusal::bad_field_name);
  CHECK(refused(get(": x\r\n")) == refusal::bad_field_name);
  CHECK(refused(get("Na me: x\r\n")) == refusal::bad_field_name);
  CHECK(refused(get("Name : x\r\n")) == refusal::bad_field_name);
  CHECK(refused(get("Host\t: a\r\n")) == refusal::bad_field_name);
  CHECK(refused(get("N\xc3\xa4me: x\r\n")) == refusal::bad_field_name);
  CHECK(refused(get(" Name: x\r\n")) == refusal::leading_space);
  CHECK(refused(get("Name: x\r\n\tmore\r\n")) == refusal::leading_space);
  CHECK(refused(get("Name: x\ny: z\r\n")) == refusal::bad_line_end);
  CHECK(refused(get("Name: x\ry: z\r\n")) == refusal::bad_line_end);
  CHECK(refused(get("Name: x\x01\r\n")) == refusal::bad_character);
  CHECK(refused(get("Name: x"s + '\0' + "\r\n")) == refusal::bad_character);
  CHECK(refused(get("Name: \xc3\xa4\ttab\r\n")) == refusal::none);
  CHECK(refused(get("A-name-that-is-longer-than-thirty-two-characters: x\r\n")) == refusal::none);
  CHECK(refused(get("A name-that-is-longer-than-thirty-two-characters: x\r\n")) ==
        refusal::bad_field_name);
  CHECK(refused(get("A-name-that-is-longer-than-thirty-two-characters\r\n")) ==
        refusal::bad_field_name);
}

TEST_CASE("a length that two programs could read differently is refused") {
  const auto reason = [](const std::string& lines) { return refused(get(lines)); };
  for (const char* bad :
       {"Content-Length:\r\n", "Content-Length: +1\r\n", "Content-Length: -1\r\n",
        "Content-Length: 1, 1\r\n", "Content-Length: 1 1\r\n", "Content-Length: 0x1\r\n",
        "Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 9223372036854775808\r\n",
        "Content-Length: 00000000000000000001\r\n", "Content-Length:\t1\r\n",
        "Content-Length: 1\t\r\n", "Content-Length: \t 1 \t \r\n"}) {
    CAPTURE(bad);
    CHECK(reason(bad) == refusal::bad_content_length);
  }
  const parsed most(get("Content-Length: 9223372036854775807\r\n"));
  REQUIRE(most.status == parse_status::done);
  CHECK(most.head.content_length() == 9223372036854775807U);

  for (const char* bad :
       {"Transfer-Encoding:\r\n", "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked, gzip\r\n", "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked;a=b\r\n",
        "Transfer-Encoding: ,chunked\r\n", "Transfer-Encoding: chunked,\r\n",
        "Transfer-Encoding: \"chunked\"\r\n", "Transfer-Encoding: chunked\t\r\n",
        "Transfer-Encoding:\tchunked\r\n", "Transfer-Encoding: chunked \t \r\n",
        "Transfer-Encoding: \t chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"}) {
    CAPTURE(bad);
    CHECK(reason(bad) == refusal::bad_transfer_encoding);
  }
  CHECK(reason("Transfer-Encoding: gzip, chunked\r\n") == refusal::unknown_transfer_coding);
  CHECK(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n") ==
        refusal::bad_transfer_encoding);
  const parsed chunked(get("Transfer-Encoding:  CHUNKED  \r\n"));
  CHECK(chunked.head.framing() == body_framing::chunked);
}

TEST_CASE("a long value keeps its tabs and spaces") {
  std::string value = "v";
  while (value.size() < 5000) value += "\t\tab  c";
  const parsed p(get("Long: " + value + "\r\nNext: x\r\n"));
  REQUIRE(p.status == parse_status::done);
  CHECK(p.head.get("Long") == value);
  CHECK(p.head.get("Next") == "x");
  CHECK(refused(get("Long: " + value + '\x01' + "\r\n")) == refusal::bad_character);
}

TEST_CASE("an expectation is 100-continue") {
  const parsed p(get("Expect: 100-Continue\r\nContent-Length: 1\r\n"));
  CHECK(p.status == parse_status::done);
  CHECK(p.head.expects_continue());
  CHECK(refused(get("Expect: 200-ok\r\n")) == refusal::bad_expectation);
  CHECK(refused(get("Expect: 100-continue\r\nExpect: 100-continue\r\n")) ==
        refusal::bad_expectation);
  const parsed old("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n");
  CHECK(old.status == parse_status::done);
  CHECK_FALSE(old.head.expects_continue());
}

TEST_CASE("each limit is exact, and what exceeds it is refused before it is whole") {
  const auto repeated = [](std::size_t n) { return std::string(n, 'a'); };
  SUBCASE("method") {
    CHECK(parsed(repeated(24) + " / HTTP/1.0\r\n\r\n").status == parse_status::done);
    const parsed p(repeated(25));
    CHECK(p.status == parse_status::refused);
    CHECK(p.parser.reason() == refusal::method_too_long);
    CHECK(p.parser.offset() == 24);
    CHECK(parsed(repeated(24)).status == parse_status::more);
  }
  SUBCASE("target") {
    head_limits limits;
    limits.target_bytes = 100;
    CHECK(parsed("GET /" + repeated(99) + " HTTP/1.0\r\n\r\n", limits).status ==
          parse_status::done);
    CHECK(parsed("GET /" + repeated(99), limits).status == parse_status::more);
    const parsed p("GET /" + repeated(100), limits);
    CHECK(p.parser.reason() == refusal::target_too_long);
    CHECK(p.parser.offset() == 104);
    limits.target_bytes = 10;  // a line that is short enough for the short way
    CHECK(parsed("GET /" + repeated(9) + " HTTP/1.1\r\nHost: a\r\n\r\n", limits).status ==
          parse_status::done);
    CHECK(parsed("GET /" + repeated(10) + " HTTP/1.1\r\nHost: a\r\n\r\n", limits).parser.reason() ==
          refusal::target_too_long);
  }
  SUBCASE("head") {
    head_limits limits;
    limits.head_bytes = 64;
    const std::string head = get("X: ");  // with two line ends
    const std::string whole = head.substr(0, head.size() - 2) + repeated(64 - head.size() - 2);
    CHECK(parsed(whole + "\r\n\r\n", limits).status == parse_status::done);
    const parsed p(whole + "b\r\n\r\n", limits);
    CHECK(p.parser.reason() == refusal::head_too_long);
    CHECK(p.parser.offset() == 64);
    CHECK(parsed(whole + "bbbb", limits).parser.reason() == refusal::head_too_long);
    CHECK(parsed(whole + "bbb", limits).status == parse_status::more);
  }
  SUBCASE("fields") {
    head_limits limits;
    limits.fields = 3;
    CHECK(parsed(get("A: b\r\nC: d\r\n"), limits).status == parse_status::done);
    CHECK(parsed(get("A: b\r\nC: d\r\nE: f\r\n"), limits).parser.reason() ==
          refusal::too_many_fields);
    limits.fields = head::fields_max;
    std::string lines;
    for (unsigned i = 1; i < head::fields_max; ++i) lines += "A: b\r\n";
    CHECK(parsed(get(lines), limits).status == parse_status::done);
    CHECK(parsed(get(lines + "A: b\r\n"), limits).parser.reason() == refusal::too_many_fields);
  }
  SUBCASE("name") {
    CHECK(parsed(get(repeated(255) + ": b\r\n")).status == parse_status::done);
    CHECK(parsed(get(repeated(256) + ": b\r\n")).parser.reason() == refusal::field_name_too_long);
    head_limits limits;
    limits.name_bytes = 5;
    CHECK(parsed(get(repeated(5) + ": b\r\n"), limits).status == parse_status::done);
    CHECK(parsed(get(repeated(6) + ": b\r\n"), limits).parser.reason() ==
          refusal::field_name_too_long);
    CHECK(parsed(get("Accept: b\r\n"), limits).parser.reason() == refusal::field_name_too_long);
  }
}

TEST_CASE("a refused message stays refused, and reset() prepares for the next") {
  parsed p("GET /#\r\n");
  CHECK(p.parser.parse("GET / HTTP/1.0\r\n\r\n", p.head) == parse_status::refused);
  CHECK(p.parser.reason() == refusal::bad_target);
  p.parser.reset();
  CHECK(p.parser.reason() == refusal::none);
  CHECK(p.parser.parse("GET / HTTP/1.0\r\n\r\n", p.head) == parse_status::done);
}

TEST_CASE("a parser keeps nothing of the message before") {
  parsed p(get("Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n"));
  CHECK(p.status == parse_status::done);
  p.parser.reset();
  CHECK(p.parser.parse("\r\nPUT /b HTTP/1.1\r\nHost: b\r\n\r\n", p.head) == parse_status::done);
  CHECK(p.head.framing() == body_framing::none);
  CHECK(p.head.content_length() == 0);
  CHECK_FALSE(p.head.expects_continue());
  CHECK(p.head.keeps_alive());
  CHECK(p.head.size() == 1);
  CHECK_FALSE(p.head.has(field::content_length));
}

TEST_CASE("bytes behind a padded input are never taken for a part of it") {
  const std::string whole = get("Name: value\r\n");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    for (const char* behind : {"\r\n", "\n\n", ": x\r\n\r\n", "\t\t", "HTTP/1.1\r\n\r\n"}) {
      std::string text = whole.substr(0, size);
      while (text.size() < size + request_parser::padding) text += behind;
      request_parser parser;
      request_head head;
      CAPTURE(size);
      CHECK(parser.parse_padded({text.data(), size}, head) == parse_status::more);
    }
  }
}

// --- responses

struct parsed_response {
  explicit parsed_response(std::string input, method asked = method::get)
      : text(std::move(input)), status(parser.parse(text, asked, head)) {}
  std::string text;
  response_parser parser;
  response_head head;
  parse_status status;
};

TEST_CASE("the head of a response tells status, reason and framing") {
  const parsed_response r("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc");
  REQUIRE(r.status == parse_status::done);
  CHECK(r.head.status() == status::not_found);
  CHECK(r.head.reason() == "Not Found");
  CHECK(r.head.framing() == body_framing::length);
  CHECK(r.head.bytes() == r.text.size() - 3);
  CHECK(r.head.keeps_alive());
  CHECK(parsed_response("HTTP/1.1 200 \r\n\r\n").head.reason().empty());
  CHECK(parsed_response("HTTP/1.1 299\r\n\r\n").head.status() == static_cast<status>(299));
  CHECK(parsed_response("HTTP/1.1 200 a\tb\t\r\n\r\n").head.reason() == "a\tb\t");
}

TEST_CASE("status and method decide whether a response has a body") {
  const auto framing = [](const std::string& line, method asked, const std::string& fields = "") {
    const parsed_response r("HTTP/1.1 " + line + "\r\n" + fields + "\r\n", asked);
    REQUIRE(r.status == parse_status::done);
    return r.head.framing();
  };
  const std::string length = "Content-Length: 5\r\n";
  CHECK(framing("200 OK", method::get) == body_framing::until_close);
  CHECK(framing("200 OK", method::get, length) == body_framing::length);
  CHECK(framing("200 OK", method::get, "Transfer-Encoding: chunked\r\n") == body_framing::chunked);
  CHECK(framing("200 OK", method::head, length) == body_framing::none);
  CHECK(framing("204 No Content", method::get, length) == body_framing::none);
  CHECK(framing("304 Not Modified", method::get, length) == body_framing::none);
  CHECK(framing("100 Continue", method::post) == body_framing::none);
  CHECK(framing("200 OK", method::connect, length) == body_framing::none);
  CHECK(framing("403 Forbidden", method::connect, length) == body_framing::length);
  CHECK_FALSE(parsed_response("HTTP/1.1 200 OK\r\n\r\n").head.keeps_alive());
}

TEST_CASE("status lines are refused for the right reason") {
  const auto reason = [](const std::string& line) {
    const auto whole = read_all<response_reader>(line);
    CHECK(read_bytes<response_reader>(line).transcript() == whole.transcript());
    return whole.reason();
  };
  CHECK(reason("HTTP/1.1 200 OK\n\r\n") == refusal::bad_line_end);
  CHECK(reason("HTTP/1.1 20 OK\r\n\r\n") == refusal::bad_status_line);
  CHECK(reason("HTTP/1.1 2000 OK\r\n\r\n") == refusal::bad_status_line);
  CHECK(reason("HTTP/1.1  200 OK\r\n\r\n") == refusal::bad_status_line);
  CHECK(reason("HTTP/1.1 099 OK\r\n\r\n") == refusal::bad_status_line);
  CHECK(reason("HTTP/1.1 1000 OK\r\n\r\n") == refusal::bad_status_line);
  CHECK(reason("HTTP/1.1 200 \x01\r\n\r\n") == refusal::bad_character);
  CHECK(reason("HTTP/1.1 200 a\tb\x01\r\n\r\n") == refusal::bad_character);
  CHECK(reason("HTTP/1.1 200 a\tb\tc\r\n\r\n") == refusal::none);
  CHECK(reason("HTTP/2.0 200 OK\r\n\r\n") == refusal::bad_version);
  CHECK(reason("ICY 200 OK\r\n\r\n") == refusal::bad_status_line);
  CHECK(reason("\r\nHTTP/1.1 200 OK\r\n\r\n") == refusal::bad_status_line);
}

TEST_CASE("docs/http.md has a row for each refusal, with its status") {
  const auto rows = beck::test::rows_of(BECK_HTTP_PAGE, "| refusal |");
  REQUIRE(rows.size() == static_cast<unsigned>(refusal::handler_late));
  for (unsigned i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i]);
    const std::string status = std::to_string(number_of(status_of(static_cast<refusal>(i + 1))));
    CHECK(rows[i].find("` | " + status + " |") != std::string::npos);
  }
}

TEST_CASE("every refusal has a status and a text of its own") {
  for (unsigned i = 1; i <= static_cast<unsigned>(refusal::body_too_long); ++i) {
    const auto r = static_cast<refusal>(i);
    CHECK_FALSE(text_of(r).empty());
    CHECK(number_of(status_of(r)) >= 400);
    CHECK_FALSE(reason_of(status_of(r)).empty());
    for (unsigned j = 0; j < i; ++j) CHECK(text_of(static_cast<refusal>(j)) != text_of(r));
  }
}

}  // namespace
