// SPDX-License-Identifier: BSL-1.0
// What a coroutine inherits from the one that awaits it: one pointer to a scope in each frame. A
// scope knows where its coroutines run, what they wait for, and whether they were asked to stop. It
// belongs to the root of a tree of tasks, or to a timeout or a branch inside the tree, and outlives
// every frame below it. Cancellation goes through scopes: an await only stores a pointer here.
#pragma once

#include <coroutine>
#include <cstdint>
#include <source_location>

#include <beck/detail/deferred_init.hpp>
#include <beck/detail/loop_command.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/concurrency.hpp>
#include <beck/run/stop_token.hpp>

namespace beck::detail {

/// Why a scope was asked to stop.
enum class stop_reason : unsigned char {
  none,
  stop,      ///< somebody asked: awaited operations end with operation_aborted
  deadline,  ///< its time has passed: they end with error::timeout
};

class local_value;
class scope;
class stop_walk;

/// What a coroutine can wait for: how that is ended, and what io_context::dump() says of it. One
/// constant for each kind.
struct wait_kind {
  enum class leaf : unsigned char {
    other,                ///< something that has only its name
    operation,            ///< an operation of the context where the coroutine runs
    operation_elsewhere,  ///< of another one: only that may look at it
    inner_scope,          ///< a scope
    join,                 ///< a join_point
  };
  /// Cancels what is waited for. Called at most once for each wait, under no lock; resumes nobody.
  /// Of an inner scope and a join point: gives the first scope below, which is stopped next, so
  /// that structures of any depth need no stack. A join point that gives one stays locked.
  scope* (*cancel)(void* leaf, scope& from) noexcept;
  const char* name;  ///< "mutex"; or a function's signature that names the type (see op.hpp)
  leaf what = leaf::other;
  /// Of a join point: the scope to be stopped after `told`; nullptr: there is none, and the join
  /// point is unlocked.
  scope* (*next)(void* leaf, scope& told) noexcept = nullptr;
};

/// The environment of a tree of tasks. Never copied and never moved; frames point to it.
/// Thread: everything by who runs inside executor(); stop_source is the door for other threads.
/// Where that executor runs entries side by side (a thread_pool) a spin lock guards the scope.
class scope {
 public:
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

  /// A token that hears of a stop of this scope, for its whole life. Throws std::bad_alloc.
  stop_token token();

  /// Asks everything below to end: what is awaited is cancelled, later awaits end at once. Runs no
  /// user code but callbacks of tokens that were taken from the scopes it stops. The first request
  /// decides the reason; false: there was one before.
  bool stop(stop_reason why = stop_reason::stop) noexcept;

  // --- for what suspends coroutines --------------------------------------------------------------

  /// A coroutine waits from here on. False: the scope was stopped before, and will not tell.
  [[nodiscard]] bool wait_at(void* leaf, const wait_kind& kind) noexcept {
    const state_guard guard(lock_);
    if (stop_requested()) [[unlikely]]
      return false;
    wait_for(leaf, kind);
    return true;
  }
  /// The same for a leaf that has yet to be started, also in a scope that was stopped. Until
  /// started() a stop leaves it alone and the coroutine is not resumed; both are made up for then.
  /// stop_waiting() if it does not start.
  void wait_at_start(void* leaf, const wait_kind& kind) noexcept {
    const state_guard guard(lock_);
    wait_for(leaf, kind);
    starting_ = true;
  }
  /// Afterwards this may be gone, if entries run side by side. Requires a call from inside
  /// executor(), and that the coroutine suspends.
  void started() noexcept {
    if (lock_.is_concurrent() || stop_requested()) [[unlikely]] {
      make_up_for_start();
    } else {
      starting_ = false;
    }
  }
  void stop_waiting() noexcept {
    const state_guard guard(lock_);
    if (!cancelling_) leaf_ = nullptr;
    starting_ = false;
  }

  /// The wait is over: resumes the coroutine, as soon as those who started and who stop what it
  /// waited for have left that alone.
  void resume(std::coroutine_handle<> coroutine, runner& where) {
    if (lock_.is_concurrent() || stop_requested()) [[unlikely]] {
      resume_carefully(coroutine, where);
    } else {
      leaf_ = nullptr;
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

  /// Calls `there(leaf)` inside the loop `other`. For a wait_kind::cancel whose leaf belongs to
  /// another loop than this scope's executor. resume() waits for that call, so the leaf stays.
  void act_on(const any_io_executor& other, void (*there)(void* leaf) noexcept,
              void* leaf) noexcept;

 protected:
  void show(const local_value& innermost) noexcept { locals_ = &innermost; }

 private:
  friend struct dump_access;
  friend class stop_walk;
  struct remote_action : loop_command {
    remote_action(scope& from, function act) noexcept : loop_command(act, this), owner(&from) {}
    scope* owner;
    void* leaf;
    void (*there)(void* leaf) noexcept;
  };

  void wait_for(void* leaf, const wait_kind& kind) noexcept {
    leaf_ = leaf;
    kind_ = &kind;
    const runner* const where = runner::current();
    since_ = where != nullptr ? where->read_at : 0;
  }
  void make_up_for_start() noexcept;
  void cancel_leaf() noexcept;
  void resume_kept(state_guard& guard) noexcept;
  void resume_carefully(std::coroutine_handle<> coroutine, runner& where);
  static void act_there(void* message) noexcept;
  static void come_home(queue_entry* entry, runner* where);

  any_io_executor executor_;
  const local_value* locals_;
  void* leaf_ = nullptr;
  const wait_kind* kind_;
  state_lock lock_;
  unsigned char reason_ = 0;  // atomic; a stop_reason
  bool interrupted_ = false;  // atomic
  bool starting_ = false;     // what is waited for
  bool cancelling_ = false;   // it is told to end, so it stays, and its coroutine too
  union {
    std::int64_t since_;  // while there is a leaf: when the wait began, as far as the runner knew
    scope* held_;         // for stop_walk: the scope around this one, then the next in its list
  };
  std::coroutine_handle<> pending_;       // what resume() had to keep meanwhile
  deferred_init<remote_action> message_;  // while it is out
  stop_source told_{nostopstate};         // what token() has given tokens of
};

/// The scope of what runs on this thread when no task of ours surrounds it (a foreign coroutine
/// inside a handler): that of the context whose runner this is. Asserts outside of every run().
scope& ambient_scope() noexcept;

namespace functions {

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

/// The same, of one that is being suspended in a co_await at `at`: where it stands, in a dump. What
/// can be awaited takes `at` as a default argument of await_suspend(), so noting it costs one store
/// and only where a coroutine suspends.
template <class Promise>
scope& scope_of(std::coroutine_handle<Promise> coroutine, const std::source_location& at) noexcept {
  if constexpr (requires { coroutine.promise().note_await(at); })
    coroutine.promise().note_await(at);
  return functions::scope_of(coroutine);
}

}  // namespace functions
using namespace functions;

}  // namespace beck::detail
