// SPDX-License-Identifier: BSL-1.0
// The library's memory under test: how much of it a program uses, and how a program behaves without
// any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck::testing {

/// As long as it lives, every block that the library allocates in this thread (for operations with
/// a callback, posted functions, coroutine frames) is counted, and one of them can be refused.
/// Starting an operation then throws std::bad_alloc, and nothing has happened; completing never
/// allocates. Not counted: the memory of the program's own containers and of a context's tables. On
/// every backend; blocks are not recycled meanwhile. Thread: one in a thread at a time, destroyed
/// where it was made (asserted).
class watched_memory {
 public:
  /// Starts to count. Throws std::bad_alloc.
  watched_memory();
  /// Stops to count.
  ~watched_memory();
  watched_memory(const watched_memory&) = delete;
  watched_memory& operator=(const watched_memory&) = delete;

  /// Refuses the n-th allocation from now on: 1 is the next. 0: none.
  void fail_after(std::uint64_t n) noexcept;
  /// Returns the number of allocations.
  std::uint64_t allocations() const noexcept;
  /// Returns the number of allocations that were refused.
  std::uint64_t refused() const noexcept;
  /// Returns the bytes in blocks that were allocated since the start and not freed.
  std::size_t bytes_in_use() const noexcept;
  /// Returns the largest value that bytes_in_use() has had.
  std::size_t bytes_max() const noexcept;

 private:
  struct state;
  state* state_;
};

}  // namespace beck::testing
