// SPDX-License-Identifier: BSL-1.0
// Several tasks under one parent: each is a branch with a scope of its own, and the parent
// continues when the last of them has ended. when_all, when_any and task_group are built on it.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/intrusive_list.hpp>

namespace beck::detail {

class join_point;

/// Returns the scope of the awaiting coroutine; never suspends.
class current_scope {
 public:
  current_scope() noexcept {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    scope_ = &detail::scope_of(coroutine);
    return false;
  }
  scope& await_resume() const noexcept { return *scope_; }

 private:
  scope* scope_ = nullptr;
};

/// A task that runs beside others, and its scope. It does not move from its start to its end.
class branch : private queue_entry, private scope {
 public:
  /// Makes a branch of `join`. `spawned_at`: the place that dumps show, if it is not the place
  /// where the join point is awaited.
  explicit branch(join_point& join,
                  const std::source_location& spawned_at = std::source_location()) noexcept;
  branch(const branch&) = delete;
  branch& operator=(const branch&) = delete;

  /// Returns whether the task has ended with an exception.
  bool failed() const noexcept { return promise_->failed(); }
  /// Returns the exception of the task, or null.
  std::exception_ptr exception() const noexcept { return promise_->exception(); }
  /// Returns whether the branch was stopped and the stop ended something in it: its result is then
  /// incomplete.
  using scope::interrupted;

 private:
  friend class join_point;
  friend struct dump_access;

  static void begin(queue_entry* entry, runner* where);
  static void end(queue_entry* entry, runner* where);

  join_point& join_;
  std::coroutine_handle<> frame_;
  task_promise_base* promise_ = nullptr;
  list_hook hook_;
  unsigned number_ = 0;  // counts the branches of its join point
  std::source_location spawned_at_;
};

/// The place where a coroutine waits for its branches. A stop of the coroutine's scope stops them
/// all. Thread: every function is called from inside the coroutine's executor.
class join_point {
 public:
  /// Called under the lock when a branch has ended, before the parent continues. It decides, and
  /// unlocks (`held.unlock()`) before it does anything else; the branches that it has told to stop
  /// through `stops` are cancelled when the lock is released.
  using end_function = void (*)(join_point& self, branch& ended, state_guard& held,
                                stop_walk& stops) noexcept;

  explicit join_point(end_function on_end) noexcept : on_end_(on_end) {}
  ~join_point() {
    while (branches_.pop_front() != nullptr) {}  // a context is destroyed: they outlive this
  }
  join_point(const join_point&) = delete;
  join_point& operator=(const join_point&) = delete;

  /// Sets the coroutine's scope. Called before any branch is started.
  void open(scope& outer) noexcept {
    outer_ = &outer;
    lock_.emplace(outer.executor().table()->concurrent);
  }
  /// Returns the coroutine's scope.
  scope& outer() const noexcept { return *outer_; }
  /// Returns the lock of the branches: where the executor runs entries in parallel, branches may
  /// end, spawn and be stopped at the same time.
  state_lock& lock() noexcept { return *lock_; }

  /// Starts a branch inside the calling coroutine, or queues it if the stack is deep.
  void start(branch& b, std::coroutine_handle<> frame, task_promise_base& promise);
  /// Queues the start of a branch. The coroutine is waiting already, or will wait.
  void start_later(branch& b, std::coroutine_handle<> frame, task_promise_base& promise);

  /// Makes `coroutine` wait until all branches have ended; cancelling that wait stops them. Returns
  /// false if all have ended already.
  bool wait(continuation coroutine, const wait_kind& kind) noexcept;

  /// Stops all branches, and those that are started later.
  void stop_all() noexcept;
  /// Tells all branches to stop, as stop_all(). Requires that the caller holds the lock; the
  /// branches are cancelled when it is released.
  void stop_branches(stop_walk& stops, stop_reason why) noexcept;
  /// Returns the reason for which branches that are started from now on are stopped at once, or
  /// stop_reason::none.
  stop_reason stopped() const noexcept { return stopped_; }

  // Functions for wait_kinds: a stop goes from branch to branch.
  static scope* tell_first(void* join, scope& from) noexcept;
  static scope* tell_next(void* join, scope& told) noexcept;

 protected:
  /// Tells `next` to stop and returns its scope, with the lock held; if `next` is nullptr, unlocks
  /// and returns nullptr.
  scope* tell(branch* next) noexcept;
  branch* oldest() noexcept { return branches_.front(); }

 private:
  friend class branch;
  friend struct dump_access;

  void add(branch& b, std::coroutine_handle<> frame, task_promise_base& promise) noexcept;
  void ended(branch& b, runner& where) noexcept;

  scope* outer_ = nullptr;
  deferred_init<state_lock> lock_;
  end_function on_end_;
  continuation coroutine_;
  intrusive_list<branch, &branch::hook_> branches_;  // those that have not ended, oldest first
  unsigned numbers_ = 0;
  unsigned running_ = 1;  // atomic; one more until wait()
  stop_reason stopped_ = stop_reason::none;
};

}  // namespace beck::detail
