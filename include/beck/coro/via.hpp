// SPDX-License-Identifier: BSL-1.0
// task.via(executor): a task that runs elsewhere than the coroutine that awaits it, on a thread
// pool if it computes, on another context if its objects live there. Nothing is allocated: scope
// and queue entry are in the awaiting frame.
#pragma once

#include <source_location>

#include <beck/coro/task.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/run/post.hpp>

namespace beck {

namespace detail {

/// The part that does not depend on the task.
class via_step : public queue_entry, private owned_tree {
 public:
  via_step& operator=(via_step&&) = delete;

 protected:
  using drop_function = void (*)(via_step& self) noexcept;

  via_step(any_io_executor where, const std::source_location& at) noexcept
      : where_(static_cast<any_io_executor&&>(where)), spawned_at_(at) {
    link = nullptr;
  }
  /// Moves an inert one.
  via_step(via_step&& other) noexcept
      : via_step(static_cast<any_io_executor&&>(other.where_), other.spawned_at_) {}
  ~via_step() {
    if (link != nullptr) disown(where_, *this);
  }

  /// `drop` destroys the task's frame, if its executor goes first.
  void suspend(continuation coroutine, scope& home, std::coroutine_handle<> frame,
               task_promise_base& promise, drop_function drop);
  void throw_if_refused() const {
    if (refused_ != 0) [[unlikely]]
      throw_refused();
  }

 private:
  friend struct dump_access;

  static scope* cancel(void* leaf, scope& from) noexcept;
  static void begin(queue_entry* entry, runner* where);
  static void end(queue_entry* entry, runner* where);
  static void resume(queue_entry* entry, runner* where);
  static void lose(owned_tree* tree);
  static void forget(queue_entry* entry, runner* where);
  [[noreturn, gnu::cold]] void throw_refused() const;
  void go_home(queue_entry::run_function then);

  any_io_executor where_;
  deferred_init<scope> scope_;
  continuation coroutine_;
  scope* home_ = nullptr;
  std::coroutine_handle<> frame_;
  task_promise_base* promise_ = nullptr;
  drop_function drop_ = nullptr;
  std::source_location spawned_at_;
  int refused_ = 0;  // the result of an await in a stopped scope
};

template <class T, bool Throwing>
class [[nodiscard]] via_operation : private via_step {
 public:
  via_operation(any_io_executor where, task<T, Throwing>&& work,
                const std::source_location& at) noexcept
      : via_step(static_cast<any_io_executor&&>(where), at),
        work_(static_cast<task<T, Throwing>&&>(work)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  void suspend_in(continuation coroutine, scope& environment) {
    const auto frame = work_.frame_to_start();
    this->suspend(coroutine, environment, frame, frame.promise(), [](via_step& self) noexcept {
      const task<T, Throwing> gone(static_cast<via_operation&>(self).take_work());
    });
  }
  T await_resume() {
    this->throw_if_refused();
    return work_.await_resume();
  }

 private:
  task<T, Throwing> take_work() noexcept { return static_cast<task<T, Throwing>&&>(work_); }

  task<T, Throwing> work_;
};

}  // namespace detail

/// Runs the task on `where` (an executor, or a context with one), with everything that it awaits.
/// Its value or exception is delivered to the awaiting coroutine, on that coroutine's own executor.
/// A stop of the awaiting scope stops the task, inside `where`; in a scope that was stopped before,
/// the task does not start, and io_error is thrown (operation_aborted, timeout). Values of
/// local_keys are seen.
/// Requires that the awaiting coroutine's context outlives the task's stay at `where`. If `where`
/// is destroyed first the task's frame is destroyed with it, and the coroutine stays suspended
/// until its own tree is destroyed. Memory: none.
template <class T, bool Throwing>
template <class Where>
auto task<T, Throwing>::via(Where&& where, std::source_location at) && {
  return detail::via_operation<T, Throwing>(any_io_executor(detail::executor_at(where)),
                                            static_cast<task&&>(*this), at);
}

}  // namespace beck
