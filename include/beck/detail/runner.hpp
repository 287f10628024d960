// SPDX-License-Identifier: BSL-1.0
// The state of a thread while it executes entries: the budget that keeps one entry from starving
// the others, the depth that keeps the stack bounded, and the slots through which coroutines
// continue after the current one has unwound. Every executor runs its entries inside a runner, so
// the rules hold for contexts, strands and foreign executors alike.
#pragma once

#include <coroutine>
#include <cstdint>
#include <utility>

#include <beck/detail/continuation.hpp>
#include <beck/detail/queue_entry.hpp>

namespace beck::detail {

/// Counters of one runner; read them through the statistics of its context.
struct runner_counters {
  /// User handlers and resumptions that were queue entries.
  std::uint64_t delivered = 0;
  /// Operations that finished without suspending or queueing.
  std::uint64_t inline_completions = 0;
  /// Operations that had to queue because the budget was spent.
  std::uint64_t budget_stops = 0;
  /// Deepest nesting of tasks started inline.
  std::uint32_t depth_max = 0;
};

class scope;

/// The execution state of one thread at a time. Not copyable; used only by the thread it is bound
/// to.
class runner {
 public:
  /// The budget of one queue entry, after which it must yield: a memory-only result costs 1, a
  /// system call 8, and 1 more for every 16 KiB moved. Nothing but the next entry and refill()
  /// restores it.
  static constexpr unsigned budget_per_entry = 128;
  static constexpr unsigned memory_weight = 1;
  static constexpr unsigned call_weight = 8;
  static constexpr unsigned bytes_per_weight = 16384;
  /// The number of tasks that may be started inside one another on one stack; deeper ones go
  /// through the trampoline.
  static constexpr unsigned depth_max = 64;
  /// The number of callbacks that may run inside one another through an immediate executor; deeper
  /// ones are queued.
  static constexpr unsigned immediate_depth_max = 16;

  runner() noexcept = default;
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

  /// Returns the runner bound to this thread, or nullptr outside of every run().
  static runner* current() noexcept { return current_; }

  /// Binds a runner to the thread for the life of the object; nests (a handler may poll another
  /// context).
  class binding {
   public:
    explicit binding(runner& r) noexcept : previous_(current_) { current_ = &r; }
    ~binding() { current_ = previous_; }
    binding(const binding&) = delete;
    binding& operator=(const binding&) = delete;

   private:
    runner* previous_;
  };

  /// Runs `entry` with a full budget. Exceptions that the entry throws pass through.
  void run(queue_entry* entry) {
    budget_ = budget_per_entry;
    entry->run(entry, this);
  }

  /// Restores the full budget. For an executor that spends it outside of every entry.
  void refill() noexcept { budget_ = budget_per_entry; }

  /// Takes `weight` from the budget before an attempt. Returns false if the budget is spent: the
  /// caller queues instead. An attempt may overdraw once, so that a large weight is never refused
  /// for ever.
  bool spend(unsigned weight) noexcept {
    if (budget_ == 0) {
      ++counters.budget_stops;
      return false;
    }
    budget_ = budget_ > weight ? budget_ - weight : 0;
    return true;
  }

  /// Takes `weight` from the budget after an attempt, for the bytes that it has moved.
  void charge(unsigned weight) noexcept { budget_ = budget_ > weight ? budget_ - weight : 0; }

  /// Returns the budget that is left.
  unsigned budget() const noexcept { return budget_; }

  /// Resumes `coroutine`, and then everything that is to continue after it has unwound.
  void resume(continuation coroutine) {
    coroutine.resume();
    while (next_ || after_ != nullptr) continue_unwound();
  }

  /// Lets `coroutine` continue when the current one has unwound to resume(). Returns false if the
  /// slot is taken: the caller then queues it. Requires a call from inside resume().
  bool resume_next(continuation coroutine) noexcept {
    if (next_) return false;
    next_ = coroutine;
    return true;
  }

