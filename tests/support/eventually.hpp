// SPDX-License-Identifier: BSL-1.0
// Waits for a state of other threads that cannot be awaited. The time is a bound, not a
// measurement.
#pragma once

#include <chrono>
#include <thread>

namespace beck::test {

// Waits until `done()` returns true, and returns true. Returns false after ten seconds, so that a
// case fails instead of hanging.
template <class Done>
bool eventually(Done done) {
  const auto given_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > given_up) return done();
    std::this_thread::yield();
  }
  return true;
}

}  // namespace beck::test
