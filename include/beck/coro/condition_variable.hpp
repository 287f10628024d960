// SPDX-License-Identifier: BSL-1.0
// condition_variable: waits for a notification by a coroutine that has changed something under a
// mutex. A notified waiter moves on to the list of the mutex: it never wakes only to find the mutex
// locked.
#pragma once

#include <beck/coro/mutex.hpp>

namespace beck {

class condition_variable;

namespace detail {

/// A wait through its stages: for a notification, then for the mutex. The mutex's stage is not
/// cancelled, so that the mutex is always held afterwards.
class condition_waiter : private waiter {
 public:
  condition_waiter& operator=(condition_waiter&&) = delete;

 protected:
  /// Told once for each start(), with the mutex locked: a result as waiter::wake_function's. Never
  /// on dropping.
  using locked_function = void (*)(condition_waiter& self, int result) noexcept;
  using dropped_function = void (*)(condition_waiter& self) noexcept;

  condition_waiter(condition_variable& condition, mutex& held) noexcept
      : condition_(&condition), mutex_(&held) {}
  condition_waiter(condition_waiter&& inert) noexcept
      : waiter(), condition_(inert.condition_), mutex_(inert.mutex_) {}
  ~condition_waiter();

  /// Waits, then unlocks the mutex. Afterwards it may be gone.
  void start(locked_function locked, dropped_function gone) noexcept;
  /// Ends the wait for a notification early. False: that is over.
  bool stop() noexcept;

 private:
  class lock_stage : public waiter {
   public:
    explicit lock_stage(condition_waiter& owner) noexcept : owner_(&owner) {
      on_wake(&condition_waiter::end_lock_stage);
    }
    using waiter::is_listed;
    condition_waiter& owner() const noexcept { return *owner_; }

   private:
    condition_waiter* owner_;
  };

  static void end_condition_stage(waiter& one, int result) noexcept;
  static void end_lock_stage(waiter& one, int result) noexcept;
  void relock() noexcept;
  void give_up() noexcept;

  condition_variable* condition_;  // nullptr: one of the two is gone
  mutex* mutex_;
  lock_stage lock_{*this};
  int result_ = 0;
  locked_function locked_ = nullptr;
  dropped_function dropped_ = nullptr;
};

/// co_await condition.wait(mutex)
class [[nodiscard]] condition_wait : public op<condition_wait, void(error_code)>,
                                     private condition_waiter {
 public:
  static constexpr const char* waits_for = "condition_variable";

  condition_wait(condition_variable& condition, mutex& held) noexcept
      : condition_waiter(condition, held) {}
  condition_wait(condition_wait&&) = default;

  void initiate(handler done) noexcept;
  void cancel() noexcept { stop(); }

 private:
  static void end(condition_waiter& one, int result) noexcept;
  static void drop(condition_waiter& one) noexcept;

  handler done_;
};

/// The operation of condition.wait(mutex, predicate): after each notification it calls the
/// predicate, on the executor of the waiting coroutine or handler and with the mutex locked.
template <class Predicate>
class [[nodiscard]] predicate_wait : public op<predicate_wait<Predicate>, void(error_code)>,
                                     private condition_waiter {
  using base = op<predicate_wait, void(error_code)>;

 public:
  using typename base::handler;
  static constexpr const char* waits_for = "condition_variable";

  predicate_wait(condition_variable& condition, mutex& held, Predicate predicate)
      : condition_waiter(condition, held), predicate_(static_cast<Predicate&&>(predicate)) {}
  predicate_wait(predicate_wait&& inert) noexcept(false)
      : base(static_cast<base&&>(inert)),
        condition_waiter(static_cast<condition_waiter&&>(inert)),
        predicate_(static_cast<Predicate&&>(inert.predicate_)) {}

  bool ready() { return predicate_() && this->finish(error_code()); }
  void initiate(handler done) noexcept {
    done_ = static_cast<handler&&>(done);
    asking_.run = &ask;
    asking_.owner = this;
    start(&locked, &drop);
  }
  void cancel() noexcept {
    stopped_ = true;
    stop();
  }

 private:
  struct question : queue_entry {
    predicate_wait* owner;
  };

  static void locked(condition_waiter& one, int) noexcept {
    auto& self = static_cast<predicate_wait&>(one);
    const any_io_executor home = self.done_.get_executor();
    home.post(&self.asking_);
  }
  static void drop(condition_waiter& one) noexcept {
    handler gone(static_cast<handler&&>(static_cast<predicate_wait&>(one).done_));
  }
  static void ask(queue_entry* entry, runner* where) noexcept {
    predicate_wait& self = *static_cast<question*>(entry)->owner;
    if (where == nullptr) return drop(self);
    const bool holds = self.predicate_();
    if (!holds && !self.stopped_) return self.start(&locked, &drop);
    handler done(static_cast<handler&&>(self.done_));
    done(holds ? error_code() : make_error(-error::operation_aborted));
  }

  Predicate predicate_;
  handler done_;
  question asking_;
  bool stopped_ = false;
};

}  // namespace detail

/// std::condition_variable for coroutines, over a beck::mutex that the caller has locked. A
/// notification reaches waits that started before it, in order; there are no spurious ones.
/// Thread, memory, lifetime: as beck::mutex. Cancellation: a cancelled wait locks the mutex again
/// before it ends with operation_aborted, so it ends only when the mutex is free.
class condition_variable {
 public:
  /// Makes one for one thread at a time.
  condition_variable() noexcept = default;
  /// Makes one for any thread.
  explicit condition_variable(detail::concurrent_t tag) noexcept : state_(tag) {}
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  /// Unlocks the mutex, waits for a notification and locks it again. Completes with (error_code).
  /// Requires that the caller has locked the mutex.
  detail::condition_wait wait(mutex& held) noexcept { return detail::condition_wait(*this, held); }
  /// Waits until `predicate` is true. It is called with the mutex locked, first inside the call,
  /// then after each notification, on the waiter's executor. A cancelled wait succeeds if it is
  /// true in the end. The predicate must not throw.
  template <class Predicate>
  detail::predicate_wait<Predicate> wait(mutex& held, Predicate predicate) {
    return detail::predicate_wait<Predicate>(*this, held, static_cast<Predicate&&>(predicate));
  }

  /// Ends the oldest wait. The caller may, but need not, have locked the mutex.
  void notify_one() noexcept;
  /// Ends all waits. The caller may, but need not, have locked the mutex.
  void notify_all() noexcept;

 private:
  friend class detail::condition_waiter;

  detail::state_lock state_;
  detail::waiter_list waiters_;
};

}  // namespace beck
