// SPDX-License-Identifier: BSL-1.0
// The over-aligned object is allocated separately.
#include "probe.hpp"

#include <cstdint>
#include <memory>

struct alignas(64) cache_line {
  volatile char bytes[64];
};

probe::task aligned_outside(int left) {
  auto line = std::make_unique<cache_line>();
  line->bytes[0] = 1;
  volatile auto address = reinterpret_cast<std::uintptr_t>(line.get());
  int below = 0;
  if (left > 0) below = co_await aligned_outside(left - 1);
  co_return below + (address % 64 == 0 ? 0 : line->bytes[0]);
}

int main() { return aligned_outside(16).run() == 0 ? 0 : 1; }
