// SPDX-License-Identifier: BSL-1.0
// The two halves of a signal set: the object, which tells the system which signals to catch, and
// the state, which the thread that runs the context uses.
#include <beck/io/signal_set.hpp>

#include <bit>
#include <memory>
#include <utility>

#include <beck/base/error.hpp>
#include <beck/detail/io_object.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/loop/signal_state.hpp"

namespace beck {
using namespace detail;
namespace {

signal_state* make_state(io_loop& loop, any_io_executor executor) {
  auto state = std::make_unique<signal_state>(loop, std::move(executor));
  state->inbox = std::make_unique<signal_inbox>();
  loop.count_object(1);
  return state.release();
}

/// Returns the state of a set that was moved from. Without memory, returns the shared state that
/// holds no signals, whose waits end with bad_descriptor.
signal_state* make_successor(const signal_state& moved) noexcept {
  try {
    return make_state(*moved.loop, moved.executor);
  } catch (const std::bad_alloc&) {
    return &moved.loop->signals().vacant();
  }
}

/// Asserts that no other thread is inside a function of the set.
void expect_set_alone(signal_state& set, const char* function) noexcept {
  const object_use inside = use_of(set, function);
}

constexpr std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << (number - 1); }
constexpr bool is_signal(int number) noexcept {
  return number >= 1 && number <= signal_sink::number_max;
}

/// Removes `number` from the set, with its notifications that no wait has taken.
void drop_one(signal_state& set, int number) noexcept {
  set.held &= ~bit(number);
  set.loop->sys().unwatch_signal(number, set);
  set.inbox->forget(number);
  // If another thread runs the context, the next take() drops the forgotten notifications.
  static_cast<void>(set.loop->as_runner([&](io_loop&) { set.inbox->drop_forgotten(); }));
}

void drop_all(signal_state& set) noexcept {
  while (set.held != 0) drop_one(set, std::countr_zero(set.held) + 1);
}

void free_state(signal_state* state) noexcept {
  state->loop->count_object(-1);
  delete state;
}

/// Cancels the waits and frees the state. Runs as a command of the loop.
void release_set(void* set) noexcept {
  auto* state = static_cast<signal_state*>(set);
  state->loop->signals().cancel_waits(*state);
  free_state(state);
}

/// Gives up the state of a set for good. After drop_all() no notification for it enters the
/// mailbox, and those already there are taken before the state is freed.
void drop_set(signal_state* state) noexcept {
  if (state->inbox == nullptr) return;
  drop_all(*state);
  if (state->loop->as_runner([state](io_loop& l) { l.signals().cancel_waits(*state); })) {
    free_state(state);
    return;
  }
  state->release_order = loop_command(&release_set, state);
  state->loop->send_order(&state->release_order);
}

/// Command that cancels the waits of a set on the thread that runs the context. It frees itself.
struct wait_cancel_order : loop_command {
  explicit wait_cancel_order(signal_state& whose) noexcept
      : loop_command(&cancel_waits, this), set(&whose) {}

  static void cancel_waits(void* self) noexcept {
    signal_state& set = *static_cast<wait_cancel_order*>(self)->set;
    free_block(self);
    set.loop->signals().cancel_waits(set);
  }

  signal_state* set;
};

}  // namespace

signal_wait::signal_wait(signal_state& waits_for) noexcept
    : operation(op_kind::wait_signal, &waits_for.loop->no_descriptor(), nullptr, 0),
      set(&waits_for) {}

signal_set::signal_set(io_context& context) : signal_set(any_io_executor(context.get_executor())) {}
signal_set::signal_set(const any_io_executor& executor)
    : state_(make_state(loop_of(executor), executor)) {}

signal_set::signal_set(io_context& context, int first) : signal_set(context) { add(first); }
signal_set::signal_set(io_context& context, int first, int second) : signal_set(context, first) {
  add(second);
}
signal_set::signal_set(io_context& context, int first, int second, int third)
    : signal_set(context, first, second) {
  add(third);
}
signal_set::signal_set(const any_io_executor& executor, int first) : signal_set(executor) {
  add(first);
}
signal_set::signal_set(const any_io_executor& executor, int first, int second)
    : signal_set(executor, first) {
  add(second);
}
signal_set::signal_set(const any_io_executor& executor, int first, int second, int third)
    : signal_set(executor, first, second) {
  add(third);
}

signal_set::signal_set(signal_set&& other) noexcept
    : state_(std::exchange(other.state_, make_successor(*other.state_))) {
  expect_set_alone(*state_, "a move");
}

signal_set& signal_set::operator=(signal_set&& other) noexcept {
  if (&other == this) return *this;
  expect_set_alone(*state_, "a move");
  drop_set(state_);
  state_ = std::exchange(other.state_, make_successor(*other.state_));
  return *this;
}

signal_set::~signal_set() {
  expect_set_alone(*state_, "its destructor");
  drop_set(state_);
}

any_io_executor signal_set::get_executor() const noexcept { return state_->executor; }

error_code signal_set::add(int number, error_code& ec) {
  const object_use inside = use_of(*state_, "add");
  ec.clear();
  if (state_->inbox == nullptr) {
    ec = error::make_error_code(error::bad_descriptor);
  } else if (!is_signal(number)) {
    ec = error::make_error_code(error::invalid_argument);
  } else if ((state_->held & bit(number)) == 0) {
    ec = make_error(state_->loop->sys().watch_signal(number, *state_));
    if (!ec) state_->held |= bit(number);
  }
  return ec;
}

error_code signal_set::remove(int number, error_code& ec) {
  const object_use inside = use_of(*state_, "remove");
  ec.clear();
  if (!is_signal(number)) {
    ec = error::make_error_code(error::invalid_argument);
  } else if ((state_->held & bit(number)) != 0) {
    drop_one(*state_, number);
  }
  return ec;
}

error_code signal_set::clear(error_code& ec) {
  const object_use inside = use_of(*state_, "clear");
  ec.clear();
  drop_all(*state_);
  return ec;
}

error_code signal_set::cancel(error_code& ec) {
  const object_use inside = use_of(*state_, "cancel");
  ec.clear();
  if (state_->inbox == nullptr) return ec;
  io_loop& loop = *state_->loop;
  if (loop.as_runner([&](io_loop& l) { l.signals().cancel_waits(*state_); })) return ec;
  loop.send_order(::new (allocate_block(sizeof(wait_cancel_order))) wait_cancel_order(*state_));
  return ec;
}

void signal_set::add(int number) {
  error_code ec;
  add(number, ec);
  throw_if(ec, "add");
}
void signal_set::remove(int number) {
  error_code ec;
  remove(number, ec);
  throw_if(ec, "remove");
}
void signal_set::clear() {
  error_code ec;
  clear(ec);
}
void signal_set::cancel() {
  error_code ec;
  cancel(ec);
}

}  // namespace beck
