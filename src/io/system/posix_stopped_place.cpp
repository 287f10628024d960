// SPDX-License-Identifier: BSL-1.0
// getcontext(3), makecontext(3), swapcontext(3), setjmp(3), and the functions that tell sanitizers
// of a switch (sanitizer/common_interface_defs.h, sanitizer/tsan_interface.h).
#include "io/system/stopped_place.hpp"

#include <cstdlib>

#include "base/context_entry.hpp"
#include "base/floating_point_control.hpp"

extern "C" {
// Weak: each exists in a build with its sanitizer.
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old,
                                                   std::size_t* size_old);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
// _longjmp(3) by a name of its own: <setjmp.h> replaces it, if _FORTIFY_SOURCE is defined, by a
// function that allows no other stack.
[[noreturn]] void beck_longjmp(__jmp_buf_tag* to, int value) noexcept __asm__("_longjmp");
}

namespace beck::detail {
namespace {
bool is_sanitized() noexcept {
  return __sanitizer_start_switch_fiber != nullptr || __tsan_switch_to_fiber != nullptr;
}
}  // namespace

stopped_place::~stopped_place() {
  if (__tsan_destroy_fiber != nullptr && entry_ != nullptr) __tsan_destroy_fiber(fiber_);
}

void stopped_place::begin(void* stack, std::size_t bytes, void (*entry)()) noexcept {
  if (__tsan_create_fiber != nullptr && entry_ == nullptr) fiber_ = __tsan_create_fiber(0);
  entry_ = entry;
  bottom_ = stack;
  bytes_ = bytes;
  ::getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  begin_context<&stopped_place::enter>(context_, *this);
  if (is_sanitized()) return;
  // Goes to enter() and back at once. Later, the signal mask of now would be an old one.
  ucontext_t here;
  begun_by_ = &here;
  ::swapcontext(&here, &context_);
}

[[gnu::noinline]] void stopped_place::change(stopped_place& from, stopped_place& to) noexcept {
  to.arrived_from_ = &from;
  if (!is_sanitized()) {
    const floating_point_control kept;
    if (_setjmp(from.registers_) == 0) beck_longjmp(to.registers_, 1);
    kept.restore();
    return;
  }
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.bytes_);
  }
  if (__tsan_switch_to_fiber != nullptr) {
    from.fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.fiber_, 0);
  }
  ::swapcontext(&from.context_, &to.context_);
  from.arrive();
}

void stopped_place::enter() noexcept {
  if (!is_sanitized() && _setjmp(registers_) == 0) ::setcontext(begun_by_);
  arrive();
  entry_();
  std::abort();
}

// Says to AddressSanitizer that this stack is in use again, and learns from it the stack that was
// left: a thread's own is known only so.
void stopped_place::arrive() noexcept {
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  __sanitizer_finish_switch_fiber(fake_stack_, &arrived_from_->bottom_, &arrived_from_->bytes_);
}

}  // namespace beck::detail
