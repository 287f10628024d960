// SPDX-License-Identifier: BSL-1.0
// Server-sent events: what the parser makes of each vector does not depend on how it is split.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "http/message/event_parser.hpp"
#include "support/report.hpp"
#include "support/vectors.hpp"

namespace {

using beck::http::event_limits;
using beck::http::detail::event_parser;
using beck::http::detail::event_status;
using beck::test::escaped;
using beck::test::read_vectors;
using beck::test::unescaped;

/// Reads a stream whose pieces end at `ends`, and returns its events as a line of text.
std::string events_in(std::string_view stream, const std::vector<std::size_t>& ends,
                      const event_limits& bounds = {}) {
  event_parser parser(bounds);
  std::string text;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    std::string_view input = stream.substr(begin, end - begin);
    begin = end;
    for (;;) {
      const event_status status = parser.parse(input);
      if (status == event_status::too_long) return text + "too long";
      if (status == event_status::more) break;
      std::string name, data;
      parser.take(name, data);
      text += escaped(name) + " <" + escaped(parser.last_id()) + "> \"" + escaped(data) + "\"; ";
    }
    CHECK(input.empty());
  }
  if (!parser.last_id().empty()) text += "id " + escaped(parser.last_id()) + "; ";
  if (parser.retry_ms()) text += "retry " + std::to_string(*parser.retry_ms()) + "; ";
  return text.empty() ? "nothing" : text.substr(0, text.size() - 2);
}

std::string events_in_all_splits(const std::string& stream, long long& splits,
                                 const event_limits& bounds = {}) {
  const std::string whole = events_in(stream, {stream.size()}, bounds);
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at <= stream.size(); ++at) ends.push_back(at);
  CHECK(events_in(stream, ends, bounds) == whole);
  if (stream.size() < 1000) {
    for (std::size_t at = 1; at < stream.size(); ++at) {
      CAPTURE(at);
      CHECK(events_in(stream, {at, stream.size()}, bounds) == whole);
      ++splits;
    }
  }
  return whole;
}

std::string events_within(const event_limits& bounds, const std::string& stream) {
  long long splits = 0;
  return events_in_all_splits(stream, splits, bounds);
}

}  // namespace

TEST_CASE("server-sent events are read as recorded, however they arrive") {
  long long cases = 0, splits = 0;
  for (const auto& row : read_vectors(BECK_HTTP_VECTORS "/events.tsv")) {
    REQUIRE(row.size() == 4);
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    const std::string outcome = events_in_all_splits(unescaped(row[3]), splits);
    if (std::getenv("BECK_HTTP_RECORD") != nullptr) std::cout << cases << '\t' << outcome << '\n';
    CHECK(outcome == row[2]);
    ++cases;
  }
  beck::test::report_value("events.vectors", cases);
  beck::test::report_value("events.splits", splits);
}

TEST_CASE("server-sent events: each limit is kept to the byte, and refused above it for ever") {
  CHECK(events_within({.line_bytes = 6}, "data:a\n\n") == R"(message <> "a")");
  CHECK(events_within({.line_bytes = 5}, "data:a\n\n") == "too long");
  CHECK(events_within({.line_bytes = 6}, "data:a\n\ndata:ab\n\n") == R"(message <> "a"; too long)");
  CHECK(events_within({.line_bytes = 6}, ":345678\n") == "too long");
  CHECK(events_within({.line_bytes = 6}, ":3456\r\n:345678") == "too long");
  CHECK(events_within({.line_bytes = 6},
                      "\xEF\xBB\xBF"
                      "data:a\n\n") == R"(message <> "a")");
  CHECK(events_within({.line_bytes = 1}, "\xEF\xBB\n\n") == "too long");
  CHECK(events_within({.line_bytes = 0}, "\n\r\n\r") == "nothing");
  // Data has a line feed between its lines.
  CHECK(events_within({.event_bytes = 3}, "data:a\ndata:b\n\n") == R"(message <> "a\x0ab")");
  CHECK(events_within({.event_bytes = 2}, "data:a\ndata:b\n\n") == "too long");
  CHECK(events_within({.event_bytes = 3}, "event:ab\ndata:c\n\n") == R"(ab <> "c")");
  CHECK(events_within({.event_bytes = 2}, "event:ab\ndata:c\n\n") == "too long");
  CHECK(events_within({.event_bytes = 3}, "id:ab\ndata:c\n\n") == R"(message <ab> "c"; id ab)");
  CHECK(events_within({.event_bytes = 2}, "id:ab\ndata:c\n\n") == "too long");
  CHECK(events_within({.event_bytes = 1}, "data:a\n\ndata:b\n\n") ==
        R"(message <> "a"; message <> "b")");
  std::string comments;
  for (int i = 0; i < 1000; ++i) comments += ": nothing to say\n";
  CHECK(events_within({.line_bytes = 16, .event_bytes = 1}, comments + "data:a\n\n") ==
        R"(message <> "a")");
  event_parser parser(event_limits{.line_bytes = 1, .event_bytes = 1});
  for (int i = 0; i < 3; ++i) {
    std::string_view input = i == 0 ? "ab" : "\n";
    CHECK(parser.parse(input) == event_status::too_long);
  }
}

TEST_CASE("server-sent events: the id of another connection stays until an event has another one") {
  event_parser parser(event_limits{}, "7");
  CHECK(parser.last_id() == "7");
  std::string name, data;
  std::string_view input = "data:a\n\nid:8\n\nid\n\n";
  CHECK(parser.parse(input) == event_status::event);
  CHECK(parser.last_id() == "7");
  parser.take(name, data);
  input = input.substr(0, 6);
  CHECK(parser.parse(input) == event_status::more);
  CHECK(parser.last_id() == "8");
  input = "id\n\n";
  CHECK(parser.parse(input) == event_status::more);
  CHECK(parser.last_id() == "");
}
