// SPDX-License-Identifier: BSL-1.0
//
// Bodies: every split of the input must decode to the same bytes, and the limits are exact.
#include <doctest/doctest.h>
#include <beck/http/body_decoder.hpp>

#include <algorithm>
#include <ostream>
#include <string>

#include "http/message_reader.hpp"

namespace {

using namespace beck::http;
using namespace beck::http::test;

const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

struct outcome {
  std::string body;
  std::string rest;
  parse_status status;
  refusal reason;
};

/// Decodes a chunked body that is split at `at`.
outcome decode(const std::string& input, std::size_t at, const body_limits& limits = {}) {
  request_parser parser;
  request_head head;
  REQUIRE(parser.parse(chunked, head) == parse_status::done);
  body_decoder decoder(head, limits);
  outcome o{"", "", parse_status::more, refusal::none};
  for (const std::string& piece : {input.substr(0, at), input.substr(at)}) {
    o.rest += piece;
    for (;;) {
      const body_part part = decoder.decode(o.rest);
      o.body += part.data;
      o.rest.erase(0, part.consumed);
      o.status = part.status;
      if (part.status != parse_status::more || part.consumed == 0) break;
    }
    if (o.status == parse_status::refused) break;
  }
  o.reason = decoder.reason();
  CHECK(decoder.bytes() == o.body.size());
  return o;
}

outcome decode_all_splits(const std::string& input, const body_limits& limits = {}) {
  const outcome whole = decode(input, input.size(), limits);
  for (std::size_t at = 0; at < input.size(); ++at) {
    CAPTURE(at);
    const outcome split = decode(input, at, limits);
    CHECK(split.body == whole.body);
    CHECK(split.status == whole.status);
    CHECK(split.reason == whole.reason);
    if (whole.status == parse_status::done) CHECK(split.rest == whole.rest);
  }
  return whole;
}

TEST_CASE("chunks become the body, however they are split") {
  const outcome o = decode_all_splits(
      "5\r\nhello\r\n00A;x;y=z;q=\"a\\\"; b\"\r\n, chunked!\r\n0\r\n"
      "X-Sum: 1\r\n\r\nnext");
  CHECK(o.status == parse_status::done);
  CHECK(o.body == "hello, chunked!");
  CHECK(o.rest == "next");
  CHECK(decode_all_splits("0\r\n\r\n").status == parse_status::done);
  CHECK(decode_all_splits("5\r\nhel").status == parse_status::more);
  CHECK(decode_all_splits("0\r\nA: b\r\n").status == parse_status::more);
}

TEST_CASE("chunks are refused for the right reason") {
  const auto reason = [](const std::string& input) { return decode_all_splits(input).reason; };
  CHECK(reason("\r\n") == refusal::bad_chunk_size);
  CHECK(reason("g\r\n") == refusal::bad_chunk_size);
  CHECK(reason("0x5\r\nhello\r\n") == refusal::bad_chunk_size);
  CHECK(reason("-5\r\n") == refusal::bad_chunk_size);
  CHECK(reason(" 5\r\n") == refusal::bad_chunk_size);
  CHECK(reason("5 \r\nhello\r\n") == refusal::bad_chunk_size);
  CHECK(reason("5\nhello\r\n") == refusal::bad_chunk_size);
  CHECK(reason("00000000000000001\r\na\r\n") == refusal::bad_chunk_size);
  CHECK(reason("5\rhello\r\n") == refusal::bad_line_end);
  CHECK(reason("5;\r\nhello\r\n") == refusal::bad_chunk_extension);
  CHECK(reason("5;a=\r\nhello\r\n") == refusal::bad_chunk_extension);
  CHECK(reason("5;a=\"b\r\nhello\r\n") == refusal::bad_chunk_extension);
  CHECK(reason("5;a=\"b\\\r\nhello\r\n") == refusal::bad_chunk_extension);
  CHECK(reason("5;a b\r\nhello\r\n") == refusal::bad_chunk_extension);
  CHECK(reason("5;a\nhello\r\n") == refusal::bad_chunk_extension);
  CHECK(reason("5\r\nhello!\r\n") == refusal::bad_chunk_end);
  CHECK(reason("5\r\nhello\n0\r\n") == refusal::bad_chunk_end);
  CHECK(reason("5\r\nhello\r0") == refusal::bad_chunk_end);
  CHECK(reason("ffffffffffffffff\r\n") == refusal::body_too_long);
  CHECK(reason("0\r\nHost: b\r\n\r\n") == refusal::bad_trailer);
  CHECK(reason("0\r\nContent-Length: 1\r\n\r\n") == refusal::bad_trailer);
  CHECK(reason("0\r\nAuthorization: x\r\n\r\n") == refusal::bad_trailer);
  CHECK(reason("0\r\n\n") == refusal::bad_line_end);
  CHECK(reason("0\r\n x\r\n\r\n") == refusal::leading_space);
  CHECK(reason("0\r\nname\r\n\r\n") == refusal::bad_field_name);
}

TEST_CASE("a trailer says nothing about framing, routing, authentication or content") {
  for (const char* name : {"Age",
                           "Authorization",
                           "Cache-Control",
                           "Connection",
                           "Content-Encoding",
                           "Content-Length",
                           "Content-Range",
                           "Content-Type",
                           "Cookie",
                           "Date",
                           "Expect",
                           "Expires",
                           "Forwarded",
                           "Host",
                           "If-Match",
                           "If-Modified-Since",
                           "If-None-Match",
                           "If-Range",
                           "If-Unmodified-Since",
                           "Keep-Alive",
                           "Location",
                           "Max-Forwards",
                           "Pragma",
                           "Proxy-Authenticate",
                           "Proxy-Authorization",
                           "Proxy-Connection",
                           "Range",
                           "Retry-After",
                           "Set-Cookie",
                           "TE",
                           "Trailer",
                           "Transfer-Encoding",
                           "Upgrade",
                           "Vary",
                           "WWW-Authenticate",
                           "X-Forwarded-For",
                           "X-Forwarded-Host",
                           "X-Forwarded-Proto"}) {
    CAPTURE(name);
    const std::string input = "0\r\nX-Sum: 1\r\n" + std::string(name) + ": 1\r\n\r\n";
    CHECK(decode(input, input.size()).reason == refusal::bad_trailer);
  }
  CHECK(decode("0\r\nETag: 1\r\nServer-Timing: x\r\n\r\n", 5).status == parse_status::done);
}

TEST_CASE("each limit of a body is exact") {
  body_limits limits;
  SUBCASE("body") {
    limits.body_bytes = 6;
    CHECK(decode_all_splits("3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", limits).body == "abcdef");
    const outcome over = decode_all_splits("3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n", limits);
    CHECK(over.reason == refusal::body_too_long);
    CHECK(over.body == "abc");
  }
  SUBCASE("chunk line") {
    limits.chunk_line_bytes = 8;
    CHECK(decode_all_splits("1;abcdef\r\na\r\n0\r\n\r\n", limits).status == parse_status::done);
    CHECK(decode_all_splits("1;abcdefg\r\na\r\n", limits).reason == refusal::chunk_line_too_long);
    CHECK(decode_all_splits("1;abcdefg", limits).reason == refusal::chunk_line_too_long);
    CHECK(decode_all_splits("00000001\r\na\r\n0\r\n\r\n", limits).body == "a");
    CHECK(decode_all_splits("000000001\r\n", limits).reason == refusal::chunk_line_too_long);
    limits.chunk_line_bytes = 3;
    CHECK(decode_all_splits("001\r\na\r\n0\r\n\r\n", limits).body == "a");
    CHECK(decode_all_splits("0001\r\na\r\n", limits).reason == refusal::chunk_line_too_long);
  }
  SUBCASE("extensions") {
    limits.chunk_extension_bytes = 6;
    CHECK(decode_all_splits("1;ab\r\na\r\n1;cd\r\nb\r\n0\r\n\r\n", limits).status ==
          parse_status::done);
    CHECK(decode_all_splits("1;ab\r\na\r\n1;cd\r\nb\r\n0;e\r\n\r\n", limits).reason ==
          refusal::chunk_extensions_too_long);
  }
  SUBCASE("trailers") {
    limits.trailer_bytes = 10;
    CHECK(decode_all_splits("0\r\nA: bcd\r\n\r\n", limits).status == parse_status::done);
    CHECK(decode_all_splits("0\r\nA: bcde\r\n\r\n", limits).reason == refusal::trailers_too_long);
    limits.trailer_bytes = 1000;
    limits.trailer_fields = 2;
    CHECK(decode_all_splits("0\r\nA: b\r\nC: d\r\n\r\n", limits).status == parse_status::done);
    CHECK(decode_all_splits("0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n", limits).reason ==
          refusal::trailers_too_long);
  }
}

TEST_CASE("limits of trailers have bounds of their own, that of the head which keeps them") {
  body_limits limits;
  limits.trailer_fields = 1000;
  limits.trailer_bytes = 1000000;
  const auto reason = [&limits](const std::string& trailers) {
    return decode("0\r\n" + trailers + "\r\n", 3, limits).reason;
  };
  std::string lines;
  for (unsigned i = 0; i < head::fields_max; ++i) lines += "A: b\r\n";
  CHECK(reason(lines) == refusal::none);
  CHECK(reason(lines + "A: b\r\n") == refusal::trailers_too_long);
  const std::string value(65528, 'a');  // with "A: " and two line ends 65535 bytes
  CHECK(reason("A: " + value + "\r\n") == refusal::none);
  CHECK(reason("A: " + value + "a\r\n") == refusal::trailers_too_long);
}

TEST_CASE("an announced length over the limit is refused before anything is read") {
  request_parser parser;
  request_head head;
  body_limits limits;
  limits.body_bytes = 10;
  REQUIRE(parser.parse("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", head) ==
          parse_status::done);
  body_decoder decoder(head, limits);
  CHECK(decoder.reason() == refusal::body_too_long);
  CHECK(decoder.decode("").status == parse_status::refused);
  limits.body_bytes = 11;
  body_decoder fits(head, limits);
  CHECK(fits.known_bytes() == 11);
  const body_part part = fits.decode("hello world, and more");
  CHECK(part.data == "hello world");
  CHECK(part.consumed == 11);
  CHECK(part.status == parse_status::done);
}

TEST_CASE("the end of the connection ends a body without a length, and cuts others short") {
  response_parser parser;
  response_head head;
  body_limits limits;
  limits.body_bytes = 5;
  REQUIRE(parser.parse("HTTP/1.1 200 OK\r\n\r\n", method::get, head) == parse_status::done);
  body_decoder decoder(head, limits);
  CHECK(decoder.decode("abc").data == "abc");
  CHECK(decoder.decode("de").data == "de");
  CHECK_FALSE(decoder.is_done());
  CHECK(decoder.end_of_input() == parse_status::done);
  CHECK(decoder.is_done());
  body_decoder other(head, limits);
  CHECK(other.decode("abcdef").status == parse_status::refused);
  CHECK(other.reason() == refusal::body_too_long);
  CHECK(other.end_of_input() == parse_status::refused);

  parser.reset();
  REQUIRE(parser.parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", method::get, head) ==
          parse_status::done);
  body_decoder counted(head);
  CHECK(counted.decode("abc").status == parse_status::more);
  CHECK(counted.end_of_input() == parse_status::more);
  CHECK(counted.decode("de").status == parse_status::done);
  CHECK(body_decoder().decode("x").status == parse_status::done);
  CHECK(body_decoder().decode("x").consumed == 0);
}

}  // namespace

