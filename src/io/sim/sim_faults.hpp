// SPDX-License-Identifier: BSL-1.0
// Decides which faults strike: by their probabilities, and where somebody has asked for one. What
// cannot strike draws nothing, so a world without faults is as if there were none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/sim/sim_random.hpp"

namespace beck::detail {

class sim_draws;
class sim_host;
class sim_world;

/// testing::sim::fault, which says what each one is.
enum class sim_fault : std::uint8_t {
  loss,
  reordering,
  stall,
  reset,
  end,
  silence,
  tiny_buffers,
  short_read,
  short_write,
  connect_refused,
  connect_timed_out,
  backlog_full,
  accept_aborted,
  accept_exhausted,
  close_interrupted,
  spurious_event,
  clock_jump,
  date_set,
  lookup_failed,
  call_slow,
  duplication,
  device_error,
  disk_full,
  sync_failed,
  boundary,
};

inline constexpr std::size_t sim_fault_kinds = static_cast<std::size_t>(sim_fault::boundary) + 1;

template <class T>
using sim_fault_table = std::array<T, sim_fault_kinds>;

const char* to_text(sim_fault which) noexcept;

/// How probable each is; `varied`: a third of them is off in any seed.
struct sim_fault_profile {
  sim_fault_table<sim_probability> probability{};
  bool varied = false;
};

class sim_faults {
 public:
  sim_faults(sim_world& world, sim_draws& draws, const sim_fault_profile& profile) noexcept;

  /// Draws anew which faults are on.
  void configure(const sim_fault_profile& profile) noexcept;

  /// An occasion for a fault, in something that the program of `host` does; nullptr: in no host's.
  bool strikes(sim_fault which, sim_host* host) noexcept {
    return (possible_ & bit(which)) != 0 && decide(which, host);
  }
  /// The next `times` occasions on `host` are struck.
  void inject(sim_fault which, sim_host& host, unsigned times) noexcept;

  bool is_on(sim_fault which) const noexcept { return (drawn_ & bit(which)) != 0; }
  std::uint64_t count(sim_fault which) const noexcept {
    return count_[static_cast<std::size_t>(which)];
  }
  /// For the size and place of what has struck: 0 is the mildest.
  sim_random& random() noexcept { return severity_; }

 private:
  static constexpr std::uint32_t bit(sim_fault which) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(which);
  }
  bool decide(sim_fault which, sim_host* host) noexcept;

  sim_world& world_;
  sim_random decisions_;
  sim_random severity_;
  sim_random chosen_;
  sim_fault_profile profile_;
  std::uint32_t drawn_ = 0;     // may strike by their probability
  std::uint32_t possible_ = 0;  // and those that were asked for somewhere
  sim_fault_table<std::uint64_t> count_{};
};

}  // namespace beck::detail
