// SPDX-License-Identifier: BSL-1.0
// The library's memory under test: measures how much a program uses, and makes allocations fail.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck::testing {

/// While it exists, every block that the library allocates in this thread (for operations with a
/// callback, posted functions, coroutine frames) is counted, and one of them can be refused.
/// Starting an operation then throws std::bad_alloc, and nothing has happened; completing never
/// allocates. Not counted: the memory of the program's own containers and of a context's tables.
/// Works on every backend; blocks are not recycled meanwhile. Thread: one object in a thread at a
/// time, destroyed on the thread that made it (asserted).
class watched_memory {
 public:
  /// Starts counting. Throws std::bad_alloc.
  watched_memory();
  /// Stops counting.
  ~watched_memory();
  watched_memory(const watched_memory&) = delete;
  watched_memory& operator=(const watched_memory&) = delete;

  /// Refuses the n-th allocation from now on: 1 is the next. 0: none.
  void fail_after(std::uint64_t n) noexcept;
  /// Returns the number of allocations.
  std::uint64_t allocations() const noexcept;
  /// Returns the number of allocations that were refused.
  std::uint64_t refused() const noexcept;
  /// Returns the bytes in blocks allocated since the start and not freed.
  std::size_t bytes_in_use() const noexcept;
  /// Returns the greatest value of bytes_in_use() so far.
  std::size_t bytes_max() const noexcept;

 private:
  struct state;
  state* state_;
};

}  // namespace beck::testing
