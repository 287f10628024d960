// SPDX-License-Identifier: BSL-1.0
// The waits of the threads of a shared loop: for its lock, in the kernel, or at a futex
// (idle_threads); and the wake-ups that a change requires. A driver that simulates the threads
// simulates their waits, too.
#include "io/shared/shared_runners.hpp"

#include <algorithm>

#include "io/loop/io_loop.hpp"
#include "io/shared/virtual_threads.hpp"

namespace beck::detail {
namespace {

constexpr std::int64_t nobody_waits = INT64_MIN;

}  // namespace

// --- the lock ------------------------------------------------------------------------------------

void shared_runners::lock() noexcept {
  unsigned spins = 0;
  while (!loop_.slot_.try_take(runner_slot::holder::borrower)) {
    if (loop_.core().is_forked_copy())
      return;  // a child of fork has one thread; the holder exists in the parent only
    while (!loop_.slot_.looks_free() && ++spins < real_atomics::spins_max) {}
    if (spins >= real_atomics::spins_max) {  // the holder was probably preempted
      real_atomics::yield();
      spins = 0;
    }
  }
  loop_.core().run_state.refill();
}

void shared_runners::pause_lock() noexcept { loop_.slot_.leave(); }

void shared_runners::unlock() noexcept {
  const wake_ups_owed owed = changes();
  virtual_threads* const threads = virtual_;
  loop_.slot_.leave();  // from here on the loop may be gone
  owed.deliver(threads);
}

// --- waking --------------------------------------------------------------------------------------

/// Returns the wake-ups that new entries in the shared queue and new deadlines require.
shared_runners::wake_ups_owed shared_runners::changes() noexcept {
  wake_ups_owed owed;
  if (!loop_.core().queue.empty()) owed.work = claim(1);
  if (wait_until_ != nobody_waits && loop_.next_deadline() < wait_until_) {
    wait_until_ = nobody_waits;  // the leader is woken once
    owed.other = counted(idle_threads_.claim_leader());
  }
  return owed;
}

idle_threads::wake_up shared_runners::claim(unsigned most) noexcept {
  return counted(idle_threads_.claim(most));
}

idle_threads::wake_up shared_runners::counted(idle_threads::wake_up owed) noexcept {
  if (owed.sleepers == 0 && owed.wake_fd < 0) return owed;
  wake_ups_ += owed.sleepers + (owed.wake_fd >= 0 ? 1 : 0);
  sleepers_.set(who_sleeps());
  return owed;
}

sleep_state::level shared_runners::who_sleeps() const noexcept {
  if (!idle_threads_.anybody_idle()) return sleep_state::level::nobody;
  return watched_ ? sleep_state::level::watched : sleep_state::level::unwatched;
}

void shared_runners::call_help(shared_thread& mine, sleep_state::level who) noexcept {
  if (who == sleep_state::level::watched && mine.queue.count() < worth_a_wake_up) return;
  lock();
  wake_ups_owed owed;
  owed.work = claim(1);
  loop_.slot_.leave();
  owed.deliver(virtual_);
}

// --- sleeping ------------------------------------------------------------------------------------

/// Waits until there may be something to do.
void shared_runners::sleep(shared_thread& mine, std::int64_t deadline) noexcept {
  // While this thread polled the kernel, the last active thread may have become idle; no thread
  // would wake this one.
  if (loop_.stopped() || out_of_work(mine)) return;
  const bool kernel = !in_kernel_;
  if (kernel) watched_ = active_ != 0;
  sleepers_.set(watched_ ? sleep_state::level::watched : sleep_state::level::unwatched);
  // entries that were queued before their threads could see that
  if (!watched_ && active_ != 0) steal(mine, 1);
  if (mine.queue.count() != 0) {
    sleepers_.set(who_sleeps());
    return;
  }
  if (mine.idle_polls != 0) mine.idle_polls_max = std::max(mine.idle_polls_max / 2, 1u);
  mine.idle_polls = 0;
  mine.woken = true;
  if (idle_threads_.begin_wait() == idle_threads::role::leader) {
    wait_in_kernel(watched_ ? std::min(deadline, loop_.core().sys->now() + watch_ns) : deadline);
  } else {
    pause_lock();
    wait_at_futex(deadline);
    lock();
  }
  sleepers_.set(who_sleeps());
}

void shared_runners::wait_in_kernel(std::int64_t deadline) noexcept {
  wait_until_ = std::min(loop_.next_deadline(), deadline);
  in_kernel_ = true;
  poll_kernel(poll_mode::wait, wait_until_);
  in_kernel_ = false;
  watched_ = false;
  wait_until_ = nobody_waits;
  idle_threads_.step_down();
}

// --- real and virtual threads --------------------------------------------------------------------

void shared_runners::open(int wake_fd, virtual_threads* threads) noexcept {
  constexpr int called_by_name = 0;  // virtual threads wait for no descriptor
  virtual_ = threads;
  idle_threads_.open(threads == nullptr ? wake_fd : called_by_name);
}

void shared_runners::wake_ups_owed::deliver_to(virtual_threads& threads) const noexcept {
  for (const idle_threads::wake_up* owed : {&work, &other, &outer}) {
    if (owed->sleepers != 0) threads.wake_sleepers(owed->word, owed->sleepers);
    if (owed->wake_fd >= 0) threads.wake_kernel();
  }
}

void shared_runners::meet_virtual_others() noexcept { virtual_->meet(); }

void shared_runners::yield() noexcept {
  if (virtual_ == nullptr) return real_atomics::yield();
  virtual_->spin();
}

void shared_runners::wait_at_futex(std::int64_t deadline) noexcept {
  if (virtual_ == nullptr) {
    idle_threads_.sleep(deadline);
    return;
  }
  virtual_->meet();
  idle_threads_.sleep(deadline,
                      [this](const auto& word, std::uint32_t expected, std::int64_t until) {
                        return virtual_->sleep(word, expected, until);
                      });
}

}  // namespace beck::detail
