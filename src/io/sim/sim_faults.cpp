// SPDX-License-Identifier: BSL-1.0
// Faults: one draw for each occasion of a fault that is on.
#include "io/sim/sim_faults.hpp"

#include "io/sim/sim_world.hpp"

namespace beck::detail {
namespace {

// Streams of their own, so that a fault that is undone on a tape does not change the other faults.
enum : std::uint64_t { decision_stream = 5, profile_stream = 7, severity_stream = 8 };
constexpr sim_probability on_in_a_seed(2.0 / 3);

constexpr sim_fault_table<const char*> names = {
    "loss",
    "reordering",
    "stall",
    "reset",
    "end",
    "silence",
    "tiny_buffers",
    "short_read",
    "short_write",
    "connect_refused",
    "connect_timed_out",
    "backlog_full",
    "accept_aborted",
    "accept_exhausted",
    "close_interrupted",
    "spurious_event",
    "clock_jump",
    "date_set",
    "lookup_failed",
    "call_slow",
    "duplication",
    "device_error",
    "disk_full",
    "sync_failed",
    "boundary",
};
static_assert(names.back() != nullptr);

}  // namespace

const char* to_text(sim_fault which) noexcept { return names[static_cast<std::size_t>(which)]; }

sim_faults::sim_faults(sim_world& world, sim_draws& draws,
                       const sim_fault_profile& profile) noexcept
    : world_(world),
      decisions_(draws, decision_stream),
      severity_(draws, severity_stream),
      chosen_(draws, profile_stream) {
  configure(profile);
}

void sim_faults::configure(const sim_fault_profile& profile) noexcept {
  profile_ = profile;
  drawn_ = 0;
  for (std::size_t i = 0; i < sim_fault_kinds; ++i) {
    if (profile.probability[i].share() == 0) continue;
    if (profile.varied && !chosen_.chance(on_in_a_seed)) continue;
    drawn_ |= bit(static_cast<sim_fault>(i));
  }
  possible_ |= drawn_;
}

bool sim_faults::decide(sim_fault which, sim_host* host) noexcept {
  const auto index = static_cast<std::size_t>(which);
  if (host != nullptr && host->injected[index] != 0) {
    --host->injected[index];
  } else if (!is_on(which) || !decisions_.chance(profile_.probability[index])) {
    return false;
  }
  ++count_[index];
  world_.note_fault(which, host);
  return true;
}

void sim_faults::inject(sim_fault which, sim_host& host, unsigned times) noexcept {
  host.injected[static_cast<std::size_t>(which)] += times;
  possible_ |= bit(which);
}

}  // namespace beck::detail
