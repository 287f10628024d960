// SPDX-License-Identifier: BSL-1.0
// The meeting of an initiation and its handler, which may run on different threads: each exchanges the phase
// once, and whoever comes second does what is left.
#include <beck/base/assert.hpp>
#include <beck/run/result_slot.hpp>

namespace beck {

scope& ambient_scope() noexcept {
  runner* const current = runner::current();
  BECK_ASSERT(current != nullptr && current->ambient != nullptr,
              "a coroutine without a scope was awaited outside of every context's run()");
  return *current->ambient;
}

void completion_slot::begin(const any_io_executor& executor, run_function deliver) noexcept {
  run = deliver;
  executor_ = &executor;
  phase_ = static_cast<unsigned char>(phase::initiating);
  executor.on_work_started();
}

// acq_rel: the second of the two sees what the first wrote, and the slot is only the second's.
completion_slot::phase completion_slot::enter(phase to) noexcept {
  return static_cast<phase>(
      __atomic_exchange_n(&phase_, static_cast<unsigned char>(to), __ATOMIC_ACQ_REL));
}

completion_slot::outcome completion_slot::end_initiation() noexcept {
  switch (enter(phase::waiting)) {
    case phase::filled:
      return outcome::completed;
    case phase::dropped:
      return outcome::dropped;
    case phase::initiating:
    case phase::waiting:
      break;
  }
  return outcome::pending;
}

void completion_slot::settle() noexcept { executor_->on_work_finished(); }

bool completion_slot::stay_suspended() noexcept {
  const outcome now = end_initiation();
  if (now == outcome::pending) return true;
  const outstanding_work home(executor(), true);
  if (now == outcome::dropped) return true;
  runner* const where = runner::current();
  if (where != nullptr && home.executor().running_in_this_thread() &&
      where->spend(runner::memory_weight)) {
    ++where->counters.inline_completions;
    return false;
  }
  home.executor().post(this);  // from here on the frame may be gone
  return true;
}

void completion_slot::filled() {
  if (enter(phase::filled) != phase::waiting) return;
  const outstanding_work home(executor(), true);
  home.executor().post(this);  // from here on the slot may be gone
}

void completion_slot::abandoned() noexcept {
  if (enter(phase::dropped) != phase::waiting) return;
  const outstanding_work home(executor(), true);
  run(this, nullptr);
}

}  // namespace beck
