// SPDX-License-Identifier: BSL-1.0
// The draws of a world: it has reels if it records or replays, and none if it only generates.
#include "io/sim/sim_draws.hpp"

#include <beck/base/assert.hpp>

namespace beck::detail {

std::uint64_t sim_reel::past_end() noexcept {
  ++beyond;
  BECK_ASSERT(beyond < beyond_max,
              "a program draws without end: past its end a tape is calm for ever");
  return 0;
}

sim_draws::sim_draws(std::uint64_t seed, bool recorded)
    : seed_(seed), reels_(recorded ? std::make_unique<sim_reel[]>(streams_max) : nullptr) {}

sim_draws::sim_draws(const sim_tape& tape)
    : seed_(tape.seed), reels_(std::make_unique<sim_reel[]>(streams_max)) {
  for (std::size_t i = 0; i < streams_max; ++i) {
    reels_[i].values = tape.streams[i];
    reels_[i].replays = true;
  }
}

sim_reel* sim_draws::reel(std::uint64_t stream) const noexcept {
  BECK_ASSERT(stream < streams_max, "a world has no stream of draws with this number");
  return reels_ == nullptr ? nullptr : &reels_[stream];
}

sim_tape sim_draws::tape() const {
  BECK_ASSERT(recorded(), "the draws of this world are not kept");
  sim_tape tape;
  tape.seed = seed_;
  for (std::size_t i = 0; i < streams_max; ++i) {
    const sim_reel& reel = reels_[i];
    std::size_t drawn = reel.replays ? reel.at : reel.values.size();
    while (drawn != 0 && reel.values[drawn - 1] == 0) --drawn;
    tape.streams[i].assign(reel.values.begin(),
                           reel.values.begin() + static_cast<std::ptrdiff_t>(drawn));
  }
  return tape;
}

}  // namespace beck::detail