  /// Runs `entry` when the current coroutine has unwound. An entry that destroys a frame needs
  /// this: it must not do so from inside that frame's own await_suspend.
  void run_after_unwind(queue_entry* entry) noexcept {
    entry->next = after_;
    after_ = entry;
  }

  /// Enters one level of tasks started inline. Returns false at the bound.
  bool descend() noexcept {
    if (depth_ >= depth_max) return false;
    if (++depth_ > counters.depth_max) counters.depth_max = depth_;
    return true;
  }
  /// Leaves the level that descend() has entered.
  void ascend() noexcept { --depth_; }

  /// Enters one level of handlers called through an immediate executor. Returns false at the bound
  /// or when the budget is spent.
  bool descend_immediate() noexcept {
    if (immediate_depth_ >= immediate_depth_max || budget_ == 0) return false;
    ++immediate_depth_;
    return true;
  }
  /// Leaves the level that descend_immediate() has entered.
  void ascend_immediate() noexcept { --immediate_depth_; }

  /// Marks, while it lives, that an executor (a strand) runs its own entries inside one entry of
  /// another executor. Enclosures nest.
  class executor_frame {
   public:
    executor_frame(runner& where, const void* executor) noexcept
        : where_(where), executor_(executor), outer_(where.innermost_) {
      where.innermost_ = this;
    }
    ~executor_frame() { where_.innermost_ = outer_; }
    executor_frame(const executor_frame&) = delete;
    executor_frame& operator=(const executor_frame&) = delete;

   private:
    friend class runner;

    runner& where_;
    const void* executor_;
    const executor_frame* outer_;
  };

  /// Returns whether the code that runs here is enclosed by `executor`.
  bool is_inside(const void* executor) const noexcept {
    const executor_frame* at = innermost_;
    while (at != nullptr && at->executor_ != executor) at = at->outer_;
    return at != nullptr;
  }

  /// Returns whether the entry has budget left and run() may deliver another handler. An enclosing
  /// executor asks this between two of its entries.
  bool may_go_on() const noexcept { return budget_ != 0 && counters.delivered < delivered_max; }

  runner_counters counters;
  /// The run() that executes here returns when `counters.delivered` has reached this number.
  std::uint64_t delivered_max = UINT64_MAX;
  /// The scope of code that runs here outside of every task; set by the context that owns the
  /// runner.
  scope* ambient = nullptr;
  /// The time in nanoseconds at which the context that owns the runner last read its clock; 0 if it
  /// has none.
  std::int64_t read_at = 0;
  /// Whether the executor destroys the tasks and handlers that live on it instead of running them.
  bool destroys = false;

 private:
  friend struct fiber_state;  // the simulator's threads have one each

  void continue_unwound();

  static thread_local constinit runner* current_ [[gnu::tls_model("initial-exec")]];

  unsigned budget_ = budget_per_entry;
  unsigned depth_ = 0;
  unsigned immediate_depth_ = 0;
  continuation next_;
  queue_entry* after_ = nullptr;
  const executor_frame* innermost_ = nullptr;
};

/// Enters, while it lives, one level of handlers called through an immediate executor, inside their
/// initiating call; converts to false if there may be no more levels. Outside of every runner there
/// is no bound to ask: an executor that calls handlers there binds a runner.
class immediate_level {
 public:
  immediate_level() noexcept
      : where_(runner::current()), entered_(where_ == nullptr || where_->descend_immediate()) {}
  ~immediate_level() {
    if (where_ != nullptr && entered_) where_->ascend_immediate();
  }
  immediate_level(const immediate_level&) = delete;
  immediate_level& operator=(const immediate_level&) = delete;

  explicit operator bool() const noexcept { return entered_; }
  void charge(unsigned weight) const noexcept {
    if (where_ != nullptr) where_->charge(weight);
  }

 private:
  runner* where_;
  bool entered_;
};

}  // namespace beck::detail
