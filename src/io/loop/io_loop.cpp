// SPDX-License-Identifier: BSL-1.0
// Running a loop, in batches. After each poll of the kernel a mark is put at the end of the queue,
// and entries run until the mark is popped. So a batch of completions is never cut in the middle,
// and the kernel is entered once for each batch and not for each entry.
#include "io/loop/io_loop.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/timed_operation.hpp>

#include "base/test_build.hpp"
#include "io/driver/driver.hpp"
#include "io/driver/listed_sends.hpp"
#include "io/loop/program_end.hpp"
#include "io/shared/virtual_threads.hpp"
#include "io/system/posix_system.hpp"

namespace beck {
using namespace detail;

/// Makes the calling thread the runner for its lifetime; there is one at a time.
class io_loop::run_guard {
 public:
  /// Throws std::logic_error if another thread runs the loop.
  explicit run_guard(io_loop& loop) : run_guard(loop, [] { return false; }) {
    if (!is_runner()) refuse_second_thread();
  }
  /// Calls `wait()` if another thread runs the loop. It returns whether the caller has the slot.
  template <class Wait>
  run_guard(io_loop& loop, Wait&& wait);
  ~run_guard();
  run_guard(const run_guard&) = delete;
  run_guard& operator=(const run_guard&) = delete;

  /// Returns false if another thread runs the loop: then the caller must not.
  bool is_runner() const noexcept { return runs_; }
  bool nested() const noexcept { return nested_; }

  [[noreturn]] static void refuse_second_thread() {
    throw std::logic_error(
        "beck::io_context: another thread is running this context, and the caller cannot wait for "
        "it; a context for several threads is constructed with their number: io_context(2)");
  }

