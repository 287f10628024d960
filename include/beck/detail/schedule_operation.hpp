// SPDX-License-Identifier: BSL-1.0
// Rescheduling through an executor's queue as an operation: the result of post, dispatch and defer
// when they get no callable. Awaited, it is one queue entry in the awaiting frame and allocates
// nothing.
#pragma once

#include <beck/detail/launch.hpp>
#include <beck/detail/scope.hpp>
#include <coroutine>

namespace beck::detail {

/// Continues behind the entries that are queued on an executor; a coroutine then continues on its
/// own executor. Cancellation: a stop has no effect once the wait has begun. Awaited in a scope
/// that was stopped before, in a task or an awaitable, it throws io_error (operation_aborted,
/// timeout).
class [[nodiscard]] schedule_operation : public queue_entry {
 public:
  using signature = void();

  /// Makes the operation. `through`: the executor; empty for that of the waiter. `may_skip`:
  /// nothing is queued if the caller is already inside the executor, as in dispatch.
  schedule_operation(any_io_executor through, bool may_skip) noexcept
      : through_(static_cast<any_io_executor&&>(through)), may_skip_(may_skip) {}

  /// Moves an operation that was not started: only the request.
  schedule_operation(schedule_operation&& other) noexcept
      : through_(static_cast<any_io_executor&&>(other.through_)), may_skip_(other.may_skip_) {}
  schedule_operation& operator=(const schedule_operation&) = delete;

  /// Returns the executor that it goes through; empty for that of the waiter.
  const any_io_executor& through() const noexcept { return through_; }
  /// Returns whether nothing is queued if the caller is already inside the executor.
  bool may_skip() const noexcept { return may_skip_; }

  /// Returns whether nothing needs to be queued. That costs budget: a loop around it must not
  /// starve others.
  bool await_ready() const noexcept {
    return may_skip_ && (!through_ || through_.running_in_this_thread()) &&
           runner::current()->spend(runner::memory_weight);
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  void suspend_in(continuation coroutine, scope& home) {
    coroutine_ = coroutine;
    home_ = &home;
    if (home.stop_requested()) [[unlikely]]
      refuse();
    if (refused_ != 0 || !through_ || through_ == home.executor()) {
      run = &resume;
      home.executor().post(this);
    } else {
      take_detour();
    }
  }
  void await_resume() const {
    if (refused_ != 0) [[unlikely]]
      throw_refused();
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<schedule_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  friend struct dump_access;

  void refuse() noexcept;
  [[noreturn, gnu::cold]] void throw_refused() const;
  void take_detour();
  static void resume(queue_entry* entry, runner* where);
  static void go_home(queue_entry* entry, runner* where);

  any_io_executor through_;
  continuation coroutine_;
  scope* home_;
  bool may_skip_;
  int refused_ = 0;  // the result of an await in a stopped scope
};

}  // namespace beck::detail
