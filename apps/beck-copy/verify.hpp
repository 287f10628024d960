// SPDX-License-Identifier: BSL-1.0
//
// --verify: both are read again and compared, byte by byte.
#pragma once

#include <cstdint>

#include "progress.hpp"
#include "source.hpp"
#include "target.hpp"

namespace beck_copy {

/// Before the copy. Throws failure if one of the two cannot be read twice.
void check_verifiable(const source& from, const target& to);

/// Throws failure, which names the first byte that differs, or that is missing.
void verify(const source& from, const target& to, std::uint64_t length, progress& shown);

}  // namespace beck_copy
