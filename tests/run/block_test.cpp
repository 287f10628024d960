// SPDX-License-Identifier: BSL-1.0
// Recycled blocks: who gets them back, and that steady states reach the general allocator no more.
// AddressSanitizer builds do not recycle, so that every life is watched; what is about recycling is
// skipped.
#include <doctest/doctest.h>
#include <beck/detail/block.hpp>
#include <cstdint>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "base/sanitizers.hpp"
#include "support/allocations.hpp"
#include "support/report.hpp"

using beck::detail::allocate_block;
using beck::detail::free_block;
using beck::test::allocation_fault;
using beck::test::allocations;

namespace {

constexpr std::size_t recycled_bytes_max = 4096;

// A size that no other case asks for, so that no free list has it yet. Each call gives another one.
std::size_t fresh_size() {
  static std::size_t next = recycled_bytes_max;
  return next -= 64;
}

template <class Body>
void on_another_thread(Body body) {
  std::thread(body).join();
}

}  // namespace

TEST_CASE("blocks of all sizes are aligned to 16 bytes and as large as was asked for") {
  std::vector<void*> blocks;
  for (std::size_t bytes = 0; bytes < 2 * recycled_bytes_max; bytes = bytes * 2 + 1) {
    void* block = allocate_block(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 16 == 0);
    std::memset(block, 0x5a, bytes);
    blocks.push_back(block);
  }
  for (void* block : blocks) free_block(block);
}

TEST_CASE("more bytes than an object can have are refused, also where their sum would wrap") {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 62, SIZE_MAX / 2 + 1})
    CHECK_THROWS_AS(allocate_block(bytes), std::bad_alloc);
}

TEST_CASE("a block that was freed serves the next request of its size without an allocation") {
  if (beck::detail::address_sanitizer) SKIP_CASE("AddressSanitizer builds do not recycle");
  const std::size_t bytes = fresh_size();
  void* first = allocate_block(bytes);
  free_block(first);
  const auto before = allocations();
  void* second = allocate_block(bytes);
  CHECK(second == first);
  CHECK(allocations() == before);
  free_block(second);
}

TEST_CASE("block_misses counts what the general allocator had to give") {
  if (beck::detail::address_sanitizer) SKIP_CASE("AddressSanitizer builds do not recycle");
  const std::size_t bytes = fresh_size();
  const auto before = beck::detail::block_misses();
  void* first = allocate_block(bytes);
  void* second = allocate_block(bytes);
  CHECK(beck::detail::block_misses() == before + 2);
  free_block(first);
  free_block(second);
  free_block(allocate_block(bytes));
  CHECK(beck::detail::block_misses() == before + 2);
}

TEST_CASE("a block above 4 KiB goes back to the general allocator") {
  NEEDS_ALLOCATION_FAULTS();
  const auto before = allocations();
  free_block(allocate_block(recycled_bytes_max + 1));
  free_block(allocate_block(recycled_bytes_max + 1));
  CHECK(allocations() == before + 2);
}

TEST_CASE("blocks that another thread frees come back to the one that allocated them") {
  if (beck::detail::address_sanitizer) SKIP_CASE("AddressSanitizer builds do not recycle");
  const std::size_t bytes = fresh_size();
  for (const std::size_t count : {std::size_t(1), std::size_t(64), std::size_t(200)}) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; ++i) blocks.push_back(allocate_block(bytes));
    on_another_thread([&] {
      void* own = allocate_block(16);  // so that the thread has a cache of its own
      for (void* block : blocks) free_block(block);
      free_block(own);
    });
    const auto before = beck::detail::block_misses();
    for (void*& block : blocks) block = allocate_block(bytes);
    CHECK(beck::detail::block_misses() == before);
    for (void* block : blocks) free_block(block);
  }
}

TEST_CASE("a thread that never allocated may free") {
  if (beck::detail::address_sanitizer) SKIP_CASE("AddressSanitizer builds do not recycle");
  const std::size_t bytes = fresh_size();
  void* block = allocate_block(bytes);
  on_another_thread([&] {
    const auto before = allocations();
    free_block(block);
    CHECK(allocations() == before);  // freeing must not need memory
  });
  const auto before = beck::detail::block_misses();
  CHECK(allocate_block(bytes) == block);
  CHECK(beck::detail::block_misses() == before);
  free_block(block);
}

TEST_CASE("blocks outlive the thread that allocated them, and a later thread inherits its cache") {
  if (beck::detail::address_sanitizer) SKIP_CASE("AddressSanitizer builds do not recycle");
  const std::size_t bytes = fresh_size();
  void* kept = nullptr;
  on_another_thread([&] {
    kept = allocate_block(bytes);
    free_block(allocate_block(bytes));
  });
  std::memset(kept, 0, bytes);
  free_block(kept);
  on_another_thread([&] {
    free_block(allocate_block(16));
    const auto before = beck::detail::block_misses();
    free_block(allocate_block(bytes));
    CHECK(beck::detail::block_misses() == before);
  });
}

TEST_CASE("without memory a block is refused with bad_alloc and the next one is given (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  const std::size_t bytes = fresh_size();
  {
    const allocation_fault fault(1);
    CHECK_THROWS_AS(allocate_block(bytes), std::bad_alloc);
    CHECK(fault.fired());
  }
  {
    const allocation_fault fault(1);
    CHECK_THROWS_AS(allocate_block(recycled_bytes_max + 1), std::bad_alloc);
  }
  free_block(allocate_block(bytes));
}

TEST_CASE("a thread whose last destructors allocate leaves its free blocks to the next thread") {
  if (beck::detail::address_sanitizer) SKIP_CASE("AddressSanitizer builds do not recycle");
  const std::size_t bytes = fresh_size();
  struct late_user {
    ~late_user() { free_block(allocate_block(bytes)); }
    std::size_t bytes = 0;
  };
  void* left = nullptr;
  on_another_thread([&] {
    static thread_local late_user late;  // destroyed after what the first block makes
    late.bytes = bytes;
    left = allocate_block(bytes);
    free_block(left);
  });
  void* found = nullptr;
  on_another_thread([&] {
    found = allocate_block(bytes);
    free_block(found);
  });
  CHECK(found == left);
}
