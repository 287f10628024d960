// SPDX-License-Identifier: BSL-1.0
// What a coroutine inherits from the one that awaits it: one pointer to a scope in each frame. A
// scope belongs to the root of a tree of tasks (or, later, to a timeout or a branch inside it) and
// outlives every frame below it.
#pragma once

#include <coroutine>

#include <beck/run/any_io_executor.hpp>

namespace beck {

/// The environment of a tree of tasks. Never copied and never moved; frames point to it.
class scope {
 public:
  explicit scope(any_io_executor executor) noexcept : executor_(std::move(executor)) {}
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Where the coroutines below this scope run.
  const any_io_executor& executor() const noexcept { return executor_; }

 private:
  any_io_executor executor_;
};

/// The scope of what runs on this thread when no task of ours surrounds it (a foreign coroutine
/// inside a handler): that of the context whose runner this is. Asserts outside of every run().
scope& ambient_scope() noexcept;

/// The scope of a suspended coroutine: its promise's, or the ambient one for foreign coroutine
/// types.
template <class Promise>
scope& scope_of(std::coroutine_handle<Promise> coroutine) noexcept {
  if constexpr (requires { coroutine.promise().current_scope(); }) {
    return coroutine.promise().current_scope();
  } else {
    return ambient_scope();
  }
}

}  // namespace beck
