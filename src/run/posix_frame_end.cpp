// SPDX-License-Identifier: BSL-1.0
// Stack for the destruction of coroutine frames. pthread_getattr_np(3) reports the bounds of a
// thread's own stack; when that runs low, makecontext(3) continues on a piece of memory from
// mmap(2). The code that runs there sees no difference: the thread is the same, and the piece is
// left before destroy_with_more_stack() returns.
#include <beck/detail/frame_end.hpp>

#include <algorithm>
#include <cstddef>

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/context_entry.hpp"

// Weak: defined only in a build with AddressSanitizer.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old,
                                                   std::size_t* size_old);
}

namespace beck::detail {

thread_local constinit std::uintptr_t stack_room::floor_ [[gnu::tls_model("initial-exec")]] = 0;
thread_local constinit std::uintptr_t stack_room::bytes_ [[gnu::tls_model("initial-exec")]] = 0;

/// Sets the bounds of the stack in use for its lifetime, and restores the previous ones.
class stack_change {
 public:
  static constexpr std::size_t piece_bytes = 1024 * 1024;
  static constexpr std::size_t guard_bytes = 64 * 1024;  // a multiple of every page size
  /// The bytes kept free for the destruction of one frame without the frames nested in it: for the
  /// destructors of the user's objects.
  static constexpr std::size_t reserve_max = 64 * 1024;
  /// The bytes assumed to be left of a stack whose bounds are unknown, such as a user's fiber.
  static constexpr std::size_t assumed_bytes = 32 * 1024;

  stack_change(std::uintptr_t bottom, std::size_t bytes) noexcept
      : floor_(stack_room::floor_), bytes_(stack_room::bytes_) {
    set(bottom, bytes);
  }
  ~stack_change() {
    stack_room::floor_ = floor_;
    stack_room::bytes_ = bytes_;
  }
  stack_change(const stack_change&) = delete;
  stack_change& operator=(const stack_change&) = delete;

  /// Asks for the bounds of the calling thread's own stack; needed once for each thread.
  static void learn() noexcept {
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
    void* bottom = nullptr;
    std::size_t bytes = 0;
    ::pthread_attr_getstack(&attributes, &bottom, &bytes);
    ::pthread_attr_destroy(&attributes);
    set(reinterpret_cast<std::uintptr_t>(bottom), bytes);
  }
  static bool is_known() noexcept { return stack_room::bytes_ != 0; }
  /// Returns whether the caller runs on the stack whose bounds are known, in the reserve at its
  /// end.
  static bool is_low() noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return stack_room::floor_ - here <= reserve_max;
  }

 private:
  static void set(std::uintptr_t bottom, std::size_t bytes) noexcept {
    const std::size_t reserve = std::min(bytes / 4, reserve_max);
    stack_room::floor_ = bottom + reserve;
    stack_room::bytes_ = bytes - reserve;
  }

  std::uintptr_t floor_;
  std::uintptr_t bytes_;
};

namespace {

/// A piece of stack, and the contexts that lead to it and back.
struct stack_piece {
  std::coroutine_handle<> frame;
  char* memory;
  ucontext_t there;
  ucontext_t back;
  void* fake_stack = nullptr;
  const void* old_bottom = nullptr;
  std::size_t old_bytes = 0;

  /// Destroys the frame on the piece. Returns on the caller's stack.
  void run() noexcept;
  /// Destroys the frame; called on the piece.
  void arrive() noexcept;
};

void stack_piece::arrive() noexcept {
  if (__sanitizer_finish_switch_fiber != nullptr)
    __sanitizer_finish_switch_fiber(nullptr, &old_bottom, &old_bytes);
  frame.destroy();
  if (__sanitizer_start_switch_fiber != nullptr)
    __sanitizer_start_switch_fiber(nullptr, old_bottom, old_bytes);
}

void stack_piece::run() noexcept {
  char* const bottom = memory + stack_change::guard_bytes;
  ::getcontext(&there);
  there.uc_stack.ss_sp = bottom;
  there.uc_stack.ss_size = stack_change::piece_bytes;
  there.uc_link = &back;
  begin_context<&stack_piece::arrive>(there, *this);
  const stack_change here(reinterpret_cast<std::uintptr_t>(bottom), stack_change::piece_bytes);
  if (__sanitizer_start_switch_fiber != nullptr)
    __sanitizer_start_switch_fiber(&fake_stack, bottom, stack_change::piece_bytes);
  ::swapcontext(&back, &there);
  if (__sanitizer_finish_switch_fiber != nullptr)
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
}

/// Destroys `frame` on a new piece of stack. If there is no memory for one, destroys it on the
/// caller's stack, which may overflow.
void destroy_on_piece(std::coroutine_handle<> frame) noexcept {
  constexpr std::size_t bytes = stack_change::guard_bytes + stack_change::piece_bytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return frame.destroy();
  ::mprotect(memory, stack_change::guard_bytes, PROT_NONE);
  stack_piece piece{frame, static_cast<char*>(memory), {}, {}};
  piece.run();
  ::munmap(memory, bytes);
}

}  // namespace

void destroy_with_more_stack(std::coroutine_handle<> frame) noexcept {
  if (!stack_change::is_known()) stack_change::learn();
  if (stack_room::is_left()) return frame.destroy();
  if (stack_change::is_known() && stack_change::is_low()) return destroy_on_piece(frame);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const stack_change unknown(here - stack_change::assumed_bytes, 2 * stack_change::assumed_bytes);
  frame.destroy();
}

}  // namespace beck::detail
