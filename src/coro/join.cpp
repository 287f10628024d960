// SPDX-License-Identifier: BSL-1.0
// Branches: started inside the parent, ended behind the unwinding of their coroutines, counted.
#include <beck/coro/join.hpp>

#include <beck/base/assert.hpp>

namespace beck {

branch::branch(join_point& join, const std::source_location& spawned_at) noexcept
    : scope_(join.outer().executor(), join.outer().locals()), join_(join), spawned_at_(spawned_at) {
  if (join.outer().stop_requested()) scope_.stop(join.outer().reason());
}

void join_point::add(branch& b, std::coroutine_handle<> frame,
                     task_promise_base& promise) noexcept {
  b.frame_ = frame;
  b.promise_ = &promise;
  b.number_ = ++numbers_;
  branches_.push_back(b);
  __atomic_fetch_add(&running_, 1u, __ATOMIC_RELAXED);
}

void join_point::start_later(branch& b, std::coroutine_handle<> frame, task_promise_base& promise) {
  const state_guard guard(lock());
  start_later_locked(b, frame, promise);
}

void join_point::start_later_locked(branch& b, std::coroutine_handle<> frame,
                                    task_promise_base& promise) {
  add(b, frame, promise);
  b.run = &branch::begin;
  outer_->executor().post(&b);
}

void join_point::start(branch& b, std::coroutine_handle<> frame, task_promise_base& promise) {
  {
    const state_guard guard(lock());
    add(b, frame, promise);
  }
  runner* const where = runner::current();
  BECK_ASSERT(where != nullptr, "a branch was started outside of every executor");
  if (!where->descend()) [[unlikely]] {
    b.run = &branch::begin;
    outer_->executor().post(&b);
    return;
  }
  b.run = &branch::end;
  promise.start_root(frame, b.scope_, &b, *where);
  where->ascend();
}

void branch::begin(queue_entry* entry, runner* where) {
  if (where == nullptr) return;  // the frame belongs to the parent's, which is destroyed
  auto& self = *static_cast<branch*>(entry);
  self.run = &end;
  self.promise_->start_root(self.frame_, self.scope_, &self, *where);
}

void branch::end(queue_entry* entry, runner* where) {
  auto& self = *static_cast<branch*>(entry);
  self.join_.ended(self, *where);
}

void join_point::ended(branch& b, runner& where) noexcept {
  scope& outer = *outer_;
  if (b.interrupted() && outer.stop_requested()) outer.note_interrupted();
  {
    const state_guard guard(lock());
    branches_.erase(b);
    on_end_(*this, b);  // the branch may be gone after it
  }
  // acq_rel: the last one has seen what all others did, wait() among them. Only for that one this
  // is still there.
  if (__atomic_sub_fetch(&running_, 1u, __ATOMIC_ACQ_REL) != 0) return;
  outer.resume_next(coroutine_, where);
}

bool join_point::wait(std::coroutine_handle<> coroutine, const wait_kind& kind) noexcept {
  coroutine_ = coroutine;
  if (!outer_->wait_at(this, kind)) kind.cancel(this, *outer_);
  if (__atomic_sub_fetch(&running_, 1u, __ATOMIC_ACQ_REL) != 0) return true;
  outer_->stop_waiting();
  return false;
}

}  // namespace beck
