// SPDX-License-Identifier: BSL-1.0
// What a coroutine inherits from the one that awaits it: one pointer to a scope in each frame. A
// scope knows where its coroutines run, what they wait for, and whether they were asked to stop. It
// belongs to the root of a tree of tasks, or to a timeout or a branch inside the tree, and outlives
// every frame below it. Cancellation goes through scopes: an await only stores a pointer here.
#pragma once

#include <coroutine>

#include <beck/run/any_io_executor.hpp>

namespace beck {

/// Why a scope was asked to stop.
enum class stop_reason : unsigned char {
  none,
  stop,      ///< somebody asked: awaited operations end with operation_aborted
  deadline,  ///< its time has passed: they end with error::timeout
};

/// The environment of a tree of tasks. Never copied and never moved; frames point to it.
/// Thread: everything by who runs inside executor(), but request_stop() and reason(): any thread.
class scope {
 public:
  /// Cancels what is waited for. Called inside the executor, at most once for each wait; runs no
  /// user code and resumes nobody.
  using cancel_function = void (*)(void* leaf, scope& from) noexcept;

  explicit scope(any_io_executor executor) noexcept : executor_(std::move(executor)) {}
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Where the coroutines below this scope run.
  const any_io_executor& executor() const noexcept { return executor_; }

  stop_reason reason() const noexcept {
    return static_cast<stop_reason>(__atomic_load_n(&state_, __ATOMIC_RELAXED) & reason_mask);
  }
  bool stop_requested() const noexcept { return reason() != stop_reason::none; }

  /// Asks everything below to end: what is awaited is cancelled, later awaits end at once. The
  /// first request decides the reason; false: there was one before. Never runs user code inside the
  /// call. Any thread, while the scope lives.
  bool request_stop(stop_reason why = stop_reason::stop) noexcept;
  /// The same for a caller that may touch the scope: it is inside the executor, or it runs the only
  /// thread on which that executor's entries run.
  bool stop_here(stop_reason why) noexcept;

  // --- for what suspends coroutines
  // ------------------------------------------------------------

  /// A coroutine waits from here on; `cancel` ends that early. Requires !stop_requested().
  void wait_at(void* leaf, cancel_function cancel) noexcept {
    leaf_ = leaf;
    cancel_ = cancel;
  }
  void stop_waiting() noexcept { leaf_ = nullptr; }

  /// The wait is over: resumes the coroutine, as soon as no stop message of the scope is on its
  /// way.
  void resume(std::coroutine_handle<> coroutine, runner& where) {
    leaf_ = nullptr;
    if (__atomic_load_n(&state_, __ATOMIC_RELAXED) != 0) [[unlikely]] {
      resume_stopped(coroutine, where);
    } else {
      where.resume(coroutine);
    }
  }

  /// Whether the scope may end now. False: a stop message is on its way to it, and `coroutine` is
  /// resumed, or `then` run, when that has arrived.
  bool may_continue(std::coroutine_handle<> coroutine) noexcept {
    if (!message_out()) [[likely]]
      return true;
    pending_ = coroutine;
    return false;
  }
  bool may_end(queue_entry* then) noexcept {
    if (!message_out()) [[likely]]
      return true;
    then_ = then;
    return false;
  }

  /// The result of an operation that this scope has refused or cancelled.
  int stop_result() noexcept;
  /// `result`, but a cancelled one says why.
  int explain(int result) noexcept;
  /// Whether something below has ended because of the stop; else it came too late to matter.
  bool interrupted() const noexcept { return interrupted_; }

  /// Lets the stop message visit another executor: `there(leaf)` is called inside it. The scope
  /// cannot end before the message is back. For cancelling what belongs to another context.
  void visit(const any_io_executor& other, void (*there)(void* leaf) noexcept,
             void* leaf) noexcept;

 private:
  static constexpr unsigned reason_mask = 3;
  static constexpr unsigned posted = 4;   // the message was sent from outside
  static constexpr unsigned handled = 8;  // what was waited for then has been cancelled

  bool message_out() const noexcept {
    return away_ || (__atomic_load_n(&state_, __ATOMIC_ACQUIRE) & (posted | handled)) == posted;
  }
  void resume_stopped(std::coroutine_handle<> coroutine, runner& where);
  void cancel_leaf() noexcept;
  void continue_pending(runner& where);
  static void arrive(queue_entry* entry, runner* where);
  static void act_there(queue_entry* entry, runner* where);
  static void come_home(queue_entry* entry, runner* where);

  /// Carries a stop to the executor, and from there to what is waited for, if that is elsewhere.
  struct stop_message : queue_entry {
    scope* owner;
    void* leaf;
    void (*there)(void* leaf) noexcept;
  };

  any_io_executor executor_;
  void* leaf_ = nullptr;
  cancel_function cancel_;
  unsigned state_ = 0;  // atomic; set once by whoever asks first
  bool away_ = false;   // the message visits another executor
  bool interrupted_ = false;
  std::coroutine_handle<> pending_;
  queue_entry* then_ = nullptr;
  stop_message message_;
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
