// SPDX-License-Identifier: BSL-1.0
// A stop on its way down through scopes, whose number and depth are the user's: it uses no stack
// and runs nothing while anything is locked.
#pragma once

#include <beck/detail/scope.hpp>

namespace beck::detail {

/// Two steps. Scopes are told under their locks, which runs nothing; when all locks are given back,
/// finish() cancels what they wait for and calls the callbacks of their tokens. Meanwhile the
/// coroutines that are waiting stay where they are.
class stop_walk {
 public:
  stop_walk() noexcept = default;
  stop_walk(const stop_walk&) = delete;
  stop_walk& operator=(const stop_walk&) = delete;
  ~stop_walk() { finish(); }

  /// Tells a scope and everything below it. False: it was told before.
  bool tell(scope& top, stop_reason why) noexcept;
  /// The same for what `leaf` stands for, which `from` waits for or is about to.
  void tell_below(void* leaf, const wait_kind& kind, scope& from) noexcept;

  void finish() noexcept;

 private:
  scope* descend(scope& at, stop_reason why) noexcept;

  scope* first_ = nullptr;  // that wait for what is to be cancelled, linked by held_
  scope* last_ = nullptr;
  stop_chain told_;
};

}  // namespace beck::detail
