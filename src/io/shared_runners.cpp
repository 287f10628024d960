// SPDX-License-Identifier: BSL-1.0
// Running a shared loop. An idle thread waits in the kernel or at a futex, as the baton says; one
// that has taken an entry first sees to it that somebody waits in the kernel meanwhile, and that
// what it leaves in the queue finds a thread: a handler may block.
#include "io/shared_runners.hpp"

#include <algorithm>
#include <chrono>

#include <beck/base/assert.hpp>

#include "base/test_build.hpp"
#include "io/io_loop.hpp"
#include "io/virtual_threads.hpp"

namespace beck {
namespace {

constexpr std::int64_t nobody_waits = INT64_MIN;
/// While there is work, this many entries of a thread pass between two looks at the clock.
constexpr unsigned entries_between_looks = 16;

}  // namespace

void shared_runners::open(int wake_fd, virtual_threads* threads) noexcept {
  constexpr int called_by_name = 0;  // virtual threads wait for no descriptor
  threads_ = threads;
  baton_.open(threads == nullptr ? wake_fd : called_by_name);
}

void shared_runners::wake_ups::deliver(virtual_threads* threads) const noexcept {
  for (const baton::wake_up& owed : {work, other}) {
    if (threads == nullptr) {
      baton::deliver(owed);
      continue;
    }
    if (owed.sleepers != 0) threads->wake_sleepers(owed.word, owed.sleepers);
    if (owed.wake_fd >= 0) threads->wake_kernel();
  }
}

void shared_runners::meet_others() noexcept {
  if (threads_ != nullptr) threads_->meet();
}

void shared_runners::yield() noexcept {
  if (threads_ == nullptr) return real_atomics::yield();
  threads_->spin();
}

void shared_runners::call_everybody() noexcept {
  lock();
  wake_ups owed;
  owed.work = baton_.claim(baton::everybody);
  loop_.slot_.leave();
  owed.deliver(threads_);
}

// --- the lock
// ------------------------------------------------------------------------------------------

void shared_runners::lock() noexcept {
  constexpr unsigned spins_max = 200;
  unsigned spins = 0;
  while (!loop_.slot_.try_take(runner_slot::holder::borrower)) {
    if (loop_.inherited()) return;  // a child of fork has one thread; who held it is in the parent
    while (!loop_.slot_.looks_free() && ++spins < spins_max) {}
    if (spins >= spins_max) {  // its holder has lost its processor
      real_atomics::yield();
      spins = 0;
    }
  }
  loop_.runner_.refill();
}

void shared_runners::pause_lock() noexcept { loop_.slot_.leave(); }

void shared_runners::unlock() noexcept {
  const wake_ups owed = changes();
  virtual_threads* const threads = threads_;
  loop_.slot_.leave();  // from here on the loop may be gone
  owed.deliver(threads);
}

/// Whom new work and new deadlines concern.
shared_runners::wake_ups shared_runners::changes() noexcept {
  wake_ups owed;
  if (!loop_.queue_.empty()) owed.work = baton_.claim(1);
  if (wait_until_ != nobody_waits && loop_.next_deadline() < wait_until_) {
    wait_until_ = nobody_waits;  // it is told once
    owed.other = baton_.claim_kernel();
  }
  return owed;
}

// --- places
// --------------------------------------------------------------------------------------------

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

/// A thread inside run(): it has the lock, but while it runs an entry or waits.
class shared_runners::presence {
 public:
  presence(shared_runners& all, runner& where, bool nested) noexcept
      : all_(all),
        where_(where),
        nested_(nested),
        delivered_max_(where.delivered_max),
        before_(where.counters),
        bound_((all.lock(), all.loop_.runner_)) {
    if (nested_) {
      --all_.busy_;  // what is around it does not go on before it has returned
    } else {
      ++all_.inside_;
    }
  }
  ~presence() {
    where_.delivered_max = all_.loop_.stopped() ? 0 : delivered_max_;
    if (nested_) {
      ++all_.busy_;
    } else {
      --all_.inside_;
      count();
    }
    wake_ups owed;
    if (all_.loop_.stopped()) {
      owed.work = all_.baton_.claim(baton::everybody);
    } else {
      owed.other = all_.baton_.hand_on();
      if (!all_.loop_.queue_.empty() || all_.out_of_work()) owed.work = all_.baton_.claim(1);
    }
    virtual_threads* const threads = all_.threads_;
    all_.loop_.slot_.leave();
    owed.deliver(threads);
  }
  presence(const presence&) = delete;
  presence& operator=(const presence&) = delete;

 private:
  void count() noexcept {
    runner_counters& all = all_.loop_.runner_.counters;
    const runner_counters& mine = where_.counters;
    all.delivered += mine.delivered - before_.delivered;
    all.inline_completions += mine.inline_completions - before_.inline_completions;
    all.budget_stops += mine.budget_stops - before_.budget_stops;
    all.depth_max = std::max(all.depth_max, mine.depth_max);
  }

