// SPDX-License-Identifier: BSL-1.0
// An over-aligned local: the frame comes from plain operator new, which aligns for nothing larger
// than 16.
#include "probe.hpp"

#include <cstdint>

// Of several frames some start off a 64-byte line, whatever the allocator.
probe::task aligned_in_frame(int left) {
  alignas(64) volatile char line[64];
  line[0] = 1;
  volatile auto address = reinterpret_cast<std::uintptr_t>(&line);  // the compiler trusts alignas
  const int below = left > 0 ? co_await aligned_in_frame(left - 1) : 0;
  co_return below + (address % 64 == 0 ? 0 : line[0]);
}

int main() { return aligned_in_frame(16).run() == 0 ? 0 : 1; }
