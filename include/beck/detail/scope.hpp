// SPDX-License-Identifier: BSL-1.0
// The environment that a coroutine inherits from the coroutine that awaits it: one pointer to a
// scope in each frame. A scope knows where its coroutines run, which wait they are in, and whether
// they were asked to stop. It belongs to the root of a tree of tasks, or to a timeout or a branch
// inside the tree, and outlives every frame below it. Cancellation goes through scopes: an await
// only stores a pointer here.
#pragma once

#include <coroutine>
#include <cstdint>
#include <source_location>

#include <beck/detail/continuation.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/loop_command.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/concurrency.hpp>
#include <beck/run/stop_token.hpp>

namespace beck::detail {

/// The reason for which a scope was asked to stop.
enum class stop_reason : unsigned char {
  none,
  stop,      ///< a stop was requested: awaited operations end with operation_aborted
  deadline,  ///< a deadline has passed: awaited operations end with error::timeout
};

class local_value;
class scope;
class stop_walk;

/// Describes a kind of wait: how it is cancelled, and the text that io_context::dump() prints.
/// There is one constant for each kind.
struct wait_kind {
  enum class leaf : unsigned char {
    other,                ///< a leaf of which only the name is known
    operation,            ///< an operation of the context where the coroutine runs
    operation_elsewhere,  ///< an operation of another context: only that may read it
    inner_scope,          ///< a scope
    join,                 ///< a join_point
  };
  /// Cancels `leaf`, for which the coroutine waits. Called at most once for each wait, with no lock
  /// held; resumes no coroutine. For an inner scope and a join point: returns the first scope
  /// below, which is stopped next, so that structures of any depth need no stack; a join point that
  /// returns a scope stays locked. Otherwise returns nullptr.
  scope* (*cancel)(void* leaf, scope& from) noexcept;
  const char* name;  ///< "mutex"; or a function's signature that names the type (see op.hpp)
  leaf what = leaf::other;
  /// For a join point: returns the scope that is stopped after `told`; nullptr if there is none,
  /// and the join point is then unlocked.
  scope* (*next)(void* leaf, scope& told) noexcept = nullptr;
};

/// The environment of a tree of tasks. Never copied and never moved; frames point to it. Thread:
/// every function is called from inside executor(); other threads stop a scope through its
/// stop_source. Where that executor runs entries in parallel (a thread_pool) a spin lock guards the
/// scope.
class scope {
 public:
  /// Makes a scope whose coroutines run on `executor` and see the values `locals`.
  explicit scope(any_io_executor executor, const local_value* locals = nullptr) noexcept
      : executor_(std::move(executor)),
        locals_(locals),
        lock_(executor_ && executor_.table()->concurrent) {}
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Returns the executor on which the coroutines below this scope run.
  const any_io_executor& executor() const noexcept { return executor_; }

  /// Returns the innermost of the values that the coroutines below see (coro/local_key.hpp), or
  /// nullptr.
  const local_value* locals() const noexcept { return locals_; }

  /// Returns the reason of the stop, or stop_reason::none.
  stop_reason reason() const noexcept {
    // Relaxed: a stop request may be seen late.
    return static_cast<stop_reason>(__atomic_load_n(&reason_, __ATOMIC_RELAXED));
  }
  /// Returns whether the scope was asked to stop.
  bool stop_requested() const noexcept { return reason() != stop_reason::none; }

  /// Returns a token through which callbacks learn of a stop of this scope, for its whole life.
  /// Throws std::bad_alloc.
  stop_token token();

  /// Requests a stop of everything below: the operations that are awaited are cancelled, and later
  /// awaits end at once. Runs no user code except callbacks of tokens that were taken from the
  /// scopes that it stops. The first request decides the reason; returns false if there was one
  /// before.
  bool stop(stop_reason why = stop_reason::stop) noexcept;

  // --- for awaitables that suspend coroutines ----------------------------------------------------

  /// Registers `leaf` as the operation or structure that the coroutine waits for. Returns false if
  /// the scope has already been stopped; `leaf` will then never be cancelled.
  [[nodiscard]] bool wait_at(void* leaf, const wait_kind& kind) noexcept {
    const state_guard guard(lock_);
    if (stop_requested()) [[unlikely]]
      return false;
    wait_for(leaf, kind);
    return true;
  }
  /// Registers `leaf`, which has yet to be started, as wait_at(), also in a scope that was stopped.
  /// Until started(), a stop does not cancel it and resume() does not resume the coroutine;
  /// started() then does both. If `leaf` does not start, stop_waiting() must be called.
  void wait_at_start(void* leaf, const wait_kind& kind) noexcept {
    const state_guard guard(lock_);
    wait_for(leaf, kind);
    starting_ = true;
  }
  /// Ends the start of the leaf. If entries run in parallel, the scope may be gone afterwards.
  /// Requires a call from inside executor(), and that the coroutine suspends.
  void started() noexcept {
    if (lock_.is_concurrent() || stop_requested()) [[unlikely]] {
      make_up_for_start();
    } else {
      starting_ = false;
    }
  }
  /// Unregisters the leaf: the coroutine waits for nothing any more.
  void stop_waiting() noexcept {
    const state_guard guard(lock_);
    if (!cancelling_) leaf_ = nullptr;
    starting_ = false;
  }

