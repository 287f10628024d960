// SPDX-License-Identifier: BSL-1.0
// Starting and finishing tasks: the only code that decides whether a parent continues because the
// call returned, or because the runner's trampoline resumes it.
#include <beck/coro/task.hpp>

#include <beck/base/assert.hpp>

namespace beck {

bool task_promise_base::start_inline(std::coroutine_handle<> self, std::coroutine_handle<> parent,
                                     scope& environment) {
  BECK_ASSERT(phase_ == phase::fresh, "a task was awaited twice");
  runner* const where = runner::current();
  BECK_ASSERT(where != nullptr,
              "a task was awaited outside of every executor; use co_spawn or sync_wait");
  scope_ = &environment;
  parent_ = parent;
  if (!where->descend()) [[unlikely]] {  // too deep for this stack: continue from its bottom
    phase_ = phase::suspended;
    const bool queued = where->resume_next(self);
    BECK_ASSERT(queued, "two coroutines want to continue after one entry");
    return true;
  }
  phase_ = phase::inlined;
  self.resume();
  where->ascend();
  if (phase_ == phase::finished) return false;
  phase_ = phase::suspended;
  return true;
}

void task_promise_base::start_root(std::coroutine_handle<> self, scope& environment,
                                   queue_entry* after, runner& where) {
  BECK_ASSERT(phase_ == phase::fresh, "a task was started twice");
  scope_ = &environment;
  after_ = after;
  phase_ = phase::root;
  where.resume(self);
}

void task_promise_base::finish() noexcept {
  if (phase_ == phase::inlined) {
    phase_ = phase::finished;
    return;
  }
  runner* const where = runner::current();
  if (phase_ == phase::root) {
    where->run_after_unwind(after_);
    return;
  }
  if (parent_promise_ != nullptr) parent_promise_->child_ = nullptr;
  const bool queued = where->resume_next(parent_);
  BECK_ASSERT(queued, "two coroutines want to continue after one entry");
}

void task_promise_base::destroy_chain() noexcept {
  task_promise_base* at = this;
  while (at->child_ != nullptr) at = at->child_->promise_;
  while (at != this) {
    at = at->parent_promise_;
    task_base& child = *std::exchange(at->child_, nullptr);
    std::exchange(child.frame_, nullptr).destroy();
  }
}

}  // namespace beck
