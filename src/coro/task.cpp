// SPDX-License-Identifier: BSL-1.0
// Starting and finishing tasks: the only code that decides whether a parent continues because the
// start of its child returned, or because the runner's trampoline resumes it.
#include <beck/coro/task.hpp>

#include <atomic>

#include <beck/base/assert.hpp>

#include "base/use_check.hpp"

namespace beck::detail {

void task_base::refuse_empty() noexcept {
  BECK_ASSERT(false, "an empty task is awaited or spawned: it was moved from, or awaited before");
  __builtin_unreachable();
}

void task_promise_base::refuse_started() noexcept {
  BECK_ASSERT(false, "a task was awaited twice, or spawned when it was awaited before");
  __builtin_unreachable();
}

runner* task_promise_base::begin_inside(std::coroutine_handle<> self, continuation parent,
                                        scope& environment) {
  held_locks::must_be_none();
  require_fresh();
  runner* const where = runner::current();
  BECK_ASSERT(where != nullptr,
              "a task was awaited outside of every executor; use co_spawn or sync_wait");
  scope_ = &environment;
  parent_ = parent;
  if (where->descend()) return where;
  phase_ = phase::suspended;  // too deep for this stack: the trampoline starts it from the bottom
  const bool queued = where->resume_next(self);
  BECK_ASSERT(queued, "two coroutines want to continue after one entry");
  return nullptr;
}

bool task_promise_base::start_inline(std::coroutine_handle<> self, continuation parent,
                                     scope& environment) {
  runner* const where = begin_inside(self, parent, environment);
  if (where == nullptr) [[unlikely]]
    return true;
  phase_ = phase::inlined;
  self.resume();
  where->ascend();
  if (phase_ == phase::finished) return false;
  phase_ = phase::suspended;
  return true;
}

bool task_promise_base::start_concurrent(std::coroutine_handle<> self, continuation parent,
                                         scope& environment) {
  runner* const where = begin_inside(self, parent, environment);
  if (where == nullptr) return true;
  phase_ = phase::racing;
  self.resume();
  where->ascend();
  // Release, on success, pairs with finish(), which then resumes the parent. Acquire, on failure,
  // pairs with finish() too: it came first, and the parent continues here with the result.
  phase seen = phase::racing;
  return std::atomic_ref(phase_).compare_exchange_strong(
      seen, phase::suspended, std::memory_order_release, std::memory_order_acquire);
}

void task_promise_base::start_root(std::coroutine_handle<> self, scope& environment,
                                   queue_entry* after, runner& where) {
  held_locks::must_be_none();
  require_fresh();
  scope_ = &environment;
  after_ = after;
  phase_ = phase::root;
  where.resume(self);
}

void task_promise_base::finish() noexcept {
  const std::atomic_ref shared(phase_);
  phase now = shared.load(std::memory_order_acquire);  // pairs with start_concurrent()
  if (now == phase::inlined) {
    phase_ = phase::finished;
    return;
  }
  if (now == phase::racing &&
      shared.compare_exchange_strong(now, phase::finished, std::memory_order_release,
                                     std::memory_order_acquire)) {
    return;  // the parent continues where it started this task; the frame may be gone
  }
  runner* const where = runner::current();
  if (now == phase::root) {
    where->run_after_unwind(after_);
    return;
  }
  if (parent_promise_ != nullptr) parent_promise_->child_ = nullptr;
  const bool queued = where->resume_next(parent_);
  BECK_ASSERT(queued, "two coroutines want to continue after one entry");
}

/// Destroys the frames below this one, innermost first and without recursion.
void task_promise_base::destroy_chain() noexcept {
  task_promise_base* at = this;
  while (at->child_ != nullptr) at = at->child_->promise_;
  while (at != this) {
    at = at->parent_promise_;
    task_base& child = *std::exchange(at->child_, nullptr);
    destroy_frame(std::exchange(child.frame_, nullptr));
  }
}

}  // namespace beck::detail
