// SPDX-License-Identifier: BSL-1.0
// A count of the holders of an object. The standard header of atomics is too heavy for public
// headers, so the word is made of the compilers' builtins; it is a parameter because tests put a
// model in its place and count in every order in which threads may come.
#pragma once

namespace beck::detail {

/// An atomic integer with the operations that reference counts need; the memory order is in their
/// names.
class builtin_count {
 public:
  explicit builtin_count(long initial) noexcept : value_(initial) {}
  builtin_count(const builtin_count&) = delete;
  builtin_count& operator=(const builtin_count&) = delete;

  void add_relaxed(long change) noexcept { __atomic_fetch_add(&value_, change, __ATOMIC_RELAXED); }
  /// Adds `change` and returns the new value.
  long add_acq_rel(long change) noexcept {
    return __atomic_add_fetch(&value_, change, __ATOMIC_ACQ_REL);
  }

 private:
  long value_;
};

/// A count that begins with one holder. Thread: any holder.
template <class Count>
class basic_ref_count {
 public:
  /// Adds a holder. Relaxed: the caller is a holder already.
  void add() noexcept { count_.add_relaxed(1); }
  /// Removes a holder. Returns true if that was the last; everything that any holder did happened
  /// before.
  [[nodiscard]] bool drop() noexcept { return count_.add_acq_rel(-1) == 0; }

 private:
  Count count_{1};
};

using ref_count = basic_ref_count<builtin_count>;

}  // namespace beck::detail
