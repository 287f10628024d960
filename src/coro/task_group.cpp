// SPDX-License-Identifier: BSL-1.0
// What a group does when a branch ends, when it is stopped, and when it dies with its context.
#include <beck/coro/task_group.hpp>

#include <stdexcept>
#include <string>

namespace beck {

const wait_kind task_group::waits_for_children{&on_stop, "task_group", wait_kind::leaf::join};

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
    if (stopped_ != stop_reason::none) made.environment().stop(stopped_);
  }
  start_later(made, frame, promise);
}

void task_group::unlink(group_child& gone) noexcept {
  (gone.newer_ != nullptr ? gone.newer_->older_ : newest_) = gone.older_;
  if (gone.older_ != nullptr) gone.older_->newer_ = gone.newer_;
  __atomic_store_n(&children_, children_ - 1, __ATOMIC_RELAXED);
}

bool task_group::wait(std::coroutine_handle<> coroutine, task<>& body) {
  const auto frame = body.frame();
  join_point& here = *this;
  branch* made = nullptr;
  {
    const state_guard guard(lock());
    made = &body_.emplace(here);
  }
  start(*made, frame, frame.promise());
  return join_point::wait(coroutine, waits_for_children);
}

void task_group::on_end(join_point& join, branch& ended) noexcept {
  auto& self = static_cast<task_group&>(join);
  if (ended.failed() && self.error_ == nullptr) {
    self.error_ = ended.exception();
    self.stop_all(stop_reason::stop);
  }
  if (&ended == &*self.body_) {
    self.start_draining();
    return;
  }
  auto& gone = static_cast<group_child&>(ended);
  self.unlink(gone);
  gone.destroy_(gone);
  // Where a ring comes beside this, it waits for the lock: then the end of the group disarms.
  if (self.children_ == 0 && !self.lock().is_concurrent()) self.drained_.disarm();
  self.give_place();
}

scope* task_group::on_stop(void* leaf, scope& from) noexcept {
  auto& self = static_cast<task_group&>(*static_cast<join_point*>(leaf));
  const state_guard guard(self.lock());
  self.body_->environment().stop(from.reason());
  if (self.how_.drains_ && from.reason() == stop_reason::stop) {
    self.start_draining();
  } else {
    self.stop_children(from.reason());
  }
  return nullptr;
}

/// From here on the time of the children is limited, if it is at all.
void task_group::start_draining() noexcept {
  if (!how_.drains_ || children_ == 0 || drained_.is_armed() || stopped_ != stop_reason::none)
    return;
  try {
    drained_.arm(
        outer().executor(), how_.drain_,
        [](void* group) noexcept {
          auto& self = *static_cast<task_group*>(group);
          const state_guard guard(self.lock());
          self.stop_children(stop_reason::stop);
        },
        this);
  } catch (...) {
    stop_children(stop_reason::stop);  // no clock or no memory: no time to drain
  }
}

void task_group::stop_all(stop_reason why) noexcept {
  if (body_) body_->environment().stop(why);
  stop_children(why);
}

void task_group::stop_children(stop_reason why) noexcept {
  if (stopped_ != stop_reason::none) return;
  stopped_ = why;
  for (group_child* at = newest_; at != nullptr; at = at->older_) at->environment().stop(why);
}

void task_group::give_place() noexcept {
  if (is_full()) return;
  if (waiter* const next = waiters_.pop()) next->wake(0);
}

}  // namespace beck
