// SPDX-License-Identifier: BSL-1.0
// The times and the order of blocking calls.
#include "io/sim/sim_driver.hpp"

#include <cerrno>
#include <new>

#include "io/blocking/loop_jobs.hpp"
#include "io/loop/io_loop.hpp"
#include "io/sim/sim_system.hpp"
#include "io/sim/sim_world.hpp"

namespace beck::detail {

void sim_jobs::begin_next() noexcept {
  if (line_.may_begin() == 0) return;
  io_op& op = line_.begin();
  sim_world& world = sys_.world();
  const sim_profile& profile = world.profile();
  std::int64_t takes =
      world.scheduler().job_delay().between(profile.delay_ns_min, profile.delay_ns_max);
  if (world.faults().strikes(sim_fault::call_slow, &sys_.host()))
    takes += static_cast<std::int64_t>(world.faults().random().below(slow_ns_max));
  // submit() has reserved the room for it.
  performed_.push_back({sim_clock::later(world.clock().now(), takes), &op});
}

int sim_jobs::submit(io_op& op) noexcept {
  try {
    performed_.reserve(job_line::at_once_max);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  line_.push(op);
  begin_next();
  return 0;
}

bool sim_jobs::withdraw(io_op& op) noexcept { return line_.remove(op); }
io_op* sim_jobs::withdraw_any() noexcept { return line_.remove_any(); }

bool sim_jobs::wait_until_idle(std::int64_t) noexcept {
  while (!performed_.empty()) perform(next());
  return true;
}

/// Returns the index of the call that ends first; among equal ones the first that began.
std::size_t sim_jobs::next() const noexcept {
  std::size_t first = 0;
  for (std::size_t i = 1; i < performed_.size(); ++i) {
    if (performed_[i].end < performed_[first].end) first = i;
  }
  return first;
}

std::int64_t sim_jobs::next_end() const noexcept {
  return performed_.empty() ? INT64_MAX : performed_[next()].end;
}

void sim_jobs::end_due() noexcept {
  while (next_end() <= sys_.world().clock().now()) perform(next());
}

void sim_jobs::perform(std::size_t at) noexcept {
  io_op& op = *performed_[at].op;
  performed_.erase(performed_.begin() + static_cast<std::ptrdiff_t>(at));
  line_.end(op);
  begin_next();
  op.result = static_cast<int>(perform_blocking(sys_, op));
  sys_.world().note(sys_.host(), sim_note::job, static_cast<int>(op.kind), op.result);
  loop_.engine().jobs().take_back(op);
}

}  // namespace beck::detail
