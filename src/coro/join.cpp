// SPDX-License-Identifier: BSL-1.0
// Branches of a join point: they are counted, started inside the parent, and ended after their
// coroutines have unwound. Also the error of windows of tasks.
#include <stdexcept>

#include <beck/base/assert.hpp>
#include <beck/coro/collect_windowed.hpp>
#include <beck/detail/join.hpp>

#include "run/stop_walk.hpp"

namespace beck::detail {

branch::branch(join_point& join, const std::source_location& spawned_at) noexcept
    : scope(join.outer().executor(), join.outer().locals()), join_(join), spawned_at_(spawned_at) {
  if (join.outer().stop_requested()) stop(join.outer().reason());
}

void join_point::add(branch& b, std::coroutine_handle<> frame,
                     task_promise_base& promise) noexcept {
  b.frame_ = frame;
  b.promise_ = &promise;
  const state_guard guard(lock());
  b.number_ = ++numbers_;
  branches_.push_back(b);
  __atomic_fetch_add(&running_, 1u, __ATOMIC_RELAXED);
  if (stopped_ != stop_reason::none) b.stop(stopped_);  // it has no wait yet: nothing is cancelled
}

void join_point::start_later(branch& b, std::coroutine_handle<> frame, task_promise_base& promise) {
  add(b, frame, promise);
  b.run = &branch::begin;
  outer_->executor().post(&b);
}

void join_point::start(branch& b, std::coroutine_handle<> frame, task_promise_base& promise) {
  runner* const where = runner::current();
  BECK_ASSERT(where != nullptr, "a branch was started outside of every executor");
  if (!where->descend()) [[unlikely]]
    return start_later(b, frame, promise);
  add(b, frame, promise);
  b.run = &branch::end;
  promise.start_root(frame, b, &b, *where);
  where->ascend();
}

void branch::begin(queue_entry* entry, runner* where) {
  if (where == nullptr) return;  // the frame belongs to the parent's frame, which is destroyed
  auto& self = *static_cast<branch*>(entry);
  self.run = &end;
  self.promise_->start_root(self.frame_, self, &self, *where);
}

void branch::end(queue_entry* entry, runner* where) {
  auto& self = *static_cast<branch*>(entry);
  self.join_.ended(self, *where);
}

void join_point::ended(branch& b, runner& where) noexcept {
  scope& outer = *outer_;
  if (b.interrupted() && outer.stop_requested()) outer.note_interrupted();
  {
    stop_walk stops;
    state_guard held(lock());
    branches_.erase(b);
    on_end_(*this, b, held, stops);  // afterwards the branch may be gone
  }
  // acq_rel: the thread that takes the count to 0 sees the effects of all others, including those
  // of wait(). For the others the join point may be gone already.
  if (__atomic_sub_fetch(&running_, 1u, __ATOMIC_ACQ_REL) != 0) return;
  outer.resume_next(coroutine_, where);
}

bool join_point::wait(continuation coroutine, const wait_kind& kind) noexcept {
  coroutine_ = coroutine;
  if (!outer_->wait_at(this, kind)) {
    stop_walk stops;
    stops.tell_below(this, kind, *outer_);
  }
  if (__atomic_sub_fetch(&running_, 1u, __ATOMIC_ACQ_REL) != 0) return true;
  outer_->stop_waiting();
  return false;
}

void join_point::stop_all() noexcept {
  stop_walk stops;
  const state_guard guard(lock());
  stop_branches(stops, stop_reason::stop);
}

void join_point::stop_branches(stop_walk& stops, stop_reason why) noexcept {
  if (stopped_ == stop_reason::none) stopped_ = why;
  for (branch& one : branches_) stops.tell(one, why);
}

scope* join_point::tell_first(void* join, scope& from) noexcept {
  auto& self = *static_cast<join_point*>(join);
  self.lock().lock();
  if (self.stopped_ == stop_reason::none) self.stopped_ = from.reason();
  return self.tell(self.oldest());
}

scope* join_point::tell_next(void* join, scope& told) noexcept {
  auto& self = *static_cast<join_point*>(join);
  return self.tell(self.branches_.after(static_cast<branch&>(told)));
}

scope* join_point::tell(branch* next) noexcept {
  if (next == nullptr) lock().unlock();
  return next;
}

// The error of a window for no tasks.

void refuse_empty_window() {
  throw std::invalid_argument(
      "beck::collect_windowed, for_each_limited: at most 0 tasks at a time would never end; at "
      "least 1");
}

}  // namespace beck::detail
