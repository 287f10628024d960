// SPDX-License-Identifier: BSL-1.0
// The generator, the reduction of a number to a range (the high half of a product), and recording
// and replaying.
#include "io/sim/sim_random.hpp"

#include <bit>

#include "io/sim/sim_draws.hpp"

namespace beck::detail {
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

sim_generator::sim_generator(std::uint64_t seed, std::uint64_t stream) noexcept {
  std::uint64_t state = seed;
  state = splitmix(state) ^ stream;
  for (std::uint64_t& word : state_) word = splitmix(state);
}

std::uint64_t sim_generator::next() noexcept {
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

std::uint64_t sim_generator::below(std::uint64_t bound) noexcept {
  if (bound == 0) return next();
  // Biased by less than bound / 2^64. It is always one draw, so that a recorded run replays draw by
  // draw.
  return static_cast<std::uint64_t>((uint128{next()} * bound) >> 64);
}

sim_random::sim_random(std::uint64_t seed, std::uint64_t stream) noexcept
    : generator_(seed, stream) {}

sim_random::sim_random(sim_draws& draws, std::uint64_t stream) noexcept
    : generator_(draws.seed(), stream), reel_(draws.reel(stream)) {}

std::int64_t sim_random::between(std::int64_t low, std::int64_t high) noexcept {
  if (low == high) return low;
  // The width wraps to 0 for the whole range.
  const auto width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw(width));
}

std::uint64_t sim_random::taped(std::uint64_t bound) noexcept {
  if (!reel_->replays) return reel_->record(generator_.below(bound));
  return reel_->replay(bound);
}

bool sim_random::taped_chance(sim_probability p) noexcept {
  if (!reel_->replays) return reel_->record((generator_.next() >> 32) < p.share() ? 1 : 0) != 0;
  return reel_->replay(2) != 0;
}

}  // namespace beck::detail
