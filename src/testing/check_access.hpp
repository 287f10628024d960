// SPDX-License-Identifier: BSL-1.0
// Access to private members of public classes, for the sources of this folder.
#pragma once

#include <beck/testing/check.hpp>
#include <beck/testing/tape.hpp>

#include "io/sim/sim_draws.hpp"

namespace beck::detail {
class sim_world;
}

namespace beck::testing::sim {
using namespace detail;

/// Returns the simulator below a world.
struct world_access {
  static sim_world& simulated(world& w) noexcept;
};

/// Reads the options of a check.
struct check_access {
  static std::uint64_t first(const check_options& how) noexcept { return how.first_; }
  static std::uint64_t count(const check_options& how) noexcept { return how.count_; }
  static const settings& world_settings(const check_options& how) noexcept { return how.settings_; }
  static bool twice(const check_options& how) noexcept { return how.twice_; }
  static bool trace(const check_options& how) noexcept { return how.trace_; }
  static bool shrink(const check_options& how) noexcept { return how.shrink_; }
  static std::size_t tries_max(const check_options& how) noexcept { return how.tries_max_; }
  static const tape* replay(const check_options& how) noexcept { return how.replay_; }
  static void tell_run(const check_options& how, std::uint64_t seed, std::uint64_t hash) {
    if (how.on_run_ != nullptr) how.on_run_(seed, hash, how.on_run_data_);
  }
  static const char* command(const check_options& how) noexcept { return how.command_; }
};

}  // namespace beck::testing::sim

namespace beck::testing::sim {
using namespace detail;

/// Converts between the tapes of users and those of the simulator.
struct tape_access {
  static tape make(const sim_tape& draws);
  static const sim_tape& draws_of(const tape& from) noexcept;
};

}  // namespace beck::testing::sim
