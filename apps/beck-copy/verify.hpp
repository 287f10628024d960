// SPDX-License-Identifier: BSL-1.0
//
// --verify: reads source and target again and compares them byte by byte.
#pragma once

#include <cstdint>

#include "progress.hpp"
#include "source.hpp"
#include "target.hpp"

namespace beck_copy {

/// Checks before the copy that both can be read again. Throws failure if not.
void check_verifiable(const source& from, const target& to);

/// Compares `length` bytes. Throws failure, which names the first byte that differs or is missing.
void verify(const source& from, const target& to, std::uint64_t length, progress& shown);

}  // namespace beck_copy
