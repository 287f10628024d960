// SPDX-License-Identifier: BSL-1.0
// docs/websocket.md and the code say the same of limits and errors.
#include <beck/websocket/stream.hpp>

#include <doctest/doctest.h>

#include <iterator>
#include <string>
#include <string_view>

#include "support/page_table.hpp"

using namespace beck::websocket;

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string seconds(beck::duration time) {
  return std::to_string(time.nanoseconds() / 1'000'000'000) + " s";
}

template <class Number>
std::string bytes(Number n) {
  return std::to_string(n) + " bytes";
}

}  // namespace

TEST_CASE("docs/websocket.md has the default and the name of each limit") {
  const limits most;
  const struct {
    const char* name;
    std::string value;
  } all[] = {
      {"frame_bytes", bytes(most.frame_bytes)},
      {"message_bytes", bytes(most.message_bytes)},
      {"control_frames", std::to_string(most.control_frames)},
      {"queue_bytes", bytes(most.queue_bytes)},
      {"drop_when_full", most.drop_when_full ? "yes" : "no"},
      {"ping_interval", seconds(most.ping_interval)},
      {"pong_timeout", seconds(most.pong_timeout)},
      {"send_timeout", seconds(most.send_timeout)},
      {"close_timeout", seconds(most.close_timeout)},
  };
  const auto rows = beck::test::rows_of(BECK_WEBSOCKET_PAGE, "| limit of a stream |");
  REQUIRE(rows.size() == std::size(all) + 3);  // three are fixed
  for (std::size_t i = 0; i < std::size(all); ++i) {
    CAPTURE(rows[i]);
    CHECK(contains(rows[i], "| " + all[i].value + " | `" + all[i].name + "` |"));
  }
}

TEST_CASE("docs/websocket.md has a row for each error, and each has a text of its own") {
  constexpr auto last = static_cast<std::size_t>(stream_error::bad_response);
  const auto rows = beck::test::rows_of(BECK_WEBSOCKET_PAGE, "| `stream_error` |");
  REQUIRE(rows.size() == last);
  for (std::size_t i = 0; i < last; ++i) {
    const auto e = static_cast<stream_error>(i + 1);
    const auto code = static_cast<unsigned>(code_for(e));
    const std::string told = code == 0 ? "none" : std::to_string(code);
    CHECK(rows[i].starts_with("| `" + std::string(name_of(e)) + "` | " + told + " | "));
    const beck::error_code ec = e;
    CHECK(!contains(ec.message(), "Unknown"));
    for (std::size_t j = 0; j < i; ++j) {
      const beck::error_code other = static_cast<stream_error>(j + 1);
      CHECK(ec.message() != other.message());
    }
  }
  CHECK(contains(stream_category().message(static_cast<int>(last) + 1), "Unknown"));
  CHECK(contains(stream_category().message(0), "Unknown"));
  const auto is = [](stream_error e, beck::errc what) { return make_error_code(e) == what; };
  CHECK(is(stream_error::pong_late, beck::errc::timed_out));
  CHECK(is(stream_error::close_late, beck::errc::timed_out));
  CHECK(is(stream_error::cut_short, beck::errc::connection_reset));
  CHECK(is(stream_error::message_too_long, beck::errc::message_size));
  CHECK(is(stream_error::bad_text, beck::errc::protocol_error));
  CHECK(!is(stream_error::closed, beck::errc::protocol_error));
}
