// SPDX-License-Identifier: BSL-1.0
// What the probes share: a minimal task and an object that counts its lives. Nothing of beck is
// used, so that a defect found here is the compiler's. A probe's main returns 0 if the program
// behaved as the standard says, else 1.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace probe {

// Copies and moves count as lives; whatever was constructed must be destroyed exactly once.
class tracked {
 public:
  explicit tracked(int value = 0) noexcept : value_(value) { ++constructed; }
  tracked(const tracked& other) noexcept : value_(other.value_) { ++constructed; }
  tracked(tracked&& other) noexcept : value_(other.value_) { ++constructed; }
  tracked& operator=(const tracked&) = default;
  ~tracked() { ++destroyed; }

  int value() const noexcept { return value_; }

  static inline int constructed = 0;
  static inline int destroyed = 0;

 private:
  int value_;
};

inline bool every_life_ended_once() {
  return tracked::constructed > 0 && tracked::constructed == tracked::destroyed;
}

// A lazy coroutine that gives an int; the awaiting coroutine runs on when it is done.
class task {
 public:
  struct promise_type {
    struct resume_waiter {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
        return done.promise().waiter;
      }
      void await_resume() noexcept {}
    };

    task get_return_object() { return task(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    resume_waiter final_suspend() noexcept { return {}; }
    void return_value(int v) noexcept { value = v; }
    void unhandled_exception() noexcept { std::terminate(); }

    std::coroutine_handle<> waiter = std::noop_coroutine();
    int value = 0;
  };
  using handle = std::coroutine_handle<promise_type>;

  task(task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() noexcept { return false; }
  handle await_suspend(std::coroutine_handle<> waiter) noexcept {
    frame_.promise().waiter = waiter;
    return frame_;
  }
  int await_resume() noexcept { return frame_.promise().value; }

  // Runs a task that never waits for anything outside.
  int run() {
    frame_.resume();
    return frame_.promise().value;
  }

 private:
  explicit task(handle frame) noexcept : frame_(frame) {}

  handle frame_;
};

inline task give(int value) { co_return value; }

}  // namespace probe
