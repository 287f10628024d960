// SPDX-License-Identifier: BSL-1.0
// Misuse that a debug build detects: code of the user, which may do anything, is called while the
// calling thread holds a spin lock. Each thread counts the locks that it holds. With NDEBUG nothing
// of this is left.
#pragma once

#include <beck/base/assert.hpp>

namespace beck::detail {

#ifdef NDEBUG

struct held_locks {
  static void taken() noexcept {}
  static void given_back() noexcept {}
  static void must_be_none() noexcept {}
};

#else

struct held_locks {
  static void taken() noexcept { ++count; }
  static void given_back() noexcept { --count; }
  static void must_be_none() noexcept {
    BECK_ASSERT(count == 0, "code that the library does not know is called under a spin lock");
  }

 private:
  static inline thread_local constinit int count = 0;
};

#endif

}  // namespace beck::detail