  shared_runners& all_;
  runner& where_;
  bool nested_;
  std::uint64_t delivered_max_;
  runner_counters before_;
  runner::binding bound_;
};

// --- running
// -------------------------------------------------------------------------------------------

std::size_t shared_runners::run(std::size_t handlers, std::int64_t deadline, bool blocking) {
  if (running_here()) return serve(*runner::current(), handlers, deadline, blocking);
  if (threads_ != nullptr) return threads_->run(handlers, deadline, blocking);
  return run_as_thread(handlers, deadline, blocking);
}

std::size_t shared_runners::run_as_thread(std::size_t handlers, std::int64_t deadline,
                                          bool blocking) {
  const place mine(*this, deadline, blocking);
  if (!mine) return 0;
  scope ambient(loop_.executor());
  runner where;
  where.ambient = &ambient;
  const runner::binding bound(where);
  return serve(where, handlers, deadline, blocking);
}

std::size_t shared_runners::serve(runner& where, std::size_t handlers, std::int64_t deadline,
                                  bool blocking) {
  const bool nested = where.is_inside(this);
  const runner::enclosure inside(where, this);
  const presence here(*this, where, nested);
  const std::uint64_t before = where.counters.delivered;
  const std::uint64_t most = handlers == SIZE_MAX ? UINT64_MAX : before + handlers;
  where.delivered_max = most;
  while (!loop_.stopped() && where.counters.delivered < most) {
    if (threads_ != nullptr && !threads_->may_stay()) break;
    if (!turn(where, deadline, blocking)) break;
  }
  return where.counters.delivered - before;
}

/// One entry, or one wait for some. False: run() returns.
bool shared_runners::turn(runner& where, std::int64_t deadline, bool blocking) {
  ++loop_.counters_.turns;
  loop_.take_mail();
  const bool look = loop_.queue_.empty() || turns_until_look_ == 0;
  turns_until_look_ = look ? entries_between_looks : turns_until_look_ - 1;
  if (look) loop_.expire_timers();
  if (!loop_.queue_.empty()) {
    if (!visiting_ && loop_.entries_since_visit_ >= io_loop::generation_entries_min)
      visit(turn_mode::busy, 0);
    if (loop_.queue_.empty()) return true;  // others have taken what was there
    run_entry(where);
    return !look || deadline == io_loop::no_deadline || loop_.system_->now() < deadline;
  }
  if (deadline != io_loop::no_deadline && loop_.system_->now() >= deadline) return false;
  if (out_of_work()) {
    loop_.end_.stop_here();
    return false;
  }
  if (blocking) {
    wait_for_work(deadline);
    return true;
  }
  if (visiting_) return false;  // who waits there queues what is ready
  visit(turn_mode::drain, 0);
  loop_.expire_timers();
  return !loop_.queue_.empty() || loop_.mail_.has_mail();
}

void shared_runners::run_entry(runner& where) {
  queue_entry* const entry = loop_.queue_.pop();
  ++loop_.counters_.hops;
  ++loop_.entries_since_visit_;
  ++busy_;
  wake_ups owed;
  if (!planted(planted_bug::kept_baton)) owed.other = baton_.hand_on();
  if (!loop_.queue_.empty()) owed.work = baton_.claim(1);
  loop_.slot_.leave();
  owed.deliver(threads_);
  meet_others();
  const runner::binding bound(where);
  try {
    where.run(entry);
  } catch (...) {
    lock();
    --busy_;
    throw;
  }
  if (threads_ != nullptr) threads_->end_step();
  lock();
  --busy_;
}

void shared_runners::wait_for_work(std::int64_t deadline) noexcept {
  if (visiting_ && wait_until_ == nobody_waits && !in_kernel_) {
    pause_lock();  // somebody is just asking the kernel what is ready
    yield();
    lock();
    return;
  }
  if (baton_.settle() == baton::seat::futex) {
    pause_lock();
    sleep(deadline);
    lock();
    return;
  }
  wait_until_ = std::min(loop_.next_deadline(), deadline);
  in_kernel_ = true;
  visit(turn_mode::wait, wait_until_);
  in_kernel_ = false;
  wait_until_ = nobody_waits;
  baton_.leave_kernel();
}

void shared_runners::sleep(std::int64_t deadline) noexcept {
  if (threads_ == nullptr) {
    baton_.sleep(deadline);
    return;
  }
  threads_->meet();
  baton_.sleep(deadline, [this](const auto& word, std::uint32_t expected, std::int64_t until) {
    return threads_->sleep(word, expected, until);
  });
}

void shared_runners::visit(turn_mode mode, std::int64_t deadline) noexcept {
  BECK_ASSERT(!loop_.inherited(),
              "an io_context was run in a child of fork; it belongs to the parent");
  visiting_ = true;
  loop_.driver_->turn(mode, deadline);
  visiting_ = false;
  loop_.entries_since_visit_ = 0;
}

bool shared_runners::out_of_work() const noexcept {
  return busy_ == 0 && loop_.queue_.empty() && loop_.out_of_work() &&
         (threads_ == nullptr || threads_->may_end());
}

}  // namespace beck
