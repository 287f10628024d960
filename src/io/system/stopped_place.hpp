// SPDX-License-Identifier: BSL-1.0
// The place where the code of one stack stopped, to which a thread returns later. For the fibers of
// the simulator, and for those of the checker of interleavings.
#pragma once

#include <csetjmp>
#include <cstddef>

#include <ucontext.h>

namespace beck::detail {

/// A stopped place. setjmp(3) saves the registers, because each call of swapcontext(3) is a system
/// call, too: it exchanges signal masks, where here all stacks have the thread's. Builds with a
/// sanitizer, which knows swapcontext, call that.
class stopped_place {
 public:
  stopped_place() = default;
  stopped_place(const stopped_place&) = delete;
  stopped_place& operator=(const stopped_place&) = delete;

  /// Makes this the beginning of `entry`, which never returns, on an unused stack.
  void begin(void* stack, std::size_t bytes, void (*entry)()) noexcept;

  /// Goes on at `to`; returns when something goes on at `from`. Thread: the one on which `to`
  /// stopped.
  static void change(stopped_place& from, stopped_place& to) noexcept;

 private:
  ucontext_t context_{};
  std::jmp_buf registers_;
  bool begins_ = false;
};

}  // namespace beck::detail
