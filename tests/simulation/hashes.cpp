// SPDX-License-Identifier: BSL-1.0
// FNV-1a over the hashes (isthe.com/chongo/tech/comp/fnv).
#include "simulation/hashes.hpp"

#include "simulation/schedule.hpp"

namespace beck::test {

std::uint64_t digest_of_seeds(std::uint64_t count,
                              void (*each)(std::uint64_t seed, std::uint64_t hash)) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const std::uint64_t hash = run_schedule(seed).hash * 31 + run_faulty_schedule(seed).hash;
    for (unsigned shift = 0; shift < 64; shift += 8) {
      digest = (digest ^ ((hash >> shift) & 0xff)) * 0x100000001b3;
    }
    if (each != nullptr) each(seed, hash);
  }
  return digest;
}

}  // namespace beck::test
