// SPDX-License-Identifier: BSL-1.0
// A co_await as the condition, in a coroutine that has no local variable at its outermost level:
// g++ 12 resumes nowhere.
#include "probe.hpp"

int rounds = 0;

probe::task body() {
  for (; co_await probe::give(rounds < 5);) ++rounds;
  co_return rounds;
}

int main() { return body().run() == 5 ? 0 : 1; }
