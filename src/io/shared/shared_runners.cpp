// SPDX-License-Identifier: BSL-1.0
// Runs a shared loop. A thread runs its own entries, and looks at the shared state now and then. A
// thread that finds nothing waits in the kernel or at a futex (idle_threads). While others are
// active, the one in the kernel looks at their queues from time to time, so that a thread with few
// entries need not wake any other.
#include "io/shared/shared_runners.hpp"

#include <algorithm>
#include <chrono>

#include "base/test_build.hpp"
#include "io/loop/io_loop.hpp"
#include "io/shared/virtual_threads.hpp"

namespace beck::detail {
namespace {

/// The number of its own entries after which a thread looks at the shared state.
constexpr unsigned entries_between_polls = 32;
/// The most entries that a thread takes from the shared queue if others are inside run(), too.
constexpr unsigned batch_max = 32;
/// The number of entries after which a thread attempts reads that are due, although it has more.
constexpr unsigned entries_between_rotations = 1024;
/// A thread with fewer than few_entries steals from one with more than many_entries, although both
/// are active.
constexpr unsigned few_entries = 8;
constexpr unsigned many_entries = 32;
/// The most polls without a result that a thread makes before it sleeps, while others are active.
constexpr unsigned idle_polls_most = 16;

}  // namespace

/// Holds the lock, and then delivers the wake-ups that are owed.
class shared_runners::lock_guard {
 public:
  explicit lock_guard(shared_runners& all) noexcept
      : all_(all), bound_((all.lock(), all.loop_.core().run_state)) {}
  ~lock_guard() {
    virtual_threads* const threads = all_.virtual_;
    all_.loop_.slot_.leave();
    owed.deliver(threads);
  }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

  wake_ups_owed owed;

 private:
  shared_runners& all_;
  runner::binding bound_;
};

void shared_runners::call_everybody() noexcept {
  lock_guard held(*this);
  held.owed.work = claim(idle_threads::everybody);
}

// --- places --------------------------------------------------------------------------------------

class shared_runners::place {
 public:
  place(shared_runners& all, std::int64_t deadline, bool blocking) : all_(all) {
    std::unique_lock lock(all_.places_mutex_);
    const auto is_free = [this] { return all_.places_ != 0; };
    if (!is_free() && blocking) {
      ++all_.waiting_for_place_;
      if (deadline == io_loop::no_deadline) {
        all_.place_free_.wait(lock, is_free);
      } else {
        all_.place_free_.wait_until(
            lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline)),
            is_free);
      }
      --all_.waiting_for_place_;
    }
    if (!is_free()) return;
    --all_.places_;
    taken_ = true;
  }
  ~place() {
    if (!taken_) return;
    const std::lock_guard lock(all_.places_mutex_);
    ++all_.places_;
    if (all_.waiting_for_place_ != 0) all_.place_free_.notify_one();
  }
  place(const place&) = delete;
  place& operator=(const place&) = delete;

  explicit operator bool() const noexcept { return taken_; }

 private:
  shared_runners& all_;
  bool taken_ = false;
};

/// Registers a thread that is inside run().
class shared_runners::run_guard {
 public:
  run_guard(shared_runners& all, shared_thread& mine) noexcept
      : all_(all), mine_(mine), delivered_max_(mine.delivered_max) {
    const lock_guard held(all_);
    all_.add_counters(mine_);
    if (mine_.depth++ == 0) {
      ++all_.inside_;
      mine_.next = all_.threads_;
      all_.threads_ = &mine_;
      before_ = mine_.counters;
    } else {
      ++all_.outer_;  // the handler around this run
      mine_.active = false;
      --all_.active_;
    }
  }
  ~run_guard() {
    lock_guard held(all_);
    io_loop& loop = all_.loop_;
    mine_.delivered_max = loop.stopped() ? 0 : delivered_max_;
    all_.add_counters(mine_);
    if (--mine_.depth == 0) {
      leave();
    } else {
      --all_.outer_;
      all_.set_active(mine_);
    }
    if (loop.stopped()) {
      held.owed.work = all_.claim(idle_threads::everybody);
    } else {
      held.owed.other = all_.counted(all_.idle_threads_.promote_follower());
      if (!loop.core().queue.empty() || all_.out_of_work(mine_)) held.owed.work = all_.claim(1);
    }
  }
  run_guard(const run_guard&) = delete;
  run_guard& operator=(const run_guard&) = delete;

