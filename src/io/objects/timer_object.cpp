// SPDX-License-Identifier: BSL-1.0
// The two halves of a timer: the object with its expiry, which the user's thread uses, and the list
// of waits, which the thread that runs the context uses.
#include <beck/io/timer_object.hpp>

#include <utility>

#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/system/posix_system.hpp"

namespace beck {
using namespace detail;
namespace {

/// Returns a new state. Out of line, as free_state() is: the usual path needs no registers for it.
[[gnu::noinline]] timer_state* allocate_state(io_loop& loop, const any_io_executor& executor,
                                              clock_kind clock) {
  auto* const made = new timer_state(loop, executor, clock);
  loop.count_object(1);
  return made;
}

/// Returns the state of a new timer, which may be that of a destroyed one.
timer_state* make_state(io_loop& loop, const any_io_executor& executor, clock_kind clock) {
  timer_state* const kept = executor.target() == &loop ? loop.timers().take_state(clock) : nullptr;
  return kept != nullptr ? kept : allocate_state(loop, executor, clock);
}

io_loop& loop_in(io_context& context) noexcept {
  return *static_cast<io_loop*>(context.get_executor().target());
}

/// Returns the state of a new timer on the executor of `loop`.
inline timer_state* make_state(io_loop& loop, clock_kind clock) {
  timer_state* const kept = loop.timers().take_state(clock);
  return kept != nullptr ? kept : allocate_state(loop, loop.executor(), clock);
}

/// Returns the point in time that is `after` from now by `clock`. Always inline: each re-arming
/// calls it.
[[gnu::always_inline]] inline std::int64_t expiry_after(io_loop& loop, clock_kind clock,
                                                        duration after) {
  const bool steady = clock == clock_kind::steady;
  return (duration(steady ? loop.sys().now() : loop.sys().wall_now()) + after).nanoseconds();
}

/// Returns the state of a timer that was moved from. Without memory, returns the shared state whose
/// waits end with bad_descriptor.
timer_state* make_successor(const timer_state& moved) noexcept {
  try {
    return make_state(*moved.loop, moved.executor, moved.clock);
  } catch (const std::bad_alloc&) {
    return &moved.loop->timers().vacant();
  }
}

[[gnu::noinline]] void free_state(timer_state* state) noexcept {
  state->loop->count_object(-1);
  delete state;
}

/// Cancels the waits and frees the state. Runs as a command of the loop.
void release_timer(void* timer) noexcept {
  auto* state = static_cast<timer_state*>(timer);
  state->loop->timers().cancel_waits(*state, SIZE_MAX);
  free_state(state);
}

/// As drop_timer(), for a caller that does not run the loop.
[[gnu::noinline]] void drop_elsewhere(timer_state* state) noexcept {
  io_loop& loop = *state->loop;
  if (loop.as_runner([state](io_loop& l) { l.timers().cancel_waits(*state, SIZE_MAX); })) {
    free_state(state);
  } else {
    loop.send_order(&state->release_order.emplace(&release_timer, state));
  }
}

/// Gives up the state of a timer for good: frees or keeps it at once if the caller may run the
/// loop, else sends a command to the thread that runs it.
void drop_timer(timer_state* state) noexcept {
  io_loop& loop = *state->loop;
  if (state == &loop.timers().vacant()) return;
  if (loop.acts_as_runner()) [[likely]] {
    loop.timers().cancel_waits(*state, SIZE_MAX);
    if (!loop.timers().keep_state(*state)) free_state(state);
  } else {
    drop_elsewhere(state);
  }
}

/// Asserts that no other thread is inside a function of the timer. This is checked once and not
/// held, because the state may soon be freed.
void expect_timer_alone(timer_state& timer, const char* function) noexcept {
  const object_use inside = use_of(timer, function);
}

/// Command that cancels waits on the thread that runs the context. It frees itself.
struct cancel_order : loop_command {
  cancel_order(timer_state* state, std::size_t waits_max) noexcept
      : loop_command(&cancel_waits, this), timer(state), most(waits_max) {}

