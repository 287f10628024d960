// SPDX-License-Identifier: BSL-1.0
//
// The child of the nested case: a coroutine that the parent's compiler cannot see.
#include "spawn_child.hpp"

beck::task<std::uint64_t> add_one(std::uint64_t x) { co_return x + 1; }
