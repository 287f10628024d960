// SPDX-License-Identifier: BSL-1.0
// The generator's two steps, and a reduction to a range by the high half of a product.
#include "io/sim/sim_random.hpp"

#include <bit>

namespace beck {
namespace {

__extension__ using uint128 = unsigned __int128;

std::uint64_t splitmix(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

sim_random::sim_random(std::uint64_t seed, std::uint64_t stream) noexcept {
  std::uint64_t state = seed;
  state = splitmix(state) ^ stream;
  for (std::uint64_t& word : state_) word = splitmix(state);
}

std::uint64_t sim_random::next() noexcept {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t sim_random::below(std::uint64_t bound) noexcept {
  // Biased by less than bound / 2^64; always one draw, so that a recorded run replays draw by draw.
  return static_cast<std::uint64_t>((uint128{next()} * bound) >> 64);
}

std::int64_t sim_random::between(std::int64_t low, std::int64_t high) noexcept {
  const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (width == UINT64_MAX) return static_cast<std::int64_t>(next());
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + below(width + 1));
}

}  // namespace beck
