// SPDX-License-Identifier: BSL-1.0
// The version of base/version.hpp.
#include <beck/base/version.hpp>

#include <doctest/doctest.h>

#include <string>

TEST_CASE("the library's version is the one its headers name") {
  CHECK(std::string(beck::version()) == std::to_string(BECK_VERSION_MAJOR) + "." +
                                            std::to_string(BECK_VERSION_MINOR) + "." +
                                            std::to_string(BECK_VERSION_PATCH));
}
