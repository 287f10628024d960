// SPDX-License-Identifier: BSL-1.0
//
// An assertion is the last line of defence: what it prints is all that a crash report will hold.
#include <doctest/doctest.h>

#include <beck/base/assert.hpp>
#include <beck/base/version.hpp>

#include "base/dies.hpp"

namespace {

constexpr int checked_half(int n) {
  BECK_ASSERT(n % 2 == 0, "n must be even");
  return n / 2;
}

TEST_CASE("an assertion that holds costs nothing visible and works in constant expressions") {
  static_assert(checked_half(8) == 4);
  int evaluated = 0;
  BECK_ASSERT(++evaluated == 1, "evaluated once");
  CHECK(evaluated == 1);
}

TEST_CASE("an assertion that fails names the place, the expression and the message, and aborts") {
  const std::string text = dies_with([] { checked_half(7); });
  CHECK(text.find("assert_test.cpp:") != std::string::npos);
  CHECK(text.find("assertion failed: n % 2 == 0: n must be even\n") != std::string::npos);
}

TEST_CASE("an assertion accepts what converts to bool explicitly only") {
  struct flag {
    explicit operator bool() const { return true; }
  };
  BECK_ASSERT(flag(), "true");
}

TEST_CASE("the compiled version is the one of the headers") {
  const std::string expected = std::to_string(BECK_VERSION_MAJOR) + "." +
                               std::to_string(BECK_VERSION_MINOR) + "." +
                               std::to_string(BECK_VERSION_PATCH);
  CHECK(beck::version() == expected);
  CHECK(BECK_VERSION == BECK_VERSION_MAJOR * 10000 + BECK_VERSION_MINOR * 100 + BECK_VERSION_PATCH);
}

}  // namespace
