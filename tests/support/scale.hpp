// SPDX-License-Identifier: BSL-1.0
// How much of a long test to run: all of it in the release build, a part where every step is slower
// (-O0, sanitizers). The presets of CMakePresets.json set BECK_TEST_SCALE, the divisor. Tests that
// would take minutes have two numbers; BECK_TEST_FULL=1 asks for the larger one.
#pragma once

#include <cstdlib>

namespace beck::test {

// Returns the number of rounds to run of a test with `full` rounds: at least one.
inline int scaled(int full) {
  const char* text = std::getenv("BECK_TEST_SCALE");
  const int divisor = text == nullptr ? 1 : std::atoi(text);
  return divisor <= 1 ? full : full / divisor + 1;
}

// Returns the number of rounds to run of a test whose `full` rounds are too many for every run:
// scales `usual`, or `full` with BECK_TEST_FULL=1.
inline int scaled(int usual, int full) {
  const char* text = std::getenv("BECK_TEST_FULL");
  return text != nullptr && *text == '1' ? full : scaled(usual);
}

}  // namespace beck::test
