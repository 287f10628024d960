// SPDX-License-Identifier: BSL-1.0
// The value is named first; the short cut is an if.
#include "probe.hpp"

int result = 0;

probe::task body() {
  if (result == 0) {
    auto value = co_await probe::give(1);
    if (value) result = 5;
  }
  co_return result;
}

int main() { return body().run() == 5 ? 0 : 1; }
