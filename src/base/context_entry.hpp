// SPDX-License-Identifier: BSL-1.0
// The first function of a context of makecontext(3). Its arguments are ints, so the address of its
// object comes in two halves. No thread-local variable is needed.
#pragma once

#include <bit>
#include <cstdint>

#include <ucontext.h>

namespace beck::detail {

/// Makes `context`, which has its stack, start with a call of the member function on `object`.
template <auto Member, class Object>
void begin_context(ucontext_t& context, Object& object) noexcept {
  void (*const enter)(unsigned, unsigned) = [](unsigned high, unsigned low) {
    const std::uintptr_t address = std::uintptr_t{high} << 32 | low;
    (std::bit_cast<Object*>(address)->*Member)();
  };
  const auto address = reinterpret_cast<std::uintptr_t>(&object);
  ::makecontext(&context, reinterpret_cast<void (*)()>(enter), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
}

}  // namespace beck::detail
