// SPDX-License-Identifier: BSL-1.0
// A co_await in a condition of a coroutine that has no local variable at its outermost level: g++
// 12 resumes nowhere.
#include "probe.hpp"

int result = 0;

probe::task body() {
  switch (co_await probe::give(1)) {
    case 1:
      result = 5;
      break;
    default:
      result = 6;
  }
  co_return result;
}

int main() { return body().run() == 5 ? 0 : 1; }
