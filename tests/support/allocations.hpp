// SPDX-License-Identifier: BSL-1.0
// Counts the allocations of the calling thread, and lets a chosen one fail. The binary of the unit
// tests replaces the global operator new for this.
#pragma once

#include <cstdint>

#include "support/report.hpp"

namespace beck::test {

// Returns the number of times that the calling thread has asked the general allocator for memory.
std::uint64_t allocations() noexcept;

// Returns the number of bytes that the calling thread has asked for in all.
std::uint64_t allocated_bytes() noexcept;

// Returns whether this build counts allocations: a sanitizer may have its own operator new.
bool counts_allocations();

// While the object lives, the n-th allocation of this thread since its construction throws
// std::bad_alloc (1 is the next allocation).
class allocation_fault {
 public:
  explicit allocation_fault(int n) noexcept;
  ~allocation_fault();
  allocation_fault(const allocation_fault&) = delete;
  allocation_fault& operator=(const allocation_fault&) = delete;

  // Returns whether the allocation has failed.
  bool fired() const noexcept;
};

}  // namespace beck::test

// Skips a case that lets allocations fail, on builds that cannot. Stands at the beginning of the
// case.
#define NEEDS_ALLOCATION_FAULTS() \
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own")
