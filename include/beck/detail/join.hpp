// SPDX-License-Identifier: BSL-1.0
// Several tasks under one parent: each is a branch with a scope of its own, and the parent goes on
// when the last of them has ended. What when_all, when_any and task_group are made of.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/intrusive_list.hpp>

namespace beck::detail {

class join_point;

/// Gives the scope of the awaiting coroutine; never suspends.
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

/// A task that runs beside others, and its scope. It stays where it is from its start to its end.
class branch : private queue_entry, private scope {
 public:
  /// `spawned_at`: if not where its join point is awaited; for dumps.
  explicit branch(join_point& join,
                  const std::source_location& spawned_at = std::source_location()) noexcept;
  branch(const branch&) = delete;
  branch& operator=(const branch&) = delete;

  bool failed() const noexcept { return promise_->failed(); }
  std::exception_ptr exception() const noexcept { return promise_->exception(); }
  /// Whether it was stopped, and that ended something in it: its result is not the whole.
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
  unsigned number_ = 0;  // of its join point's branches
  std::source_location spawned_at_;
};

/// The place where a coroutine waits for its branches. A stop of the coroutine's scope stops them
/// all. Thread: who runs inside the coroutine's executor.
class join_point {
 public:
  /// What is to happen when a branch has ended, before the parent goes on. Called under the lock,
  /// which it gives back (`held.unlock()`) before it does anything but decide; what it has told
  /// through `stops` is cancelled when the lock is given back.
  using end_function = void (*)(join_point& self, branch& ended, state_guard& held,
                                stop_walk& stops) noexcept;

  explicit join_point(end_function on_end) noexcept : on_end_(on_end) {}
  ~join_point() {
    while (branches_.pop_front() != nullptr) {}  // a context dies: they go later than this
  }
  join_point(const join_point&) = delete;
  join_point& operator=(const join_point&) = delete;

  /// The coroutine's scope, from now on; nothing was started yet.
  void open(scope& outer) noexcept {
    outer_ = &outer;
    lock_.emplace(outer.executor().table()->concurrent);
  }
  scope& outer() const noexcept { return *outer_; }
  /// Where the executor runs entries side by side, branches may end, spawn and be stopped at once.
  state_lock& lock() noexcept { return *lock_; }

  /// Starts a branch inside the calling coroutine, or behind what is queued if the stack is deep.
  void start(branch& b, std::coroutine_handle<> frame, task_promise_base& promise);
  /// Starts it behind what is queued. The coroutine waits already, or will.
  void start_later(branch& b, std::coroutine_handle<> frame, task_promise_base& promise);

  /// The coroutine waits until all branches have ended; to cancel that is to stop them. False: they
  /// have.
  bool wait(std::coroutine_handle<> coroutine, const wait_kind& kind) noexcept;

  /// Stops all branches, and those that are still to be started.
  void stop_all() noexcept;
  /// The same by who holds the lock: they are told, and cancelled when it is given back.
  void stop_branches(stop_walk& stops, stop_reason why) noexcept;
  /// Why branches that are started now start stopped.
  stop_reason stopped() const noexcept { return stopped_; }

  // For wait_kinds: a stop goes from branch to branch.
  static scope* tell_first(void* join, scope& from) noexcept;
  static scope* tell_next(void* join, scope& told) noexcept;

 protected:
  /// Under the lock, which is given back if there is none.
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
  std::coroutine_handle<> coroutine_;
  intrusive_list<branch, &branch::hook_> branches_;  // that have not ended, oldest first
  unsigned numbers_ = 0;
  unsigned running_ = 1;  // atomic; one more until wait()
  stop_reason stopped_ = stop_reason::none;
};

}  // namespace beck::detail
