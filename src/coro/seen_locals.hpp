// SPDX-License-Identifier: BSL-1.0
// Coroutine-local values for work that another tree of tasks does: an operation that a coroutine
// awaits may run code of the program.
#pragma once

#include <beck/coro/local_key.hpp>

namespace beck::detail {

/// The values that a waiting coroutine sees, for work that another tree does on its behalf: the
/// part of within() for that work. Valid while the coroutine waits, and so does `from`.
class seen_locals {
 public:
  /// A scope in which they are seen.
  class scope_type : public inner_scope {
   public:
    explicit scope_type(scope& outer) noexcept : inner_scope(outer) {}
    void show_all(const local_value* innermost) noexcept {
      if (innermost != nullptr) show(*innermost);
    }
  };

  seen_locals() noexcept = default;
  explicit seen_locals(const scope& from) noexcept : innermost_(from.locals()) {}

  static void enter(deferred_init<scope_type>& place, scope& outer) noexcept {
    place.emplace(outer);
  }
  void set_on(scope_type& inner) const noexcept { inner.show_all(innermost_); }

 private:
  const local_value* innermost_ = nullptr;
};

}  // namespace beck::detail
