// SPDX-License-Identifier: BSL-1.0
// The value is named first.
#include "probe.hpp"

probe::task body() {
  auto value = co_await probe::give(0);
  if (!value) co_return 5;
  co_return 6;
}

int main() { return body().run() == 5 ? 0 : 1; }
