// SPDX-License-Identifier: BSL-1.0
// Waiting for other threads where nothing tells that they are there: a bound, not a measurement.
#pragma once

#include <chrono>
#include <thread>

namespace beck::test {

// Whether `done()` holds at last. False after ten seconds, in which it never did: the case fails
// instead of hanging.
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
