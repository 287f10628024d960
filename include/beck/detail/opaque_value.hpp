// SPDX-License-Identifier: BSL-1.0
// A compiler barrier that keeps loads apart. When small structs that were just stored in pieces are
// copied at once, compilers load two pieces with one wide load; the processor cannot forward the
// pieces to it and stalls until they have reached the cache (10 to 30 ns, on paths that cost as
// much altogether).
#pragma once

#include <beck/detail/functions.hpp>

namespace beck::detail {

namespace functions {

/// Returns `value`, in a register of its own. Costs no instruction.
template <class T>
[[gnu::always_inline]] inline T opaque_value(T value) noexcept {
  __asm__("" : "+r"(value));
  return value;
}

}  // namespace functions

}  // namespace beck::detail
