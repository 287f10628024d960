// SPDX-License-Identifier: BSL-1.0
// The condition declares its value.
#include "probe.hpp"

int rounds = 0;

probe::task body() {
  while (auto left = co_await probe::give(5 - rounds)) rounds += left > 0;
  co_return rounds;
}

int main() { return body().run() == 5 ? 0 : 1; }