 private:
  void leave() noexcept {
    mine_.fresh.return_to(all_.loop_.core().queue);
    mine_.due.return_to(all_.loop_.core().queue);
    mine_.queue.return_to(all_.loop_.core().queue);
    if (mine_.active) --all_.active_;
    --all_.inside_;
    shared_thread** at = &all_.threads_;
    while (*at != &mine_) at = &(*at)->next;
    *at = mine_.next;
    runner_counters& all = all_.loop_.core().run_state.counters;
    const runner_counters& now = mine_.counters;
    all.delivered += now.delivered - before_.delivered;
    all.inline_completions += now.inline_completions - before_.inline_completions;
    all.budget_stops += now.budget_stops - before_.budget_stops;
    all.depth_max = std::max(all.depth_max, now.depth_max);
  }

  shared_runners& all_;
  shared_thread& mine_;
  std::uint64_t delivered_max_;
  runner_counters before_;
};

// --- running -------------------------------------------------------------------------------------

std::size_t shared_runners::run(std::size_t handlers, std::int64_t deadline, bool blocking) {
  if (running_here()) return serve(here(), handlers, deadline, blocking);
  if (virtual_ != nullptr) return virtual_->run(handlers, deadline, blocking);
  return run_as_thread(handlers, deadline, blocking);
}

std::size_t shared_runners::run_as_thread(std::size_t handlers, std::int64_t deadline,
                                          bool blocking) {
  loop_.expect_own_process();
  const place free_place(*this, deadline, blocking);
  if (!free_place) return 0;
  scope ambient(loop_.executor());
  shared_thread mine;
  mine.ambient = &ambient;
  mine.idle_polls_max = idle_polls_most;
  const runner::binding bound(mine);
  return serve(mine, handlers, deadline, blocking);
}

std::size_t shared_runners::serve(shared_thread& mine, std::size_t handlers, std::int64_t deadline,
                                  bool blocking) {
  const runner::executor_frame inside(mine, this);
  const run_guard here(*this, mine);
  const std::uint64_t before = mine.counters.delivered;
  const std::uint64_t most = handlers == SIZE_MAX ? UINT64_MAX : before + handlers;
  mine.delivered_max = most;
  mine.entries_to_poll = 0;
  // Without time left: as poll(), for a limited number of iterations.
  const bool no_time = !in_time(deadline);
  const std::int64_t until = no_time ? io_loop::no_deadline : deadline;
  unsigned iterations_left = no_time ? io_loop::batch_entries_max : 0;
  while (!loop_.stopped() && mine.counters.delivered < most) {
    if (virtual_ != nullptr && !virtual_->may_stay()) break;
    if (!iterate(mine, until, blocking && !no_time)) break;
    if (no_time && --iterations_left == 0) break;
  }
  return mine.counters.delivered - before;
}

/// Runs one entry, or waits for some. Returns false if run() has to return.
bool shared_runners::iterate(shared_thread& mine, std::int64_t deadline, bool blocking) {
  const bool looks = mine.entries_to_poll == 0 || mine.queue.count() == 0;
  if (looks && !find_work(mine, deadline, blocking)) return false;
  queue_entry* const entry = mine.queue.pop();
  if (entry == nullptr) return true;  // there was none, or others have taken it
  if (mine.entries_to_poll != 0) --mine.entries_to_poll;
  if (mine.entries_to_rotate != 0) --mine.entries_to_rotate;
  ++mine.seen.entries_run;
  if (virtual_ == nullptr) {
    mine.run(entry);
  } else {
    virtual_->meet();
    mine.run(entry);
    virtual_->end_step();
  }
  return !looks || in_time(deadline);
}

