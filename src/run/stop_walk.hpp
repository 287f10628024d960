// SPDX-License-Identifier: BSL-1.0
// The walk of a stop from a scope to all scopes below it. The user decides how many there are and
// how deep, so the walk does not recurse; and it calls no other code while it holds a lock.
#pragma once

#include <beck/detail/scope.hpp>

namespace beck::detail {

/// Stops scopes in two steps. tell() marks them as stopped, under their locks and without calling
/// other code. When all locks are released, finish() cancels the operations that the scopes wait
/// for and calls the callbacks of their tokens. Meanwhile the waiting coroutines are not resumed.
class stop_walk {
 public:
  stop_walk() noexcept = default;
  stop_walk(const stop_walk&) = delete;
  stop_walk& operator=(const stop_walk&) = delete;
  ~stop_walk() { finish(); }

  /// Marks `top` and all scopes below it as stopped. Returns false if `top` was stopped before.
  bool tell(scope& top, stop_reason why) noexcept;
  /// Marks the scopes behind `leaf` as stopped, which `from` waits for or is about to wait for.
  void tell_below(void* leaf, const wait_kind& kind, scope& from) noexcept;

  /// Cancels the leaves of the marked scopes and requests the stop of their tokens. Requires that
  /// the caller holds no lock.
  void finish() noexcept;

 private:
  scope* descend(scope& at, stop_reason why) noexcept;

  scope* first_ = nullptr;  // the scopes whose leaves finish() cancels, linked by `held_`
  scope* last_ = nullptr;
  stop_chain told_;  // the sources of the tokens of marked scopes
};

}  // namespace beck::detail
