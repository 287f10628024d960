// SPDX-License-Identifier: BSL-1.0
// The end of a coroutine frame. A frame destroys the objects in it, and those may be other frames,
// to any depth: tasks in parameters, branches, generators. So each end looks at the room that is
// left on the stack, and continues on another stack where there is little.
#pragma once

#include <coroutine>
#include <cstdint>

namespace beck::detail {

/// The part of the current stack in which frames may be destroyed inside one another: all but its
/// lowest part.
class stack_room {
 public:
  /// Returns whether the caller's frame is in that part.
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

/// Destroys a frame where there is little room left on the stack.
[[gnu::cold]] void destroy_with_more_stack(std::coroutine_handle<> frame) noexcept;

/// Destroys a suspended coroutine. An exception from a destructor ends the program.
inline void destroy_frame(std::coroutine_handle<> frame) noexcept {
  if (stack_room::is_left()) [[likely]] {
    frame.destroy();
  } else {
    destroy_with_more_stack(frame);
  }
}

}  // namespace beck::detail
