// SPDX-License-Identifier: BSL-1.0
// Virtual threads: which of them continues, and how they wait in virtual time.
#include "io/sim/sim_runners.hpp"

#include <algorithm>
#include <utility>

#include <beck/base/assert.hpp>

#include "io/loop/io_loop.hpp"
#include "io/sim/sim_driver.hpp"
#include "io/sim/sim_world.hpp"

namespace beck::detail {
namespace {

/// The probability that other threads run at a yield point.
constexpr sim_probability meeting(0.25);
/// The probability that the thread is then paused for some time.
constexpr sim_probability pause(0.5);
constexpr std::uint64_t pause_ns_max = 100'000;
/// The probability that a thread leaves after some handlers and comes back, instead of running
/// until it is out of work.
constexpr sim_probability early_leave(0.125);
constexpr std::uint64_t early_leave_handlers_max = 4;
constexpr unsigned spins_max = 1'000'000;

}  // namespace

sim_runners::sim_runners(sim_driver& driver, sim_world& world, unsigned count)
    : driver_(driver),
      loop_(driver.loop()),
      world_(world),
      random_(world.scheduler().runner_order()),
      runners_(count) {
  for (virtual_runner& one : runners_) one.all = this;
}

sim_runners::~sim_runners() = default;

// --- from outside ------------------------------------------------------------------------------

std::size_t sim_runners::run(std::size_t handlers, std::int64_t deadline, bool blocking) {
  const void* const here = mailbox_parts::this_thread();
  const void* const other = thread_.exchange(here, std::memory_order_relaxed);
  BECK_ASSERT(other == nullptr || other == here,
              "a simulated context is run by one thread; the others are virtual");
  recall();  // a step of the world has left threads inside
  BECK_ASSERT(inside_ == 0, "a simulated context was run by what one of its handlers runs");
  rethrow();
  loop_.mail().run_by(here);
  handlers_ = handlers;
  deadline_ = deadline;
  blocking_ = blocking;
  if (handlers == SIZE_MAX) {
    for (virtual_runner& one : runners_) enter(one);
  } else {
    enter(runners_[random_.below(runners_.size())]);
  }
  while (inside_ != 0) {
    if (!go_on()) wait_for_anything();
  }
  recalled_ = false;
  loop_.mail().run_by(nullptr);
  thread_.store(nullptr, std::memory_order_relaxed);
  rethrow();
  return take_count();
}

std::size_t sim_runners::step() {
  rethrow();
  in_step_ = true;
  if (inside_ == 0) {
    handlers_ = SIZE_MAX;
    deadline_ = INT64_MAX;
    blocking_ = true;
    for (virtual_runner& one : runners_) enter(one);
  }
  go_on();
  if (!thrown_.empty()) recall();
  rethrow();
  return take_count();
}

void sim_runners::recall() noexcept {
  if (inside_ != 0 && mine() == nullptr) {
    recalled_ = true;
    loop_.call_everybody();
    while (inside_ != 0) {
      if (!go_on()) wait_for_anything();
    }
    recalled_ = false;
  }
  in_step_ = false;
}

/// Rethrows one exception of a virtual thread. If several have thrown, each call of run() throws
/// one of them, as real threads would each throw their own.
void sim_runners::rethrow() {
  if (thrown_.empty()) return;
  ran_ = 0;
  const std::exception_ptr first = std::move(thrown_.front());
  thrown_.pop_front();
  std::rethrow_exception(first);
}

/// Starts a virtual thread.
void sim_runners::enter(virtual_runner& one) {
  one.stack = fiber::take();
  one.does = activity::going;
  one.stack->start(&body, &one);
  ++inside_;
}

// --- a virtual thread --------------------------------------------------------------------------

void sim_runners::body(void* argument) noexcept {
  auto& self = *static_cast<virtual_runner*>(argument);
  self.all->live();
  self.does = activity::away;
  --self.all->inside_;
}

/// Runs the loop as one of its threads; sometimes leaves early and enters again.
void sim_runners::live() noexcept {
  for (;;) {
    const bool leaves_early = handlers_ == SIZE_MAX && random_.chance(early_leave);
    const std::size_t most =
        leaves_early ? 1 + static_cast<std::size_t>(random_.below(early_leave_handlers_max))
                     : handlers_;
    std::size_t ran = 0;
    try {
      ran = loop_.run_as_thread(most, deadline_, blocking_);
    } catch (...) {
      thrown_.push_back(std::current_exception());
      recalled_ = true;
      loop_.call_everybody();
      return;
    }
    ran_ += ran;
    if (!leaves_early || ran < most || recalled_) return;
    leave_for_others(activity::going);
  }
}

/// Returns the virtual thread that calls; nullptr if the caller is not one of this context.
sim_runners::virtual_runner* sim_runners::mine() noexcept {
  const fiber* const here = fiber::current();
  if (here == nullptr) return nullptr;
  for (virtual_runner& one : runners_) {
    if (one.stack.get() == here && one.does != activity::away) return &one;
  }
  return nullptr;
}

/// Suspends the virtual thread that calls; `why` decides when it is ready again.
void sim_runners::leave_for_others(activity why) noexcept {
  virtual_runner* const self = mine();
  self->does = why;
  fiber::suspend();
}

void sim_runners::meet() noexcept {
  virtual_runner* const self = mine();
  if (self == nullptr || inside_ == 1 || !random_.chance(meeting)) return;
  if (!random_.chance(pause)) return leave_for_others(activity::going);
  self->deadline = sim_clock::later(world_.clock().now(),
                                    static_cast<std::int64_t>(random_.below(pause_ns_max)));
  leave_for_others(activity::paused);
}

void sim_runners::end_step() noexcept {
  if (mine() != nullptr) leave_for_others(activity::going);
}

void sim_runners::spin() noexcept {
  // Lets virtual time pass: otherwise the thread that is waited for could stay paused for ever.
  world_.clock().advance_to(sim_clock::later(world_.clock().now(), sim_driver::poll_ns));
  world_.network().deliver_due();
  if (mine() != nullptr) {
    leave_for_others(activity::spinning);
  } else {
    go_on();  // the caller waits for a virtual thread to finish a short step
  }
}

bool sim_runners::sleep(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        std::int64_t deadline) noexcept {
  virtual_runner* const self = mine();
  if (word.load(std::memory_order_relaxed) != expected) return true;
  self->word = &word;
  self->deadline = deadline;
  leave_for_others(activity::at_futex);
  const bool woken = self->word == nullptr;
  self->word = nullptr;
  return woken;
}

void sim_runners::wake_sleepers(const void* word, unsigned count) noexcept {
  for (virtual_runner& one : runners_) {
    if (count == 0) return;
    if (one.does != activity::at_futex || one.word != word) continue;
    one.word = nullptr;
    --count;
  }
}

void sim_runners::wait_in_kernel(std::int64_t deadline) noexcept {
  virtual_runner* const self = mine();
  self->deadline = deadline;
  leave_for_others(activity::in_kernel);
  called_ = false;
}

bool sim_runners::wait_in_call(bool (*may_go_on)(const void* data), const void* data,
                               std::int64_t deadline) noexcept {
  virtual_runner* const self = mine();
  if (self == nullptr) return false;
  self->may_go_on = may_go_on;
  self->data = data;
  self->deadline = deadline;
  leave_for_others(activity::in_call);
  return true;
}

// --- which thread continues ---------------------------------------------------------------------

bool sim_runners::is_ready(const virtual_runner& one) const noexcept {
  switch (one.does) {
    case activity::away:
    case activity::running:
      return false;
    case activity::going:
    case activity::spinning:
      return true;
    case activity::paused:
      return one.deadline <= world_.clock().now();
    case activity::at_futex:
      return one.word == nullptr || one.deadline <= world_.clock().now();
    case activity::in_kernel:
      return called_ || driver_.has_news() || one.deadline <= world_.clock().now();
    case activity::in_call:
      return one.may_go_on(one.data) || one.deadline <= world_.clock().now();
  }
  return false;
}

bool sim_runners::is_ready() const noexcept {
  return !thrown_.empty() ||
         std::any_of(runners_.begin(), runners_.end(),
                     [this](const virtual_runner& one) { return is_ready(one); });
}

bool sim_runners::is_busy() const noexcept {
  return !thrown_.empty() ||
         std::any_of(runners_.begin(), runners_.end(), [](const virtual_runner& one) {
           return one.does != activity::away && one.does != activity::at_futex &&
                  one.does != activity::in_kernel;
         });
}

std::int64_t sim_runners::next_deadline() const noexcept {
  std::int64_t next = INT64_MAX;
  for (const virtual_runner& one : runners_) {
    if (one.does > activity::spinning) next = std::min(next, one.deadline);
    if (one.does == activity::in_kernel) next = std::min(next, driver_.next_job());
  }
  return next;
}

/// Resumes a drawn thread among those that are ready. The draw 0 stands for the one after the last,
/// so that no thread starves on a calm tape.
bool sim_runners::go_on() noexcept {
  const std::size_t all = runners_.size();
  std::uint64_t ready = 0;
  for (const virtual_runner& one : runners_) ready += is_ready(one) ? 1u : 0u;
  if (ready == 0) return false;
  std::uint64_t skipped = ready > 1 ? random_.below(ready) : 0;
  for (std::size_t i = 0;; ++i) {
    const std::size_t at = (next_ + i) % all;
    virtual_runner& one = runners_[at];
    if (!is_ready(one) || skipped-- != 0) continue;
    next_ = at + 1;
    if (at != last_) world_.note(driver_.host(), sim_note::runner, static_cast<int>(at), 0);
    last_ = at;
    one.does = activity::running;
    one.stack->resume();
    spins_in_row_ = one.does == activity::spinning ? spins_in_row_ + 1 : 0;
    BECK_ASSERT(spins_in_row_ < spins_max,
                "the threads of a simulated context wait for each other");
    if (one.does == activity::away) one.stack.reset();
    return true;
  }
}

/// Advances the clock to the next event or deadline; ends the program if there is none.
void sim_runners::wait_for_anything() {
  const std::int64_t until = next_deadline();
  if (!world_.advance(until) && until == INT64_MAX) driver_.stuck();
}

}  // namespace beck::detail
