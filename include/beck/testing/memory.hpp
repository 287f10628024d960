// SPDX-License-Identifier: BSL-1.0
// The library's memory under test: how much of it a program uses, and what becomes of a program
// that gets none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace beck::testing {

/// While it lives, every block that the library allocates in this thread (for operations with a
/// callback, posted functions, coroutine frames) is counted, and one of them can be refused.
/// Starting an operation then throws std::bad_alloc, and nothing has happened; completing never
/// allocates. Not counted: what the program's own containers and a context's tables take. On every
/// backend; blocks are not recycled meanwhile. Thread: one in a thread at a time, destroyed where
/// it was made (asserted).
class watched_memory {
 public:
  watched_memory();
  ~watched_memory();
  watched_memory(const watched_memory&) = delete;
  watched_memory& operator=(const watched_memory&) = delete;

  /// The n-th allocation from now on is refused: 1 is the next. 0: none.
  void fail_after(std::uint64_t n) noexcept;
  /// How often there was an allocation, and how often one was refused.
  std::uint64_t allocations() const noexcept;
  std::uint64_t refused() const noexcept;
  /// In blocks that were allocated since it was made: now, and at most.
  std::size_t bytes_in_use() const noexcept;
  std::size_t bytes_max() const noexcept;

 private:
  struct state;
  state* state_;
};

}  // namespace beck::testing
