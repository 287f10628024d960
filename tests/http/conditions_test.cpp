// SPDX-License-Identifier: BSL-1.0
//
// Conditional requests: every combination of conditions, methods and states against the steps of
// RFC 9110, section 13.2.2, written down one by one.
#include <doctest/doctest.h>
#include <beck/http/conditions.hpp>
#include <beck/http/date.hpp>
#include <beck/http/parser.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace {

using namespace beck::http;

constexpr std::int64_t now = 1'795'000'000;
constexpr std::int64_t modified = now - 1'000;

std::string date(std::int64_t seconds) { return std::string(date_text(seconds).view()); }

condition_result evaluate(const std::string& method, const std::string& lines,
                          const representation_state& state) {
  const std::string text = method + " /a HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
  request_parser parser;
  request_head head;
  REQUIRE(parser.parse(text, head) == parse_status::done);
  return evaluate_conditions(head, state, now);
}

/// The result in one word.
std::string outcome(const std::string& method, const std::string& lines,
                    const representation_state& state) {
  const condition_result result = evaluate(method, lines, state);
  if (result.status == condition_status::not_modified) return "304";
  if (result.status == condition_status::precondition_failed) return "412";
  return result.range_applies ? "range" : "whole";
}

const representation_state usual{"\"a\"", modified, true, true};

TEST_CASE("a cache validates what it has") {
  CHECK(outcome("GET", "", usual) == "whole");
  CHECK(outcome("GET", "If-None-Match: \"a\"\r\n", usual) == "304");
  CHECK(outcome("HEAD", "If-None-Match: \"x\", W/\"a\"\r\n", usual) == "304");
  CHECK(outcome("GET", "If-None-Match: \"x\"\r\nIf-None-Match: \"a\"\r\n", usual) == "304");
  CHECK(outcome("GET", "If-None-Match: \"b\"\r\n", usual) == "whole");
  CHECK(outcome("GET", "If-Modified-Since: " + date(modified) + "\r\n", usual) == "304");
  CHECK(outcome("GET", "If-Modified-Since: " + date(modified - 1) + "\r\n", usual) == "whole");
  CHECK(outcome("GET", "If-Modified-Since: " + date(now + 99) + "\r\n", usual) == "304");
  // If-None-Match decides alone.
  CHECK(outcome("GET", "If-None-Match: \"b\"\r\nIf-Modified-Since: " + date(now) + "\r\n", usual) ==
        "whole");
}

TEST_CASE("a change is carried out on the version that was meant") {
  CHECK(outcome("PUT", "If-Match: \"a\"\r\n", usual) == "whole");
  CHECK(outcome("PUT", "If-Match: \"b\"\r\n", usual) == "412");
  CHECK(outcome("PUT", "If-Match: *\r\n", usual) == "whole");
  CHECK(outcome("PUT", "If-Match: *\r\n", {{}, 0, false, false}) == "412");
  CHECK(outcome("PUT", "If-None-Match: *\r\n", usual) == "412");
  CHECK(outcome("PUT", "If-None-Match: *\r\n", {{}, 0, false, false}) == "whole");
  CHECK(outcome("DELETE", "If-Unmodified-Since: " + date(modified) + "\r\n", usual) == "whole");
  CHECK(outcome("DELETE", "If-Unmodified-Since: " + date(modified - 1) + "\r\n", usual) == "412");
  CHECK(outcome("REPORT", "If-None-Match: \"a\"\r\n", usual) == "412");
  CHECK(outcome("POST", "If-Modified-Since: " + date(now) + "\r\n", usual) == "whole");
  CHECK(outcome("OPTIONS", "If-Match: \"b\"\r\n", usual) == "whole");
  CHECK(outcome("OPTIONS", "If-None-Match: *\r\nRange: bytes=0-1\r\n", usual) == "whole");
  const std::string connect = "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nIf-Match: \"b\"\r\n\r\n";
  request_parser parser;
  request_head head;
  REQUIRE(parser.parse(connect, head) == parse_status::done);
  CHECK(evaluate_conditions(head, usual, now).status == condition_status::proceed);
}