  static void cancel_waits(void* self) noexcept {
    const cancel_order what = *static_cast<cancel_order*>(self);
    free_block(self);
    what.timer->loop->timers().cancel_waits(*what.timer, what.most);
  }

  timer_state* timer;
  std::size_t most;
};

/// As cancel_some(), for a caller that does not run the loop.
[[gnu::noinline]] std::size_t cancel_elsewhere(timer_state* state, std::size_t most) {
  std::size_t count = 0;
  if (state->loop->as_runner(
          [&](io_loop& loop) { count = loop.timers().cancel_waits(*state, most); }))
    return count;
  state->loop->send_order(::new (allocate_block(sizeof(cancel_order))) cancel_order(state, most));
  return 0;
}

/// Cancels at most `most` waits. Returns their number; 0 if another thread runs the context, which
/// then cancels them.
std::size_t cancel_some(timer_state* state, std::size_t most) {
  const object_use inside = use_of(*state, "cancel");
  if (!state->loop->acts_as_runner()) [[unlikely]]
    return cancel_elsewhere(state, most);
  return state->loop->timers().cancel_waits(*state, most);
}

}  // namespace

timer_object::timer_object(const any_io_executor& executor, clock_kind clock)
    : state_(make_state(loop_of(executor), executor, clock)) {}

timer_object::timer_object(const any_io_executor& executor, clock_kind clock, beck::duration after)
    : timer_object(executor, clock) {
  expiry_ = expiry_after(*state_->loop, clock, after);
}

timer_object::timer_object(io_context& context, clock_kind clock)
    : state_(make_state(loop_in(context), clock)) {}

timer_object::timer_object(io_context& context, clock_kind clock, beck::duration after)
    : timer_object(context, clock) {
  expiry_ = expiry_after(loop_in(context), clock, after);
}

timer_object::timer_object(timer_object&& other) noexcept
    : state_(other.state_), expiry_(std::exchange(other.expiry_, 0)) {
  other.state_ = make_successor(*state_);
  expect_timer_alone(*state_, "a move");
}

timer_object& timer_object::operator=(timer_object&& other) noexcept {
  if (&other == this) return *this;
  expect_timer_alone(*state_, "a move");
  drop_timer(state_);
  state_ = std::exchange(other.state_, make_successor(*other.state_));
  expiry_ = std::exchange(other.expiry_, 0);
  return *this;
}

timer_object::~timer_object() {
  expect_timer_alone(*state_, "its destructor");
  drop_timer(state_);
}

any_io_executor timer_object::get_executor() const noexcept { return state_->executor; }

std::size_t timer_object::expire_at(std::int64_t at) {
  expiry_ = at;
  return cancel_some(state_, SIZE_MAX);
}

std::size_t timer_object::expire_after(beck::duration after) {
  expiry_ = expiry_after(*state_->loop, state_->clock, after);
  return cancel_some(state_, SIZE_MAX);
}

timer_operation timer_object::wait_for(beck::duration after) noexcept {
  return timer_operation(state_, expiry_after(*state_->loop, state_->clock, after));
}

std::size_t timer_object::cancel() { return cancel_some(state_, SIZE_MAX); }
std::size_t timer_object::cancel_one() { return cancel_some(state_, 1); }

namespace {

/// Returns the time of `clock`: simulated time if the calling thread runs a handler of a context,
/// else the time of the real system.
std::int64_t now_here(std::int64_t (system::*clock)() noexcept) noexcept {
  const runner* const here = runner::current();
  io_loop* const loop = here != nullptr && here->ambient != nullptr
                            ? own_loop_of(here->ambient->executor())
                            : nullptr;
  if (loop != nullptr) return (loop->sys().*clock)();
  posix_system outside;
  return (static_cast<system&>(outside).*clock)();
}

}  // namespace

time_point steady_now() noexcept { return time_point(duration(now_here(&system::now))); }
system_time_point system_now() noexcept {
  return system_time_point(duration(now_here(&system::wall_now)));
}

}  // namespace beck
