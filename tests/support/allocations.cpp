// SPDX-License-Identifier: BSL-1.0
// The replaced allocation functions. They use malloc, so AddressSanitizer still sees every
// allocation and every free. They are weak, because ThreadSanitizer links its own, which then win.
#include "support/allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace beck::test {
namespace {

constinit thread_local std::uint64_t count = 0;
constinit thread_local std::uint64_t bytes_asked = 0;
constinit thread_local int countdown = 0;  // 0: no allocation is to fail
constinit thread_local bool has_fired = false;

}  // namespace

std::uint64_t allocations() noexcept { return count; }
std::uint64_t allocated_bytes() noexcept { return bytes_asked; }

bool counts_allocations() {
  const std::uint64_t before = count;
  ::operator delete(::operator new(1));
  return count != before;
}

allocation_fault::allocation_fault(int n) noexcept {
  countdown = n;
  has_fired = false;
}
allocation_fault::~allocation_fault() { countdown = 0; }
bool allocation_fault::fired() const noexcept { return has_fired; }

// Returns null if the allocation is chosen to fail, or there is no memory.
static void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  ++count;
  bytes_asked += bytes;
  if (countdown != 0 && --countdown == 0) {
    has_fired = true;
    return nullptr;
  }
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace beck::test

using beck::test::allocate;
using beck::test::allocate_or_throw;

[[gnu::weak]] void* operator new(std::size_t n) { return allocate_or_throw(n, 1); }
[[gnu::weak]] void* operator new[](std::size_t n) { return allocate_or_throw(n, 1); }
[[gnu::weak]] void* operator new(std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
[[gnu::weak]] void* operator new[](std::size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<std::size_t>(a));
}
[[gnu::weak]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return allocate(n, 1);
}
[[gnu::weak]] void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return allocate(n, 1);
}
[[gnu::weak]] void* operator new(std::size_t n, std::align_val_t a,
                                 const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
[[gnu::weak]] void* operator new[](std::size_t n, std::align_val_t a,
                                   const std::nothrow_t&) noexcept {
  return allocate(n, static_cast<std::size_t>(a));
}
[[gnu::weak]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
[[gnu::weak]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
