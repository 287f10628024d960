// SPDX-License-Identifier: BSL-1.0
// How a fuzzer changes tapes: as streams of choices, because random changes to their bytes would
// mostly give bytes that are no tape.
#pragma once

#include <cstddef>
#include <string>

#include "io/sim/sim_draws.hpp"
#include "support/small_random.hpp"

namespace beck::test {
using namespace detail;

/// Changes one to four things in a tape.
void mutate(sim_tape& tape, testing::small_random& random);

/// Takes each stream from one of two tapes, or its beginning from one and its end from the other.
sim_tape cross(const sim_tape& a, const sim_tape& b, testing::small_random& random);

/// The bytes of a tape, after its streams were cut until they are not more than `bytes_max`.
std::string encode_within(sim_tape tape, std::size_t bytes_max);

}  // namespace beck::test
