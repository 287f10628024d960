// SPDX-License-Identifier: BSL-1.0
//
// The child of the nested case. It has a translation unit of its own, so that no compiler inlines
// it.
#pragma once

#include <beck/coro/task.hpp>
#include <cstdint>

beck::task<std::uint64_t> add_one(std::uint64_t x);