TEST_CASE("http body: a limit counts all pieces of a body, whatever its framing is") {
  constexpr std::uint64_t most = 10;
  body_limits limits;
  limits.body_bytes = most;
  for (const bool in_chunks : {false, true}) {
    for (const std::size_t bytes : {most, most + 1}) {
      for (const std::size_t piece : {1U, 3U, 10U}) {
        CAPTURE(in_chunks);
        CAPTURE(bytes);
        CAPTURE(piece);
        response_parser parser;
        response_head head;
        const std::string_view text = in_chunks
                                          ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                          : "HTTP/1.1 200 OK\r\n\r\n";
        REQUIRE(parser.parse(text, method::get, head) == parse_status::done);
        body_decoder decoder(head, limits);
        for (std::size_t sent = 0; sent < bytes && decoder.reason() == refusal::none;) {
          const std::string data(std::min(piece, bytes - sent), 'b');
          sent += data.size();
          std::string input = data;
          if (in_chunks) {
            constexpr const char* digits = "0123456789a";
            input = std::string(1, digits[data.size()]) + "\r\n" + data + "\r\n";
          }
          while (!input.empty()) {
            const body_part part = decoder.decode(input);
            if (part.consumed == 0) break;
            input.erase(0, part.consumed);
          }
        }
        CHECK(decoder.reason() == (bytes > most ? refusal::body_too_long : refusal::none));
        CHECK(decoder.bytes() <= most);
      }
    }
  }
}
