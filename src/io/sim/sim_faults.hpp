// SPDX-License-Identifier: BSL-1.0
// Decides which faults strike: by their probabilities, and where one was injected. A fault that
// cannot strike draws nothing, so that a world without faults makes no draws for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/sim/sim_random.hpp"

namespace beck::detail {

class sim_draws;
class sim_host;
class sim_world;

/// The same values as testing::sim::fault, which documents each one.
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
  kinds,  ///< behind the last one: their number
};

inline constexpr auto sim_fault_kinds = static_cast<std::size_t>(sim_fault::kinds);

template <class T>
using sim_fault_table = std::array<T, sim_fault_kinds>;

const char* to_text(sim_fault which) noexcept;

/// The probability of each fault. `varied`: each is off in about a third of the seeds.
struct sim_fault_profile {
  sim_fault_table<sim_probability> probability{};
  bool varied = false;
};

/// Decides about the faults of a world. Thread: one.
class sim_faults {
 public:
  sim_faults(sim_world& world, sim_draws& draws, const sim_fault_profile& profile) noexcept;

  /// Takes new probabilities and, if they are varied, draws which faults are on.
  void configure(const sim_fault_profile& profile) noexcept;

  /// Returns whether the fault strikes at this occasion, a call of a program on `host`; nullptr if
  /// the occasion belongs to no host.
  bool strikes(sim_fault which, sim_host* host) noexcept {
    return (possible_ & bit(which)) != 0 && decide(which, host);
  }
  /// Lets the fault strike at the next `times` occasions on `host`.
  void inject(sim_fault which, sim_host& host, unsigned times) noexcept;

  bool is_on(sim_fault which) const noexcept { return (drawn_ & bit(which)) != 0; }
  std::uint64_t count(sim_fault which) const noexcept {
    return count_[static_cast<std::size_t>(which)];
  }
  /// Returns the draws for the size and place of a fault that has struck: 0 is the mildest.
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
  std::uint32_t drawn_ = 0;     // faults that are on by their probability
  std::uint32_t possible_ = 0;  // those, and faults that were injected somewhere
  sim_fault_table<std::uint64_t> count_{};
};

}  // namespace beck::detail
