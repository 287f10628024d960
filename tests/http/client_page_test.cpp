// SPDX-License-Identifier: BSL-1.0
// docs/http-client.md and the code say the same of limits and errors.
#include <beck/http/client.hpp>

#include <doctest/doctest.h>

#include <iterator>
#include <string>
#include <string_view>

#include "http/client_site.hpp"
#include "support/page_table.hpp"

using namespace beck::http::test;
namespace http = beck::http;

namespace {

std::string seconds(beck::duration time) {
  return std::to_string(time.nanoseconds() / 1'000'000'000) + " s";
}

}  // namespace

TEST_CASE("docs/http-client.md has the default and the name of each limit") {
  const http::client_options o;
  const auto number = [](auto n) { return std::to_string(n); };
  const struct {
    const char* name;
    std::string value;
  } limits[] = {
      {"per_origin", number(o.per_origin)},
      {"connections", number(o.connections)},
      {"waiting", number(o.waiting)},
      {"idle_timeout", seconds(o.idle_timeout)},
      {"connect_timeout", seconds(o.connect_timeout)},
      {"send_timeout", seconds(o.send_timeout)},
      {"head_timeout", seconds(o.head_timeout)},
      {"body_rate`, `body_grace",
       number(o.body_rate) + " bytes a second, after " + seconds(o.body_grace)},
      {"body_timeout", seconds(o.body_timeout)},
      {"continue_timeout", seconds(o.continue_timeout)},
      {"heads", number(o.heads.head_bytes) + " bytes, " + number(o.heads.fields) + " fields"},
      {"bodies.body_bytes", o.bodies.body_bytes == INT64_MAX ? "none" : "some"},
      {"bodies", "as a server's"},
      {"interim_bytes", number(o.interim_bytes / 1024) + " KiB"},
      {"redirects", number(o.redirects)},
  };
  const auto rows = beck::test::rows_of(BECK_HTTP_CLIENT_PAGE, "| limit of a client |");
  REQUIRE(rows.size() == std::size(limits) + 2);  // two are fixed
  for (std::size_t i = 0; i < std::size(limits); ++i) {
    CAPTURE(rows[i]);
    const std::string part = "| " + limits[i].value + " | `" + limits[i].name + "` |";
    CHECK(contains(rows[i], part));
  }
}

TEST_CASE("docs/http-client.md has a row for each error, and each has a text of its own") {
  constexpr const char* names[] = {
      "bad_url",           "no_tls",           "too_many_waiting",   "connect_late",
      "send_late",         "head_late",        "body_late",          "no_response",
      "cut_short",         "too_many_interim", "too_many_redirects", "unexpected_upgrade",
      "wrong_length",      "connector_failed", "call_late",          "proxy_refused",
      "before_call_failed"};
  constexpr std::size_t errors = std::size(names);
  static_assert(errors == static_cast<std::size_t>(http::client_error::before_call_failed));
  const auto rows = beck::test::rows_of(BECK_HTTP_CLIENT_PAGE, "| `client_error` |");
  REQUIRE(rows.size() == errors);
  for (std::size_t i = 0; i < errors; ++i) {
    CHECK(rows[i].starts_with("| `" + std::string(names[i]) + "` |"));
    const beck::error_code ec = static_cast<http::client_error>(i + 1);
    CHECK(!contains(ec.message(), "Unknown"));
    for (std::size_t j = 0; j < i; ++j) {
      const beck::error_code other = static_cast<http::client_error>(j + 1);
      CHECK(ec.message() != other.message());
    }
  }
  CHECK(contains(http::client_category().message(static_cast<int>(errors) + 1), "Unknown"));
  CHECK(contains(http::refusal_category().message(-1), "Unknown"));
  const beck::error_code timed_out = http::client_error::head_late;
  CHECK(timed_out == beck::errc::timed_out);
  const beck::error_code too_long = http::refusal::body_too_long;
  CHECK(too_long == beck::errc::message_size);
}
