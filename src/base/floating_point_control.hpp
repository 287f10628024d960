// SPDX-License-Identifier: BSL-1.0
// The part of a processor's state that setjmp(3) does not save. Written for x86-64, because
// fegetenv(3) and fesetenv(3) take longer than a switch of stacks.
#pragma once

#include <cfenv>

namespace beck::detail {

/// The rounding and the traps of floating-point operations at the time of its construction.
class floating_point_control {
 public:
#if defined(__x86_64__)
  floating_point_control() noexcept : sse_(__builtin_ia32_stmxcsr()) {
    __asm__ volatile("fnstcw %0" : "=m"(x87_));
  }
  void restore() const noexcept {
    __builtin_ia32_ldmxcsr(sse_);
    __asm__ volatile("fldcw %0" : : "m"(x87_));
  }

 private:
  unsigned sse_;
  unsigned short x87_ = 0;
#else
  floating_point_control() noexcept { std::fegetenv(&environment_); }
  void restore() const noexcept { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_;
#endif
};

}  // namespace beck::detail