bool shared_runners::in_time(std::int64_t deadline) const noexcept {
  return deadline == io_loop::no_deadline || loop_.core().sys->now() < deadline;
}

/// Looks at the shared state: mail, timers, events, entries. Returns false if run() has to return.
bool shared_runners::find_work(shared_thread& mine, std::int64_t deadline, bool blocking) {
  lock_guard held(*this);
  add_counters(mine);
  ++loop_.core().counters.iterations;
  mine.entries_to_poll = entries_between_polls;
  if (collect_entries(mine)) {
    begin(mine, held.owed);
    return true;
  }
  rest(mine, held.owed);
  const bool late = !in_time(deadline);  // then it still polls the kernel, once
  if (out_of_work(mine)) {
    if (mine.depth == 1) loop_.end_.stop_here();  // otherwise the handler around this run is work
    return false;
  }
  if (!idle(mine, deadline, blocking && !late)) return false;
  if (mine.queue.count() != 0) begin(mine, held.owed);
  return true;
}

bool shared_runners::collect_entries(shared_thread& mine) noexcept {
  loop_.take_mail();
  loop_.expire_timers();
  take_entries(mine);
  // Entries behind a blocking handler must not wait until nothing else is left.
  ++mine.polls;
  if (inside_ > 1 && loop_.core().sys->now() >= help_at_) help_others(mine);
  if (mine.queue.count() == 0 || mine.entries_to_rotate == 0) rotate(mine);
  if (mine.count() != 0) set_active(mine);  // before a poll, which releases the lock
  if (mine.queue.count() != 0) {
    if (!polling_ && loop_.entries_since_poll_ >= io_loop::batch_entries_min)
      poll_kernel(poll_mode::busy, 0);
  } else if (mine.due.count() != 0) {  // they were listed just now: new events come before them
    if (!polling_) poll_kernel(poll_mode::drain, 0);
    take_entries(mine);
    if (mine.queue.count() == 0) rotate(mine);
  }
  return mine.queue.count() != 0;
}

void shared_runners::rotate(shared_thread& mine) noexcept {
  mine.entries_to_rotate = entries_between_rotations;
  mine.queue.append(mine.due);
  mine.due.append(mine.fresh);
}

/// Looks for work elsewhere, or waits, when the shared queue is empty. Returns false if there is
/// nothing to wait for.
bool shared_runners::idle(shared_thread& mine, std::int64_t deadline, bool blocking) noexcept {
  if (active_ != 0 || !blocking) {  // otherwise a wait finds the same with one system call fewer
    if (!polling_) {
      poll_kernel(poll_mode::drain, 0);
      loop_.expire_timers();
      take_entries(mine);
    }
    if (mine.queue.count() == 0) steal(mine, mine.woken || !blocking ? 1 : 2);
    if (mine.queue.count() != 0) return true;
    if (!blocking) return !loop_.core().queue.empty() || loop_.mail_.has_mail();
    if (mine.idle_polls < mine.idle_polls_max) {  // the others may queue entries soon
      ++mine.idle_polls;
      return true;
    }
  }
  if (polling_ && !in_kernel_) {  // another thread is polling the kernel
    pause_lock();
    yield();
    lock();
    return true;
  }
  sleep(mine, deadline);
  return true;
}

/// Takes a share of the shared queue.
void shared_runners::take_entries(shared_thread& mine) noexcept {
  // A thread that is alone keeps the order of all entries.
  if (!loop_.core().queue.empty())
    mine.queue.append(loop_.core().queue, inside_ == 1 ? UINT32_MAX : batch_max);
}

