// SPDX-License-Identifier: BSL-1.0
// The loop's body takes the value and leaves.
#include "probe.hpp"

int rounds = 0;

probe::task body() {
  for (;;) {
    auto more = co_await probe::give(rounds < 5);
    if (!more) break;
    ++rounds;
  }
  co_return rounds;
}

int main() { return body().run() == 5 ? 0 : 1; }