  /// Resumes the coroutine, once a concurrent start or cancellation of the awaited operation has
  /// finished.
  void resume(continuation coroutine, runner& where) {
    if (lock_.is_concurrent() || stop_requested()) [[unlikely]] {
      resume_carefully(coroutine, where);
    } else {
      leaf_ = nullptr;
      where.resume(coroutine);
    }
  }

  /// Resumes the coroutine when the coroutine that is running now has unwound; else as resume().
  /// For a wait that has no leaf on another loop. Requires a call from inside runner::resume().
  void resume_next(continuation coroutine, runner& where) noexcept;

  /// Returns the result of an operation that this scope has refused or cancelled, and notes the
  /// interruption.
  int stop_result() noexcept;
  /// Returns stop_result() if `result` is a cancellation, else `result`.
  int explain(int result) noexcept;
  /// Returns whether something below has ended because of the stop; false if the stop came too late
  /// to have an effect.
  bool interrupted() const noexcept { return __atomic_load_n(&interrupted_, __ATOMIC_RELAXED); }
  /// Notes that something below has ended because of the stop.
  void note_interrupted() noexcept { __atomic_store_n(&interrupted_, true, __ATOMIC_RELAXED); }

  /// Calls `there(leaf)` inside the loop `other`. For a wait_kind::cancel whose leaf belongs to
  /// another loop than this scope's executor. resume() waits for that call, so the leaf stays until
  /// then.
  void act_on(const any_io_executor& other, void (*there)(void* leaf) noexcept,
              void* leaf) noexcept;

 protected:
  /// Sets the innermost of the values that the coroutines below see.
  void show(const local_value& innermost) noexcept { locals_ = &innermost; }

 private:
  friend struct dump_access;
  friend class stop_walk;
  struct remote_action : loop_command {
    explicit remote_action(scope& from) noexcept : loop_command(&act_there, &from) {}
    void* leaf;
    void (*there)(void* leaf) noexcept;
  };

  void wait_for(void* leaf, const wait_kind& kind) noexcept {
    leaf_ = leaf;
    kind_ = &kind;
    const runner* const where = runner::current();
    since_ = where != nullptr ? where->read_at : 0;
  }
  remote_action* make_message() noexcept;
  void make_up_for_start() noexcept;
  void cancel_leaf() noexcept;
  void resume_kept(state_guard& guard) noexcept;
  void resume_carefully(continuation coroutine, runner& where);
  static void act_there(void* self) noexcept;
  static void come_home(queue_entry* entry, runner* where);

  any_io_executor executor_;
  const local_value* locals_;
  void* leaf_ = nullptr;
  const wait_kind* kind_;
  state_lock lock_;
  unsigned char reason_ = 0;  // atomic; a stop_reason
  bool interrupted_ = false;  // atomic
  bool starting_ = false;     // the leaf is being started
  bool cancelling_ = false;   // the leaf is being cancelled: it stays, and its coroutine too
  bool has_message_ = false;  // message_ is on its way
  union {
    std::int64_t since_;  // while there is a leaf: the start of the wait, by runner::read_at
    scope* held_;         // for stop_walk: the scope around this one, then the next in its list
  };
  continuation pending_;           // the coroutine that resume() has put off
  stop_source told_{nostopstate};  // the source of token()'s tokens
  union {
    char no_message_ = 0;
    remote_action message_;
  };
};

/// Returns the scope for code that runs on this thread outside of every task of this library (a
/// foreign coroutine inside a handler): that of the context whose runner this is. Asserts outside
/// of every run().
scope& ambient_scope() noexcept;

namespace functions {

/// Returns the scope of a suspended coroutine: that of its promise, or the ambient one for foreign
/// coroutine types.
template <class Promise>
scope& scope_of(std::coroutine_handle<Promise> coroutine) noexcept {
  if constexpr (requires { coroutine.promise().current_scope(); }) {
    return coroutine.promise().current_scope();
  } else {
    return ambient_scope();
  }
}

/// Returns the scope of a coroutine that is being suspended in a co_await at `at`, and notes that
/// place for dumps. Awaitables take `at` as a default argument of await_suspend(), so noting it
/// costs one store, and only where a coroutine suspends.
template <class Promise>
scope& scope_of(std::coroutine_handle<Promise> coroutine, const std::source_location& at) noexcept {
  if constexpr (requires { coroutine.promise().note_await(at); })
    coroutine.promise().note_await(at);
  return functions::scope_of(coroutine);
}

}  // namespace functions

}  // namespace beck::detail
