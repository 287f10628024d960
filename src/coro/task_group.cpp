// SPDX-License-Identifier: BSL-1.0
// The reactions of a group to the end of a branch, to a stop, and to its destruction with the
// context.
#include <beck/coro/task_group.hpp>

#include <stdexcept>
#include <string>

#include "base/use_check.hpp"
#include "run/stop_walk.hpp"

namespace beck {
using namespace detail;

const wait_kind task_group::waits_for_children{&tell_first, "task_group", wait_kind::leaf::join,
                                               &tell_next};

/// Destroys the children that are left: the context is being destroyed.
task_group::~task_group() {
  while (newest_ != nullptr) {
    group_child& gone = *newest_;
    unlink(gone);
    gone.destroy_(gone);
  }
}

void task_group::check_room() const {
  if (!is_full()) return;
  throw std::length_error("beck::task_group: " + std::to_string(size()) +
                          " children already, which is the limit of this group");
}

void task_group::adopt(group_child& made, std::coroutine_handle<> frame,
                       task_promise_base& promise) {
  {
    const state_guard guard(lock());
    made.older_ = newest_;
    if (newest_ != nullptr) newest_->newer_ = &made;
    newest_ = &made;
    __atomic_store_n(&children_, children_ + 1, __ATOMIC_RELAXED);
  }
  start_later(made, frame, promise);
}

void task_group::unlink(group_child& gone) noexcept {
  (gone.newer_ != nullptr ? gone.newer_->older_ : newest_) = gone.older_;
  if (gone.older_ != nullptr) gone.older_->newer_ = gone.newer_;
  __atomic_store_n(&children_, children_ - 1, __ATOMIC_RELAXED);
}

bool task_group::wait(detail::continuation coroutine) {
  const auto frame = work_->frame_to_start();
  join_point& here = *this;
  start(body_.emplace(here), frame, frame.promise());
  return join_point::wait(coroutine, waits_for_children);
}

void task_group::on_end(join_point& join, branch& ended, state_guard& held,
                        stop_walk& stops) noexcept {
  auto& self = static_cast<task_group&>(join);
  if (ended.failed() && self.error_ == nullptr) {
    self.error_ = ended.exception();
    self.stop_branches(stops, stop_reason::stop);
  }
  if (&ended == &*self.body_) {
    if (!self.start_draining()) self.stop_branches(stops, stop_reason::stop);
    return;
  }
  auto& gone = static_cast<group_child&>(ended);
  self.unlink(gone);
  held.unlock();
  held_locks::must_be_none();
  gone.destroy_(gone);
  self.give_place();
}

scope* task_group::tell_first(void* join, scope& from) noexcept {
  auto& self = static_cast<task_group&>(*static_cast<join_point*>(join));
  if (!self.drains() || from.reason() != stop_reason::stop)
    return join_point::tell_first(join, from);
  self.lock().lock();
  if (!self.start_draining()) {
    self.lock().unlock();
    return join_point::tell_first(join, from);
  }
  branch* const oldest = self.oldest();
  return self.tell(oldest == &*self.body_ ? oldest : nullptr);
}

/// Returns no further scope while the children have time to drain: then a stop reaches only the
/// body.
scope* task_group::tell_next(void* join, scope& told) noexcept {
  auto& self = static_cast<task_group&>(*static_cast<join_point*>(join));
  return self.stopped() == stop_reason::none ? self.tell(nullptr)
                                             : join_point::tell_next(join, told);
}

/// Starts the grace period of the children, if the group has one and it is not running yet. Returns
/// false if the executor has no clock or there is no memory: then they must be stopped at once.
bool task_group::start_draining() noexcept {
  if (!drains() || children_ == 0 || drained_.is_armed() || stopped() != stop_reason::none)
    return true;
  try {
    drained_.arm(
        outer().executor(), how_.drain_timeout,
        [](void* group, stop_walk& stops) noexcept {
          auto& self = *static_cast<task_group*>(group);
          const state_guard guard(self.lock());
          self.stop_branches(stops, stop_reason::stop);
        },
        this);
    return true;
  } catch (...) {
    return false;
  }
}

/// Wakes the oldest waiter for room in the group, if there is room.
void task_group::give_place() noexcept {
  if (is_full()) return;
  if (waiter* const next = waiters_.pop()) next->wake(0);
}

}  // namespace beck
