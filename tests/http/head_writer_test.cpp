// SPDX-License-Identifier: BSL-1.0
// The parser reads each head again that was written; a head that it would read as more is refused.
#include <doctest/doctest.h>
#include <beck/http/head_writer.hpp>
#include <beck/http/parser.hpp>

#include <ostream>
#include <string>

#include "http/message/characters.hpp"

namespace {

using namespace beck::http;
using namespace std::string_literals;

TEST_CASE("a response is written as it is read") {
  char room[256];
  head_writer writer(beck::buffer(room));
  const std::string_view text = writer.start(status::not_found)
                                    .add(field::content_type, "text/plain")
                                    .add(field::content_length, 18'446'744'073'709'551'615U)
                                    .add("X-Empty", "")
                                    .finish();
  CHECK(text ==
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n"
        "Content-Length: 18446744073709551615\r\nX-Empty: \r\n\r\n");
  head_writer other(beck::buffer(room));
  CHECK(other.start(static_cast<status>(299), "Fine\tso").finish() ==
        "HTTP/1.1 299 Fine\tso\r\n\r\n");
  response_parser parser;
  response_head head;
  CHECK(parser.parse({room, 24}, method::get, head) == parse_status::done);
  CHECK(head.reason() == "Fine\tso");
  head_writer nameless(beck::buffer(room));
  CHECK(nameless.start(static_cast<status>(299)).finish() == "HTTP/1.1 299 \r\n\r\n");
}

TEST_CASE("a request is written as it is read") {
  char room[256];
  head_writer writer(beck::buffer(room));
  const std::string_view text =
      writer.start(method::post, "/a?b").add(field::host, "example.com").finish();
  request_parser parser;
  request_head head;
  REQUIRE(parser.parse(text, head) == parse_status::done);
  CHECK(head.method() == method::post);
  CHECK(head.target() == "/a?b");
  CHECK(head.get(field::host) == "example.com");
  head_writer other(beck::buffer(room));
  CHECK(other.start("REPORT", "*").finish() == "REPORT * HTTP/1.1\r\n\r\n");
}

TEST_CASE("a value is refused for a control character in any place, but for tabs") {
  using detail::is_field_value;
  CHECK(is_field_value(""));
  for (std::size_t size = 1; size <= 33; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned byte = 0; byte < 256; ++byte) {
        std::string value(size, size % 2 == 0 ? '\t' : '~');
        value[at] = static_cast<char>(byte);
        const bool is_good = (byte >= 0x20 && byte != 0x7f) || byte == '\t';
        if (is_field_value(value) != is_good) FAIL("byte ", byte, " at ", at, " of ", size);
      }
    }
  }
}

TEST_CASE("a head that would say more than the program meant is not written") {
  char room[256];
  const auto error = [&room](auto write) {
    head_writer writer(beck::buffer(room));
    write(writer);
    CHECK(writer.finish().empty());
    return writer.error();
  };
  for (const char* bad : {"\r\nX: y", "a\rb", "a\nb", "\x7f", "\x01", "a\r", "\n"}) {
    CAPTURE(bad);
    CHECK(error([&](head_writer& w) { w.start(status::ok).add(field::location, bad); }) ==
          head_error::bad_value);
  }
  for (char c = 0; c < 0x20; ++c)
    if (c != '\t')
      CHECK(error([&](head_writer& w) { w.start(status::ok).add("X", "a"s + c); }) ==
            head_error::bad_value);
  CHECK(error([](head_writer& w) { w.start(status::ok).add("X", "a\0b"s); }) ==
        head_error::bad_value);
  for (const char* bad : {"", "a b", "a:", "a\r\n", "\xc3\xa4"})
    CHECK(error([&](head_writer& w) { w.start(status::ok).add(bad, "x"); }) ==
          head_error::bad_name);
  CHECK(error([](head_writer& w) { w.start(status::ok, "a\r\nb"); }) == head_error::bad_start);
  CHECK(error([](head_writer& w) { w.start(static_cast<status>(99)); }) == head_error::bad_start);
  CHECK(error([](head_writer& w) { w.start(static_cast<status>(600)); }) == head_error::bad_start);
  CHECK(error([](head_writer& w) { w.start(method::other, "/"); }) == head_error::bad_start);
  for (const char* bad : {"", "a b", "/#", "/\xc3\xa4", "/\r\n"})
    CHECK(error([&](head_writer& w) { w.start(method::get, bad); }) == head_error::bad_start);
  // The first error is kept, and nothing is written behind it.
  CHECK(error([](head_writer& w) {
          w.start(status::ok).add("a b", "x").add("c", "\n").add("d", "e");
        }) == head_error::bad_name);
}

TEST_CASE("nothing is written behind the room, and a whole head fits into its exact size") {
  const auto response = [](head_writer& w) {
    w.start(status::ok).add(field::host, "a").add(field::content_length, 5U);
  };
  const auto request = [](head_writer& w) { w.start(method::get, "/"); };
  const auto check_sizes = [](auto write, std::size_t whole) {
    for (std::size_t size = 0; size <= whole; ++size) {
      std::string room(whole + 1, 'x');
      head_writer writer(beck::buffer(room.data(), size));
      write(writer);
      CAPTURE(size);
      CHECK(writer.finish().size() == (size == whole ? whole : 0));
      CHECK(writer.error() == (size == whole ? head_error::none : head_error::no_room));
      CHECK(room.find_first_not_of('x', size) == std::string::npos);
    }
  };
  check_sizes(response, "HTTP/1.1 200 OK\r\nHost: a\r\nContent-Length: 5\r\n\r\n"s.size());
  check_sizes(request, "GET / HTTP/1.1\r\n\r\n"s.size());
}

}  // namespace
