// SPDX-License-Identifier: BSL-1.0
// The hashes of the first seeds as one number, to be compared between compilers.
#pragma once

#include <cstdint>

namespace beck::test {

/// Runs the schedules of seeds 0 to count - 1, without and with faults. `each`, if it is not null,
/// gets every seed and the hash of both.
std::uint64_t digest_of_seeds(std::uint64_t count,
                              void (*each)(std::uint64_t seed, std::uint64_t hash));

}  // namespace beck::test
