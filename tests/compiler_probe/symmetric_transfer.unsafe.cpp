// SPDX-License-Identifier: BSL-1.0
// A million awaits by symmetric transfer, which is no tail call below -O2 (g++) or -O1 (clang): the
// stack grows.
#include "probe.hpp"

probe::task body() {
  int sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum += co_await probe::give(1);
  co_return sum == 1'000'000 ? 5 : 6;
}

int main() { return body().run() == 5 ? 0 : 1; }
