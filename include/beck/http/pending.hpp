// SPDX-License-Identifier: BSL-1.0
//
// The work of a handler that its call has not done: none, or a task.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/coro/within.hpp>
#include <new>

namespace beck::http {

/// The rest of the work of a handler or of a middleware: nothing if it has responded before it
/// returned, else a task. A task, or an awaitable, converts to it. Move-only; awaited at most once,
/// also through timeout(), with_stop() and local_key::with(). A pending that is not awaited is work
/// that is not done: destroying it destroys the task, which never runs.
/// Result: none; an exception of the task passes through.
/// Thread: that of the connection. Cancellation: through its scope, as of a task.
class [[nodiscard]] pending {
 public:
  /// Makes one of finished work.
  pending() noexcept : has_work_(false), nothing_() {}
  /// Makes one that runs `work` when it is awaited.
  pending(task<> work) noexcept : has_work_(true), work_(static_cast<task<>&&>(work)) {}
  /// As above. Throws std::bad_alloc.
  pending(awaitable<> work) : pending(as_task(static_cast<awaitable<>&&>(work))) {}
  /// Takes over the work of `other`, which is finished then.
  pending(pending&& other) noexcept : has_work_(other.has_work_), nothing_() {
    if (has_work_) ::new (static_cast<void*>(&work_)) task<>(static_cast<task<>&&>(other.work_));
    other.finish();
  }
  pending& operator=(pending&& other) noexcept {
    if (this == &other) return *this;
    finish();
    if (other.has_work_) {
      ::new (static_cast<void*>(&work_)) task<>(static_cast<task<>&&>(other.work_));
      has_work_ = true;
    }
    other.finish();
    return *this;
  }
  ~pending() { finish(); }

  /// Returns whether no work is left.
  bool is_finished() const noexcept { return !has_work_; }
  /// Returns the work as a task, which is ready at once if none is left. Throws std::bad_alloc.
  task<> into_task() && {
    if (has_work_) return static_cast<task<>&&>(work_);
    return no_task();
  }

  // It is its own awaiter.
  bool await_ready() const noexcept { return !has_work_; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    return work_.await_suspend(coroutine, at);
  }
  template <class Waiting>
  bool suspend_in(Waiting waiting, beck::detail::scope& environment) {
    return work_.suspend_in(waiting, environment);
  }
  void await_resume() {
    if (has_work_) work_.await_resume();
  }

 private:
  static task<> as_task(awaitable<> work) { co_await static_cast<awaitable<>&&>(work); }
  static task<> no_task() { co_return; }
  void finish() noexcept {
    if (has_work_) work_.~task();
    has_work_ = false;
  }

  bool has_work_;
  union {
    char nothing_;
    task<> work_;
  };
};

}  // namespace beck::http
