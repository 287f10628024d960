// SPDX-License-Identifier: BSL-1.0
// Stacks for the threads of a model. Their memory is kept from one execution to the next, also
// after one that failed.
#include "interleavings/fiber.hpp"

#include <cstdlib>

// Weak: they are there in a build with AddressSanitizer.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** fake_stack_save, const void* bottom,
                                                  std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* fake_stack_save, const void** bottom_old,
                                                   std::size_t* size_old);
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace beck::interleavings {
namespace {
// makecontext passes ints only; there is one thread.
fiber* leaving = nullptr;
fiber* arriving = nullptr;
}  // namespace

void fiber::begin(function body, unsigned number) {
  if (stack_ == nullptr) stack_ = std::make_unique<char[]>(stack_bytes);
  body_ = body;
  number_ = number;
  fake_stack_ = nullptr;
  bottom_ = stack_.get();
  bytes_ = stack_bytes;
  stopped_at_.begin(stack_.get(), stack_bytes, &fiber::enter);
}

void fiber::change(fiber& from, fiber& to) noexcept {
  leaving = &from;
  arriving = &to;
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.bytes_);
  }
  detail::stopped_place::change(from.stopped_at_, to.stopped_at_);
  from.arrive();
}

void fiber::enter() noexcept {
  fiber& self = *arriving;
  self.arrive();
  self.body_(self.number_);
  std::abort();
}

void fiber::arrive() noexcept {
  if (__sanitizer_finish_switch_fiber == nullptr) return;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &bytes);
  if (leaving->bottom_ == nullptr) {  // the thread's own stack, left for the first time
    leaving->bottom_ = bottom;
    leaving->bytes_ = bytes;
  }
}

leaks_allowed::leaks_allowed() noexcept {
  if (__lsan_disable != nullptr) __lsan_disable();
}
leaks_allowed::~leaks_allowed() {
  if (__lsan_enable != nullptr) __lsan_enable();
}

}  // namespace beck::interleavings
