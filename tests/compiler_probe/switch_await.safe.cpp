// SPDX-License-Identifier: BSL-1.0
// The value is named first.
#include "probe.hpp"

probe::task body() {
  auto value = co_await probe::give(1);
  switch (value) {
    case 1:
      co_return 5;
    default:
      co_return 6;
  }
}

int main() { return body().run() == 5 ? 0 : 1; }