/// Steals from a thread that has at least `least` entries.
void shared_runners::steal(shared_thread& mine, unsigned least) noexcept {
  for (shared_thread* other = threads_; other != nullptr; other = other->next) {
    if (other != &mine) steal_from(*other, mine, least);
    if (mine.queue.count() != 0) return;
  }
}

void shared_runners::steal_from(shared_thread& other, shared_thread& mine,
                                unsigned least) noexcept {
  entry_queue stolen;
  private_queue* from = &other.queue;
  if (least == 1 && from->count() == 0) from = other.due.count() != 0 ? &other.due : &other.fresh;
  if (from->count() < least) return;
  from->steal(stolen);
  mine.queue.append(stolen, UINT32_MAX);
}

/// Steals from threads that have not looked at the shared state for `watch_ns`, and from those with
/// many entries if the caller has few. Stealing from others would be a loss: the data of their
/// entries is in the caches of their processors.
void shared_runners::help_others(shared_thread& mine) noexcept {
  help_at_ = loop_.core().sys->now() + watch_ns;
  for (shared_thread* other = threads_; other != nullptr; other = other->next) {
    const bool stuck = other->polls == other->polls_before;
    const bool uneven = mine.count() < few_entries && other->count() > many_entries;
    if (other != &mine && (stuck || uneven)) steal_from(*other, mine, 1);
    other->polls_before = other->polls;
  }
}

/// Begins to run entries: another thread should wait in the kernel meanwhile, and help if there are
/// many.
void shared_runners::begin(shared_thread& mine, wake_ups_owed& owed) noexcept {
  set_active(mine);
  mine.woken = false;
  if (mine.idle_polls != 0) mine.idle_polls_max = idle_polls_most;
  mine.idle_polls = 0;
  if (!planted(planted_bug::kept_leadership))
    owed.other = counted(idle_threads_.promote_follower());
  const sleep_state::level who = who_sleeps();
  if (who == sleep_state::level::nobody) return;
  const unsigned least = who == sleep_state::level::watched ? worth_a_wake_up : 2;
  if (!loop_.core().queue.empty() || mine.count() >= least) owed.work = claim(1);
}

/// Marks the thread as active, so that the others know that there is work.
void shared_runners::set_active(shared_thread& mine) noexcept {
  if (!mine.active) ++active_;
  mine.active = true;
}

/// Marks the thread as not active: it has no entries.
void shared_runners::rest(shared_thread& mine, wake_ups_owed& owed) noexcept {
  if (!mine.active) return;
  mine.active = false;
  // A run() inside a handler may only wait for the end of the others.
  if (--active_ == 0 && outer_ != 0) owed.outer = claim(idle_threads::everybody);
}

void shared_runners::add_counters(shared_thread& mine) noexcept {
  context_stats& all = loop_.core().counters;
  all.entries_run += mine.seen.entries_run;
  all.attempts += mine.seen.attempts;
  all.wrong_attempts += mine.seen.wrong_attempts;
  all.speculations += mine.seen.speculations;
  all.retries += mine.seen.retries;
  loop_.entries_since_poll_ += mine.seen.entries_run;
  loop_.core().outstanding += static_cast<std::uint64_t>(mine.outstanding);
  mine.seen = context_stats();
  mine.outstanding = 0;
}

void shared_runners::poll_kernel(poll_mode mode, std::int64_t deadline) noexcept {
  loop_.expect_own_process();
  polling_ = true;
  loop_.drv().poll(mode, deadline);
  polling_ = false;
  loop_.entries_since_poll_ = 0;
}

bool shared_runners::out_of_work(const shared_thread& mine) const noexcept {
  const bool others_done = active_ == 0 && (outer_ == 0 || mine.depth > 1);
  return others_done && loop_.core().queue.empty() && loop_.out_of_work() &&
         (virtual_ == nullptr || virtual_->may_end());
}

}  // namespace beck::detail
