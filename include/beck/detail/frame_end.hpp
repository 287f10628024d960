// SPDX-License-Identifier: BSL-1.0
// The end of a coroutine frame. A frame destroys what it holds, and that may be other frames, to
// any depth: tasks in parameters, branches, generators. So each end looks at the room that is left
// on the stack, and goes on elsewhere where that is little.
#pragma once

#include <coroutine>
#include <cstdint>

namespace beck::detail {

/// The part of the stack that this thread runs on in which frames may be destroyed inside one
/// another: all but its lowest part.
class stack_room {
 public:
  static bool is_left() noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return here - floor_ < bytes_;  // below the floor this wraps
  }

 private:
  friend class stack_change;
  friend struct fiber_state;  // the simulator's threads have stacks of their own

  static thread_local constinit std::uintptr_t floor_ [[gnu::tls_model("initial-exec")]];
  static thread_local constinit std::uintptr_t bytes_ [[gnu::tls_model("initial-exec")]];
};

/// Destroys a frame where there is little room left.
[[gnu::cold]] void destroy_with_more_stack(std::coroutine_handle<> frame) noexcept;

/// Destroys a suspended coroutine. What its objects throw ends the program.
inline void destroy_frame(std::coroutine_handle<> frame) noexcept {
  if (stack_room::is_left()) [[likely]] {
    frame.destroy();
  } else {
    destroy_with_more_stack(frame);
  }
}

}  // namespace beck::detail
