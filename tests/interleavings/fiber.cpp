// SPDX-License-Identifier: BSL-1.0
// Stacks for the threads of a model. Their memory is kept from one execution to the next, also
// after one that failed.
#include "interleavings/fiber.hpp"

// Weak: they are there in a build with AddressSanitizer.
extern "C" {
[[gnu::weak]] void __lsan_disable();
[[gnu::weak]] void __lsan_enable();
}

namespace beck::interleavings {
namespace {
fiber* arriving = nullptr;  // there is one thread
}  // namespace

void fiber::begin(function body, unsigned number) {
  if (stack_ == nullptr) stack_ = std::make_unique<char[]>(stack_bytes);
  body_ = body;
  number_ = number;
  stopped_at_.begin(stack_.get(), stack_bytes, &fiber::enter);
}

void fiber::change(fiber& from, fiber& to) noexcept {
  arriving = &to;
  detail::stopped_place::change(from.stopped_at_, to.stopped_at_);
}

void fiber::enter() noexcept {
  const fiber& self = *arriving;
  self.body_(self.number_);
}

leaks_allowed::leaks_allowed() noexcept {
  if (__lsan_disable != nullptr) __lsan_disable();
}
leaks_allowed::~leaks_allowed() {
  if (__lsan_enable != nullptr) __lsan_enable();
}

}  // namespace beck::interleavings
