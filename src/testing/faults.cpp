// SPDX-License-Identifier: BSL-1.0
// The ordinary profile. Faults that end a connection are rare enough for most conversations to end
// well, and common enough for a few hundred seeds to meet them.
#include <beck/testing/faults.hpp>

#include "io/sim/sim_faults.hpp"

namespace beck::testing::sim {
using namespace detail;

static_assert(fault_kinds == sim_fault_kinds);
static_assert(static_cast<int>(fault::loss) == static_cast<int>(sim_fault::loss));
static_assert(static_cast<int>(fault::silence) == static_cast<int>(sim_fault::silence));
static_assert(static_cast<int>(fault::short_write) == static_cast<int>(sim_fault::short_write));
static_assert(static_cast<int>(fault::backlog_full) == static_cast<int>(sim_fault::backlog_full));
static_assert(static_cast<int>(fault::date_set) == static_cast<int>(sim_fault::date_set));
static_assert(static_cast<int>(fault::sync_failed) == static_cast<int>(sim_fault::sync_failed));
static_assert(static_cast<int>(fault::boundary) == static_cast<int>(sim_fault::boundary));
static_assert(static_cast<int>(fault::duplication) == static_cast<int>(sim_fault::duplication));
static_assert(static_cast<int>(fault::call_slow) == static_cast<int>(sim_fault::call_slow));

const char* to_string(fault which) noexcept { return to_text(static_cast<sim_fault>(which)); }

faults::faults() noexcept {
  set(fault::loss, 0.01).set(fault::reordering, 0.05).set(fault::stall, 0.02);
  set(fault::reset, 0.001).set(fault::end, 0.001);
  set(fault::tiny_buffers, 0.1).set(fault::short_read, 0.05).set(fault::short_write, 0.05);
  set(fault::connect_refused, 0.01).set(fault::connect_timed_out, 0.005);
  set(fault::backlog_full, 0.02).set(fault::accept_aborted, 0.02);
  set(fault::accept_exhausted, 0.02).set(fault::close_interrupted, 0.05);
  set(fault::spurious_event, 0.05).set(fault::clock_jump, 0.0005).set(fault::date_set, 0.05);
  set(fault::device_error, 0.002).set(fault::disk_full, 0.002).set(fault::sync_failed, 0.01);
  set(fault::duplication, 0.05);
  set(fault::lookup_failed, 0.02).set(fault::call_slow, 0.02).set(fault::boundary, 0.02);
}

faults faults::none() noexcept {
  faults result;
  for (double& probability : result.probability_) probability = 0;
  return result;
}

}  // namespace beck::testing::sim
