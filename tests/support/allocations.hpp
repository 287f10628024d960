// SPDX-License-Identifier: BSL-1.0
// Allocations of the calling thread: counted, and one of them failed on request. The unit tests'
// binary replaces the global operator new for this.
#pragma once

#include <cstdint>

#include "support/report.hpp"

namespace beck::test {

// How often the calling thread has asked the general allocator for memory.
std::uint64_t allocations() noexcept;

// How many bytes it has asked for in all.
std::uint64_t allocated_bytes() noexcept;

// Whether this build can: a sanitizer may bring its own operator new.
bool counts_allocations();

// While it lives, the n-th allocation of this thread from now on throws std::bad_alloc (1 is the
// next one).
class allocation_fault {
 public:
  explicit allocation_fault(int n) noexcept;
  ~allocation_fault();
  allocation_fault(const allocation_fault&) = delete;
  allocation_fault& operator=(const allocation_fault&) = delete;

  // Whether it has come to that.
  bool fired() const noexcept;
};

}  // namespace beck::test

// At the beginning of a case that fails allocations.
#define NEEDS_ALLOCATION_FAULTS() \
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own")
