// SPDX-License-Identifier: BSL-1.0
// Timers on the clocks of executors, and the scopes that they stop.
#include <beck/detail/deadline_scope.hpp>

#include <beck/detail/block.hpp>
#include <new>
#include <stdexcept>
#include <utility>

#include "run/stop_walk.hpp"

namespace beck::detail {
namespace {

const executor_table& clock_of(const any_io_executor& executor) {
  if (executor.table()->now == nullptr) {
    throw std::logic_error(
        "beck: a time limit was set where no io_context runs; this executor has no clock to "
        "wait for");
  }
  return *executor.table();
}

}  // namespace

void check_clock(const any_io_executor& executor) { static_cast<void>(clock_of(executor)); }
/// The in-flight message of a deadline_timer on an executor whose timers expire concurrently with
/// its entries. There a deadline_timer may be destroyed while its timer expires. So a separate
/// block waits for the time, is posted to the executor, and checks there whether the deadline_timer
/// still exists.
class deadline_timer::expiry_message final : private timer_entry, private queue_entry {
 public:
  static expiry_message* arm(deadline_timer& owner) {
    auto* made = ::new (allocate_block(sizeof(expiry_message))) expiry_message(owner);
    if (made->home_.table()->arm(made->home_.target(), *made)) return made;
    free(made);
    throw std::bad_alloc();
  }

  void disarm() noexcept {
    home_.table()->disarm(home_.target(), *this);  // from now on `sent_` does not change
    bool last = false;
    {
      const state_guard guard(lock_);
      owner_ = nullptr;
      last = !sent_ || arrived_;
    }
    if (last) free(this);
  }

 private:
  explicit expiry_message(deadline_timer& owner) noexcept
      : owner_(&owner), home_(*owner.executor_) {
    deadline = owner.deadline;
    expired = &send;
  }

  /// Posts the message to the executor; called when the timer expires.
  static void send(timer_entry& entry, io_loop&, bool shutting_down) noexcept {
    auto& self = static_cast<expiry_message&>(entry);
    if (shutting_down) return;
    self.sent_ = true;
    self.run = &arrive;
    self.home_.post(&self);
  }

  /// Calls the function of the deadline_timer, if that still exists; called on the executor.
  static void arrive(queue_entry* entry, runner* where) {
    auto* self = static_cast<expiry_message*>(entry);
    bool last = false;
    stop_walk stops;
    {
      const state_guard guard(self->lock_);
      self->arrived_ = true;
      last = self->owner_ == nullptr;
      if (!last && where != nullptr) self->owner_->on_expired_(self->owner_->data_, stops);
    }
    if (last) free(self);
  }

  static void free(expiry_message* self) noexcept {
    self->~expiry_message();
    free_block(self);
  }

  deadline_timer* owner_;
  any_io_executor home_;
  state_lock lock_{concurrent};
  bool sent_ = false;
  bool arrived_ = false;
};

void deadline_timer::arm(const any_io_executor& executor, time_point when,
                         expiry_function on_expired, void* data) {
  const executor_table& clock = clock_of(executor);
  if (when == time_point::max()) return;
  executor_ = &executor;
  on_expired_ = on_expired;
  data_ = data;
  deadline = when.nanoseconds();
  if (clock.expires_beside) {
    message_ = expiry_message::arm(*this);
    return;
  }
  expired = &expire;
  if (!clock.arm(executor.target(), *this)) throw std::bad_alloc();
}

void deadline_timer::arm(const any_io_executor& executor, duration after,
                         expiry_function on_expired, void* data) {
  const std::int64_t now = clock_of(executor).now(executor.target());
  arm(executor, time_point(duration(now)) + after, on_expired, data);
}

void deadline_timer::disarm() noexcept {
  if (message_ != nullptr) {
    std::exchange(message_, nullptr)->disarm();
  } else if (timer_entry::is_armed()) {
    executor_->table()->disarm(executor_->target(), *this);
  }
}

void deadline_timer::expire(timer_entry& entry, io_loop&, bool shutting_down) noexcept {
  auto& self = static_cast<deadline_timer&>(entry);
  stop_walk stops;
  if (!shutting_down) self.on_expired_(self.data_, stops);
}

void deadline_scope::on_expired(void* self, stop_walk& stops) noexcept {
  auto& ended = *static_cast<deadline_scope*>(self);
  stops.tell(ended, ended.why_);
}

}  // namespace beck::detail
