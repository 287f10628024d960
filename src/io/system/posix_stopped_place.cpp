// SPDX-License-Identifier: BSL-1.0
// getcontext(3), makecontext(3), swapcontext(3), setjmp(3).
#include "io/system/stopped_place.hpp"

extern "C" {
// Weak: each exists in a build with its sanitizer.
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void* __tsan_get_current_fiber();
// _longjmp(3) by a name of its own: <setjmp.h> replaces it, if _FORTIFY_SOURCE is defined, by a
// function that allows no other stack.
[[noreturn]] void beck_longjmp(__jmp_buf_tag* to, int value) noexcept __asm__("_longjmp");
}

namespace beck::detail {

void stopped_place::begin(void* stack, std::size_t bytes, void (*entry)()) noexcept {
  ::getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  ::makecontext(&context_, entry, 0);
  begins_ = true;
}

[[gnu::noinline]] void stopped_place::change(stopped_place& from, stopped_place& to) noexcept {
  if (__sanitizer_start_switch_fiber != nullptr || __tsan_get_current_fiber != nullptr) {
    ::swapcontext(&from.context_, &to.context_);
    return;
  }
  if (_setjmp(from.registers_) != 0) return;
  if (to.begins_) {
    to.begins_ = false;
    ::setcontext(&to.context_);
  }
  beck_longjmp(to.registers_, 1);
}

}  // namespace beck::detail
