// SPDX-License-Identifier: BSL-1.0
// The place where the code of one stack stopped, to which a thread returns later. The fibers of the
// simulator and those of the checker of interleavings are made of it.
#pragma once

#include <csetjmp>
#include <cstddef>

#include <ucontext.h>

namespace beck::detail {

/// A stopped place, on a stack that begin() was given, or on the one that change() left. setjmp(3)
/// saves the registers, because each call of swapcontext(3) is a system call, too: it exchanges
/// signal masks, where here all stacks have the thread's. Each stack has a rounding mode of its
/// own. Builds with a sanitizer, which knows swapcontext, call that, and tell the sanitizer of
/// every switch; there each stack has a signal mask, too.
class stopped_place {
 public:
  stopped_place() = default;
  ~stopped_place();
  stopped_place(const stopped_place&) = delete;
  stopped_place& operator=(const stopped_place&) = delete;

  /// Makes this the beginning of `entry`, which never returns, on a stack. Where the stack stopped
  /// before is forgotten, without destructors.
  void begin(void* stack, std::size_t bytes, void (*entry)()) noexcept;

  /// Goes on at `to`; returns when something goes on at `from`. Thread: the one on which `to`
  /// stopped.
  static void change(stopped_place& from, stopped_place& to) noexcept;

 private:
  void enter() noexcept;
  void arrive() noexcept;

  ucontext_t context_{};
  std::jmp_buf registers_;
  void (*entry_)() = nullptr;
  ucontext_t* begun_by_ = nullptr;         // where begin() waits for enter()
  stopped_place* arrived_from_ = nullptr;  // what the last change() to here left
  // For AddressSanitizer: its frames of this stack, and the stack.
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  // For ThreadSanitizer: what stands for this stack.
  void* fiber_ = nullptr;
};

}  // namespace beck::detail