 private:
  io_loop& loop_;
  bool nested_;  // a handler runs or polls its own context
  bool runs_ = true;
  std::uint64_t delivered_max_ = 0;
  deferred_init<runner::binding> bound_;
};

template <class Wait>
io_loop::run_guard::run_guard(io_loop& loop, Wait&& wait) : loop_(loop), nested_(loop.on_runner()) {
  flush_sends();  // of the loop whose handler runs or polls this one
  if (!nested_) {
    loop.expect_own_process();
    runs_ = loop.slot_.take(runner_slot::holder::runner) || wait();
    if (!runs_) return;
  }
  delivered_max_ = loop.core().run_state.delivered_max;
  bound_.emplace(loop.core().run_state);
  if (!nested_) loop.mail_.run_by(mailbox_parts::this_thread());
}

io_loop::run_guard::~run_guard() {
  if (!runs_) return;
  // Restores the limit of the run() around this call; stop() ends both.
  loop_.core().run_state.delivered_max = loop_.stopped() ? 0 : delivered_max_;
  flush_sends();
  if (nested_) return;
  loop_.core().batches_sends = false;
  loop_.mail_.run_by(nullptr);
  bound_.reset();  // this thread is not the runner any more
  loop_.slot_.leave();
  loop_.carry_out_commands();
  loop_.call_waiting();
}

/// Waits until the thread that runs the loop has left it. Returns whether the caller holds the slot
/// now; otherwise its time has passed, or the loop was stopped.
bool io_loop::wait_for_turn(std::int64_t deadline, bool blocking) {
  if (drv().wake_handle() < 0) run_guard::refuse_second_thread();
  if (!blocking) return false;
  return turns_.wait([this] { return slot_.take(runner_slot::holder::runner); },
                     [this] { return stopped(); }, deadline);
}

void io_loop::call_waiting() noexcept {
  if (core().is_forked_copy()) return;  // they wait in the parent only
  stopped() ? turns_.all() : turns_.one();
}

std::size_t io_loop::run(std::size_t handlers, std::int64_t deadline, bool blocking) {
  note_thread();
  if (shared_runners* const shared = engine_.shared(); shared != nullptr)
    return shared->run(handlers, deadline, blocking);
  const run_guard running(*this,
                          [this, deadline, blocking] { return wait_for_turn(deadline, blocking); });
  if (!running.is_runner()) return 0;
  const std::uint64_t before = core().run_state.counters.delivered;
  const std::uint64_t most = handlers == SIZE_MAX ? UINT64_MAX : before + handlers;
  core().run_state.delivered_max = most;
  core().run_state.read_at = core().sys->now();
  std::uint64_t entries_run_max = UINT64_MAX;
  if (deadline != no_deadline && core().run_state.read_at >= deadline) {
    entries_run_max = core().counters.entries_run + batch_entries_max;  // handlers may post more
    blocking = false;
    deadline = no_deadline;
  }
  bool looked = false;
  while (!stopped()) {
    ++core().counters.iterations;
    take_mail();
    const bool poll_due = batch_over_ && entries_since_poll_ >= batch_entries_min;
    if (!poll_due) run_batch(most);
    if (stopped() || core().run_state.counters.delivered >= most) break;
    expire_timers();
    if (core().counters.entries_run >= entries_run_max) break;
    if (deadline != no_deadline && core().sys->now() >= deadline) {
      if (!looked)
        poll_kernel(poll_mode::drain, 0);  // otherwise handlers that take all the time starve I/O
      break;
    }
    if (!core().queue.empty()) {
      if (batch_over_) {
        poll_kernel(poll_mode::busy, 0);
        looked = true;
      }
      continue;
    }
    if (!mail_.empty()) continue;
    if (out_of_work()) {
      if (running.nested()) break;  // the handler around this call is work
      end_.stop_here();
      if (blocking) report_lost_tasks(false);  // poll() may be called again
      break;
    }
    looked = true;
    if (blocking) {
      const std::int64_t until = std::min(next_deadline(), deadline);
      if (!busy_poll_.is_worth_it() || !poll_busily(until)) poll_kernel(poll_mode::wait, until);
    } else {
      poll_kernel(poll_mode::drain, 0);
      expire_timers();
      if (core().queue.empty() && mail_.empty()) break;
    }
  }
  return core().run_state.counters.delivered - before;
}

/// Polls without waiting until an entry or mail arrives, the loop is stopped, or the time for busy
/// polling or `deadline` has passed. Returns whether the wait found anything.
bool io_loop::poll_busily(std::int64_t deadline) noexcept {
  ++core().counters.spins;
  const std::int64_t begin = core().sys->now();
  const std::int64_t end = std::min<std::int64_t>(
      (duration(begin) + duration(busy_poll_.ns_max())).nanoseconds(), deadline);
  for (std::int64_t now = begin; now < end; now = core().sys->now()) {
    poll_kernel(poll_mode::drain, 0);
    if (core().queue.empty() && mail_.empty() && !stopped()) continue;
    ++core().counters.spin_hits;
    busy_poll_.hit();
    return true;
  }
  busy_poll_.missed();
  return false;
}

std::size_t io_loop::step(std::size_t handlers) {
  if (virtual_threads* const threads = drv().threads(); threads != nullptr) return threads->step();
  const run_guard running(*this);
  const std::uint64_t before = core().run_state.counters.delivered;
  core().run_state.delivered_max = before + handlers;
  core().run_state.read_at = core().sys->now();
  ++core().counters.iterations;
  take_mail();
  expire_timers();
  const bool poll_due = batch_over_ && entries_since_poll_ >= batch_entries_min;
  if (!poll_due) run_batch(before + handlers);
  if (stopped()) return core().run_state.counters.delivered - before;
  if (core().queue.empty() && mail_.empty()) {
    poll_kernel(poll_mode::drain, 0);
  } else if (batch_over_ && !core().queue.empty()) {
    poll_kernel(poll_mode::busy, 0);
  }
  return core().run_state.counters.delivered - before;
}

void io_loop::run_batch(std::uint64_t delivered_max) {
  std::int64_t started = 0;
  unsigned look_at = look_every_;
  for (unsigned n = 1; !core().queue.empty(); ++n) {
    if (n > batch_entries_max || (n > batch_entries_min && batch_over_)) break;
    queue_entry* entry = core().queue.pop();
    ++core().counters.entries_run;
    ++entries_since_poll_;
    core().run_state.run(entry);
    if (stopped() || core().run_state.counters.delivered >= delivered_max) break;
    if (n < look_at) continue;
    const std::int64_t now = core().sys->now();  // short batches never read the clock
    learn_pace(now - std::exchange(core().run_state.read_at, now));
    look_at = n + look_every_;
    if (look_every_ < batch_entries_slow) flush_sends();
    if (look_every_ < batch_entries_min && batch_over_) break;
    if (started == 0) started = now;
    if (now - started > batch_ns_max) break;
  }
}

/// Learns how many entries take look_ns: the clock is read again after as many, at most
/// batch_entries_min. `elapsed`: the time that `look_every_` entries have taken.
void io_loop::learn_pace(std::int64_t elapsed) noexcept {
  if (elapsed <= look_ns) {
    look_every_ = std::min(2 * look_every_, batch_entries_min);
  } else {
    look_every_ = static_cast<unsigned>(std::max<std::int64_t>(look_every_ * look_ns / elapsed, 1));
  }
}

void io_loop::poll_kernel(poll_mode mode, std::int64_t deadline) noexcept {
  expect_own_process();
  if (drv().poll(mode, deadline)) core().run_state.read_at = core().sys->now();
  entries_since_poll_ = 0;
  if (!batch_over_ || core().queue.empty()) return;
  batch_over_ = false;
  core().queue.push(&batch_mark_);
}

std::int64_t io_loop::next_deadline() noexcept {
  return std::min(timers_.earliest(), engine_.attempts().accepts().retry_at());
}

void io_loop::expire_timers() noexcept {
  const std::int64_t earliest = next_deadline();
  if (earliest == no_deadline) return;
  std::int64_t now = sys().now();
  if (planted(planted_bug::early_timer)) now += 20'000;
  if (earliest > now) return;
  core().run_state.read_at =
      now;  // else a handler would find its wait not due yet, and set it again
  if (engine_.attempts().accepts().retry_at() <= now) engine_.attempts().accepts().resume();
  timers_.expire(now);
}

bool io_loop::is_command(const queue_entry& entry) noexcept {
  return entry.run == &op_engine::start_entry || entry.run == &operation_deadline::start_entry ||
         entry.run == &loop_jobs::performed_entry || entry.run == &loop_command::run_command;
}

void io_loop::send_command(queue_entry* command) noexcept {
  BECK_ASSERT(is_command(*command), "the loop would queue this command like a handler");
  mail_.push(command);
}

void io_loop::take_mail() noexcept {
  engine_.after_fork_in_child();  // first: in a child of fork no operation of the mail may start
  if (!mail_.has_mail()) return;
  entry_queue mail;
  core().counters.mail += mail_.take(mail);
  while (!mail.empty()) {
    queue_entry* entry = mail.pop();
    if (is_command(*entry)) {
      entry->run(entry,
                 &core().run_state);  // at once, in the order of the mail, not behind handlers
    } else {
      core().queue.push(entry);
    }
  }
}

void io_loop::carry_out_commands() noexcept {
  // Pairs with the same fence in another thread. At least one of two threads sees the other's
  // change: the one that has pushed mail finds the slot free, or the one that has left the slot
  // finds the mail.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!mail_.empty()) as_runner([](io_loop&) {});
}

bool io_loop::out_of_work() const noexcept {
  return core().outstanding == 0 && !end_.has_work() && !mail_.has_mail();
}

/// Wakes the thread that runs the loop, so that it sees the change of `end_`.
void io_loop::wake_runner() noexcept {
  if (!in_doubt()) mail_.push(&wake_entry_);  // otherwise it would wake the parent's runner
}

void io_loop::stop() noexcept {
  if (on_runner()) {
    end_.stop_here();
    core().run_state.delivered_max = 0;
    call_waiting();
    return;
  }
  if (in_handler()) runner::current()->delivered_max = 0;
  end_.stop([this] { wake_runner(); }, [this] { call_waiting(); });
}

void io_loop::work(long change) noexcept {
  if (change > 0 || runs_here()) {
    end_.count_work(change);  // a thread inside run() checks the count before it waits
  } else {
    end_.end_work(change, [this] { wake_runner(); });
  }
}

void io_loop::log(const char* line) noexcept {
  if (log_sink != nullptr) {
    log_sink(line, log_data);
  } else if (drv().kind() != backend::sim) {  // the trace reports a world's faults
    std::fprintf(stderr, "beck: %s\n", line);
  }
}

context_stats io_loop::stats() const noexcept {
  context_stats s = core().counters;
  s.delivered = core().run_state.counters.delivered;
  s.inline_completions = core().run_state.counters.inline_completions;
  s.budget_stops = core().run_state.counters.budget_stops;
  s.depth_max = core().run_state.counters.depth_max;
  s.outstanding = core().outstanding;
  const shared_runners* const shared = engine_.shared();
  s.wakeups = mail_.wakeups() + (shared != nullptr ? shared->wake_ups() : 0);
  s.block_misses = block_misses();
  drv().add_stats(s);
  return s;
}

// --- the executor of loops -----------------------------------------------------------------------

void io_loop::adopt_elsewhere(owned_tree& tree) noexcept {
  as_runner([&tree](io_loop& loop) { loop.adopt(tree); });
}

void io_loop::disown_elsewhere(owned_tree& tree) noexcept {
  as_runner([&tree](io_loop&) { tree.unlink(); });
}

bool io_loop::arm_elsewhere(timer_entry& entry) noexcept {
  bool added = false;
  as_runner([&](io_loop& loop) { added = loop.timers().add(entry); });
  return added;
}

void io_loop::disarm_elsewhere(timer_entry& entry) noexcept {
  as_runner([&entry](io_loop& loop) {
    if (entry.is_armed()) loop.timers().remove(entry);
  });
}

int detail::openable(const descriptor& d) noexcept {
  if (d.fd >= 0) return already_open_result;
  return &d == &d.loop->no_descriptor() ? -error::no_memory : 0;
}

namespace {
io_loop& loop_from(void* self) noexcept { return *static_cast<io_loop*>(self); }
}  // namespace

const executor_table io_context::loop_table{
    [](void* self, queue_entry* entry) { loop_from(self).post(entry); },
    [](const void* self) noexcept { return static_cast<const io_loop*>(self)->on_runner(); },
    [](void* self, long change) noexcept { loop_from(self).work(change); },
    [](const void* self) noexcept -> execution_context* {
      return &static_cast<io_loop*>(const_cast<void*>(self))->context();
    },
    nullptr,
    nullptr,
    nullptr,
    [](void* self, owned_tree& tree) noexcept { loop_from(self).adopt(tree); },
    [](void* self, std::exception_ptr error, const std::source_location* at) {
      loop_from(self).unhandled(std::move(error), at);
    },
    nullptr,
    false,
    [](void* self) noexcept { return loop_from(self).sys().now(); },
    [](void* self, timer_entry& entry) noexcept { return loop_from(self).timers().add(entry); },
    [](void* self, timer_entry& entry) noexcept { loop_from(self).timers().remove(entry); },
};

const executor_table io_context::shared_loop_table{
    [](void* self, queue_entry* entry) { loop_from(self).post(entry); },
    [](const void* self) noexcept { return static_cast<const io_loop*>(self)->in_handler(); },
    [](void* self, long change) noexcept { loop_from(self).work(change); },
    [](const void* self) noexcept -> execution_context* {
      return &static_cast<io_loop*>(const_cast<void*>(self))->context();
    },
    nullptr,
    nullptr,
    nullptr,
    [](void* self, owned_tree& tree) noexcept { loop_from(self).adopt_elsewhere(tree); },
    [](void* self, std::exception_ptr error, const std::source_location* at) {
      loop_from(self).unhandled(std::move(error), at);
    },
    [](void* self, owned_tree& tree) noexcept { loop_from(self).disown_elsewhere(tree); },
    true,
    [](void* self) noexcept { return loop_from(self).sys().now(); },
    [](void* self, timer_entry& entry) noexcept { return loop_from(self).arm_elsewhere(entry); },
    [](void* self, timer_entry& entry) noexcept { loop_from(self).disarm_elsewhere(entry); },
    true,
};

}  // namespace beck

// The mailbox that the library instantiates, and the functions that it needs.
namespace beck::detail {

template class basic_mailbox<mailbox_parts>;

queue_entry mailbox_parts::asleep_mark{};

void mailbox_parts::wake(int wake_fd) noexcept { wake_write(wake_fd); }
void mailbox_parts::drain(int wake_fd, std::uint64_t total) noexcept { wake_drain(wake_fd, total); }

const void* mailbox_parts::this_thread() noexcept {
  return &errno;  // an object of the thread that costs the library no thread-local data
}

void mailbox_parts::refuse_foreign_post(const void* running_thread) noexcept {
  BECK_ASSERT(running_thread == nullptr || running_thread == this_thread(),
              "a simulated context was posted to from another thread while it runs");
}

}  // namespace beck::detail
