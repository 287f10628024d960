// SPDX-License-Identifier: BSL-1.0
// The URLs of a client: those that are taken, and those that are refused.
#include <beck/redis/client.hpp>

#include <doctest/doctest.h>

#include <beck/io/io_context.hpp>

#include <stdexcept>
#include <string_view>

namespace redis = beck::redis;

TEST_CASE("redis client: malformed URLs are refused, and passwords not repeated") {
  beck::io_context ctx;
  for (const char* bad : {"",
                          "localhost",
                          "http://host",
                          "redis://",
                          "redis://host:",
                          "redis://host:99999",
                          "redis://host:port",
                          "redis://[::1",
                          "redis://[::1]x",
                          "redis://host/db",
                          "unix://",
                          "unix://path",
                          "redis://host?x=1",
                          "redis://host/1#x",
                          "unix:///p?x=1",
                          "unix:///p?db=x",
                          "redis://user:@host",
                          "redis://host?protocol=4",
                          "redis://host?protocol",
                          "redis://host?db",
                          "redis://host?db=1&",
                          "redis://host?db=1&x=2",
                          "redis://:%4@host",
                          "redis://:%zz@host"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(redis::client(ctx, bad), std::invalid_argument);
  }
  try {
    redis::client(ctx, "redis://u:hidden@host:x");
    FAIL_CHECK("no exception");
  } catch (const std::invalid_argument& e) {
    CHECK(std::string_view(e.what()).find("hidden") == std::string_view::npos);
  }
  for (const char* good :
       {"redis://host", "redis://[::1]:7000/2", "rediss://u:p%40@host/", "redis://:p@1.2.3.4:1",
        "unix:///tmp/s?db=3", "unix://u:p@/tmp/s", "redis://user@host", "valkey://host",
        "valkeys://u:p@host:1/2", "redis://host?db=3", "redis://host:1/?protocol=2&db=3",
        "unix:///tmp/s?protocol=3&db=1"}) {
    CAPTURE(good);
    CHECK_NOTHROW(redis::client(ctx, good));
  }
}