TEST_CASE("a weak tag serves caches only") {
  const representation_state weak{"W/\"a\"", modified, true, true};
  CHECK(outcome("GET", "If-None-Match: \"a\"\r\n", weak) == "304");
  CHECK(outcome("PUT", "If-Match: W/\"a\"\r\n", weak) == "412");
  CHECK(outcome("PUT", "If-Match: \"a\"\r\n", weak) == "412");
  CHECK(outcome("PUT", "If-Match: W/\"a\"\r\n", usual) == "412");
  CHECK(outcome("GET", "Range: bytes=0-1\r\nIf-Range: W/\"a\"\r\n", weak) == "whole");
  CHECK(outcome("GET", "Range: bytes=0-1\r\nIf-Range: \"a\"\r\n", weak) == "whole");
}

TEST_CASE("what is malformed loses nothing") {
  for (const char* list : {"a", "\"a", "\"a\" \"b\"", "\"a\", x", "*, \"a\"", "", ","}) {
    CAPTURE(list);
    const std::string value = std::string(list) + "\r\n";
    CHECK(outcome("PUT", "If-Match: " + value, usual) == "412");
    CHECK(outcome("GET", "If-Match: " + value, usual) == "412");
    CHECK(outcome("GET", "If-None-Match: " + value, usual) == "whole");
    CHECK(outcome("PUT", "If-None-Match: " + value, usual) == "412");
    CHECK(outcome("GET", "If-None-Match: \"a\"\r\nIf-None-Match: " + value, usual) == "whole");
    CHECK(outcome("PUT", "If-Match: \"a\"\r\nIf-Match: " + value, usual) == "412");
  }
  CHECK(outcome("PUT", "If-Match: *\r\nIf-Match: *\r\n", usual) == "412");
  const std::string twice = "If-Modified-Since: " + date(now) + "\r\n";
  CHECK(outcome("GET", twice, usual) == "304");
  CHECK(outcome("GET", twice + twice, usual) == "whole");
  CHECK(outcome("GET", "If-Modified-Since: yesterday\r\n", usual) == "whole");
  // A text that is no entity tag is none.
  const representation_state bad{"a", modified, true, true};
  CHECK(outcome("GET", "If-None-Match: \"a\"\r\n", bad) == "whole");
  CHECK(outcome("PUT", "If-Match: \"a\"\r\n", bad) == "412");
  // What does not exist has no tag.
  CHECK(outcome("PUT", "If-Match: \"a\"\r\n", {"\"a\"", 0, false, false}) == "412");
}

TEST_CASE("a range counts if nothing has changed") {
  const auto range = [](const std::string& lines, const representation_state& state = usual) {
    return outcome("GET", "Range: bytes=0-1\r\n" + lines, state);
  };
  CHECK(range("") == "range");
  CHECK(range("If-Range: \"a\"\r\n") == "range");
  CHECK(range("If-Range: \"b\"\r\n") == "whole");
  CHECK(range("If-Range: \"a\", \"b\"\r\n") == "whole");
  CHECK(range("If-Range: \"a\"\r\nIf-Range: \"a\"\r\n") == "whole");
  CHECK(range("If-Range: *\r\n") == "whole");
  CHECK(range("If-Range:\r\n") == "whole");
  CHECK(range("If-Range: " + date(modified) + "\r\n") == "range");
  CHECK(range("If-Range: " + date(modified + 1) + "\r\n") == "whole");
  CHECK(range("If-Range: " + date(modified - 1) + "\r\n") == "whole");
  CHECK(range("If-Range: " + date(now) + "\r\n", {"", now, true, true}) == "whole");
  CHECK(range("If-Range: " + date(now - 1) + "\r\n", {"", now - 1, true, true}) == "range");
  CHECK(range("If-Range: " + date(0) + "\r\n", {"", 0, false, true}) == "whole");
  CHECK(range("Range: bytes=0-1\r\n") == "whole");
  CHECK(range("If-None-Match: \"a\"\r\n") == "304");
  CHECK(range("If-None-Match: \"b\"\r\nIf-Range: \"a\"\r\n") == "range");
  CHECK(range("", {"", 0, false, false}) == "whole");
  CHECK(outcome("HEAD", "Range: bytes=0-1\r\n", usual) == "whole");
  CHECK(outcome("PUT", "Range: bytes=0-1\r\n", usual) == "whole");
  CHECK(outcome("GET", "If-Range: \"a\"\r\n", usual) == "whole");
}

