// SPDX-License-Identifier: BSL-1.0
//
// The child of the nested case: a coroutine that the parent's compiler cannot see.
#include "coroutine.hpp"

namespace raw {

child_task add_one(std::uint64_t x) { co_return x + 1; }

}  // namespace raw
