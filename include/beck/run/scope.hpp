// SPDX-License-Identifier: BSL-1.0
// What a coroutine inherits from the one that awaits it: one pointer to a scope in each frame. A
// scope knows where its coroutines run, what they wait for, and whether they were asked to stop. It
// belongs to the root of a tree of tasks, or to a timeout or a branch inside the tree, and outlives
// every frame below it. Cancellation goes through scopes: an await only stores a pointer here.
#pragma once

#include <coroutine>

#include <beck/run/any_io_executor.hpp>
#include <beck/run/concurrency.hpp>

namespace beck {

/// Why a scope was asked to stop.
enum class stop_reason : unsigned char {
  none,
  stop,      ///< somebody asked: awaited operations end with operation_aborted
  deadline,  ///< its time has passed: they end with error::timeout
};

class local_value;

/// The environment of a tree of tasks. Never copied and never moved; frames point to it.
/// Thread: everything by who runs inside executor(); stop_source is the door for other threads.
/// Where that executor runs entries side by side (a thread_pool) a spin lock guards the scope.
class scope {
 public:
  /// Cancels what is waited for. Called at most once for each wait; runs no user code and resumes
  /// nobody. If that is another scope of the same executor it is given back, and stopped next: so a
  /// chain of scopes needs no stack.
  using cancel_function = scope* (*)(void* leaf, scope& from) noexcept;

  explicit scope(any_io_executor executor, const local_value* locals = nullptr) noexcept
      : executor_(std::move(executor)),
        locals_(locals),
        lock_(executor_ && executor_.table()->concurrent) {}
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Where the coroutines below this scope run.
  const any_io_executor& executor() const noexcept { return executor_; }

  /// The innermost of the values that everything below sees (coro/local_key.hpp), or nullptr.
  const local_value* locals() const noexcept { return locals_; }

  stop_reason reason() const noexcept {
    // Relaxed: a request that is seen late is late.
    return static_cast<stop_reason>(__atomic_load_n(&reason_, __ATOMIC_RELAXED));
  }
  bool stop_requested() const noexcept { return reason() != stop_reason::none; }

  /// Asks everything below to end: what is awaited is cancelled, later awaits end at once. Runs no
  /// user code. The first request decides the reason; false: there was one before.
  bool stop(stop_reason why = stop_reason::stop) noexcept;

  // --- for what suspends coroutines
  // ------------------------------------------------------------

  /// A coroutine waits from here on; `cancel` ends that early. False: the scope was stopped before,
  /// and will not tell.
  [[nodiscard]] bool wait_at(void* leaf, cancel_function cancel) noexcept {
    const state_guard guard(lock_);
    if (stop_requested()) [[unlikely]]
      return false;
    leaf_ = leaf;
    cancel_ = cancel;
    return true;
  }
  void stop_waiting() noexcept {
    const state_guard guard(lock_);
    leaf_ = nullptr;
  }

  /// The wait is over: resumes the coroutine, as soon as a stop has left what it waited for alone.
  void resume(std::coroutine_handle<> coroutine, runner& where) {
    stop_waiting();
    if (stop_requested()) [[unlikely]] {
      resume_stopped(coroutine, where);
    } else {
      where.resume(coroutine);
    }
  }

  /// As resume(), when the coroutine that runs now has unwound; for a wait that has no leaf
  /// elsewhere. Requires a call from inside runner::resume().
  void resume_next(std::coroutine_handle<> coroutine, runner& where) noexcept;

  /// The result of an operation that this scope has refused or cancelled.
  int stop_result() noexcept;
  /// `result`, but a cancelled one says why.
  int explain(int result) noexcept;
  /// Whether something below has ended because of the stop; else it came too late to matter.
  bool interrupted() const noexcept { return __atomic_load_n(&interrupted_, __ATOMIC_RELAXED); }
  void note_interrupted() noexcept { __atomic_store_n(&interrupted_, true, __ATOMIC_RELAXED); }

  /// For a cancel_function whose leaf belongs to another executor: calls `there(leaf)` inside that.
  /// resume() waits until it has been, so the leaf stays.
  void visit(const any_io_executor& other, void (*there)(void* leaf) noexcept, void* leaf) noexcept;

 protected:
  void show(const local_value& innermost) noexcept { locals_ = &innermost; }

 private:
  struct visit_message : queue_entry {
    scope* owner;
    void* leaf;
    void (*there)(void* leaf) noexcept;
  };

  void resume_stopped(std::coroutine_handle<> coroutine, runner& where);
  static void act_there(queue_entry* entry, runner* where);
  static void come_home(queue_entry* entry, runner* where);

  any_io_executor executor_;
  const local_value* locals_;
  void* leaf_ = nullptr;
  cancel_function cancel_;
  state_lock lock_;
  unsigned char reason_ = 0;         // atomic; a stop_reason
  bool interrupted_ = false;         // atomic
  bool away_ = false;                // the message is out
  scope* held_ = nullptr;            // for stop(): the scope around this one
  std::coroutine_handle<> pending_;  // what resume() had to keep meanwhile
  visit_message message_;
};

/// The scope of what runs on this thread when no task of ours surrounds it (a foreign coroutine
/// inside a handler): that of the context whose runner this is. Asserts outside of every run().
scope& ambient_scope() noexcept;

/// The scope of a suspended coroutine: its promise's, or the ambient one for foreign coroutine
/// types.
template <class Promise>
scope& scope_of(std::coroutine_handle<Promise> coroutine) noexcept {
  if constexpr (requires { coroutine.promise().current_scope(); }) {
    return coroutine.promise().current_scope();
  } else {
    return ambient_scope();
  }
}

}  // namespace beck