/// The meaning of a field value for each of the states below.
enum class meaning { absent, star, same_strong, same_weak, other, malformed };
struct listed {
  meaning means;
  const char* value;
};
enum class age { absent, older, equal, newer, malformed };
struct dated {
  age is;
  std::string value;
};

/// RFC 9110, section 13.2.2, step by step.
std::string by_steps(const std::string& method, const representation_state& state, meaning match,
                     age unmodified, meaning none_match, age modified_since) {
  const bool is_read = method == "GET" || method == "HEAD";
  const bool has_strong = state.exists && state.etag == "\"a\"";
  const bool has_tag = state.exists && !state.etag.empty();
  if (match != meaning::absent) {
    const bool holds =
        (match == meaning::star && state.exists) || (match == meaning::same_strong && has_strong);
    if (!holds) return "412";
  } else if (state.has_last_modified && unmodified == age::older) {
    return "412";
  }
  if (none_match == meaning::malformed) return is_read ? "proceed" : "412";
  if (none_match != meaning::absent) {
    const bool is_found =
        (none_match == meaning::star && state.exists) ||
        ((none_match == meaning::same_strong || none_match == meaning::same_weak) && has_tag);
    if (is_found) return is_read ? "304" : "412";
  } else if (is_read && state.has_last_modified &&
             (modified_since == age::equal || modified_since == age::newer)) {
    return "304";
  }
  return "proceed";
}

TEST_CASE("every combination of conditions is evaluated in the order of the RFC") {
  const std::vector<listed> lists = {
      {meaning::absent, nullptr},
      {meaning::star, "*"},
      {meaning::same_strong, "\"b\",\"a\""},
      {meaning::same_weak, "W/\"a\""},
      {meaning::other, "\"b\""},
      {meaning::malformed, "\"a\",b"},
  };
  const std::vector<dated> dates = {
      {age::absent, ""},
      {age::older, date(modified - 1)},
      {age::equal, date(modified)},
      {age::newer, date(modified + 1)},
      {age::malformed, "soon"},
  };
  const representation_state states[] = {usual,
                                         {"W/\"a\"", modified, true, true},
                                         {"", modified, true, true},
                                         {"\"a\"", 0, false, true},
                                         {"", 0, false, false}};
  long long count = 0;
  for (const char* method : {"GET", "HEAD", "PUT", "REPORT"}) {
    for (const representation_state& state : states) {
      for (const listed& match : lists) {
        for (const dated& unmodified : dates) {
          for (const listed& none_match : lists) {
            for (const dated& since : dates) {
              std::string lines;
              if (match.value) lines += std::string("If-Match: ") + match.value + "\r\n";
              if (unmodified.is != age::absent)
                lines += "If-Unmodified-Since: " + unmodified.value + "\r\n";
              if (none_match.value)
                lines += std::string("If-None-Match: ") + none_match.value + "\r\n";
              if (since.is != age::absent) lines += "If-Modified-Since: " + since.value + "\r\n";
              const std::string expected =
                  by_steps(method, state, match.means, unmodified.is, none_match.means, since.is);
              const std::string found = outcome(method, lines, state);
              REQUIRE_MESSAGE((found == "whole" ? "proceed" : found) == expected, method << lines);
              ++count;
            }
          }
        }
      }
    }
  }
  CHECK(count == 4 * 5 * 6 * 5 * 6 * 5);
}

}  // namespace
