// SPDX-License-Identifier: BSL-1.0
//
// The simplest coroutine types: a frame from operator new, and the code that the compiler
// generates.
#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

#include "run_queue.hpp"

namespace raw {

// A coroutine that is started through the queue, and destroys itself at its end.
struct detached {
  struct promise_type : entry {
    detached get_return_object() {
      next = nullptr;
      run = [](entry* e) {
        std::coroutine_handle<promise_type>::from_promise(*static_cast<promise_type*>(e)).resume();
      };
      return {this};
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  entry* start;
};

// A child that is started when it is awaited, and returns one number.
class child_task {
 public:
  struct promise_type {
    std::coroutine_handle<> parent;
    std::uint64_t value = 0;

    child_task get_return_object() {
      return child_task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct resume_parent {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        return h.promise().parent;
      }
      void await_resume() noexcept {}
    };
    resume_parent final_suspend() noexcept { return {}; }
    void return_value(std::uint64_t v) noexcept { value = v; }
    void unhandled_exception() noexcept { std::terminate(); }
  };

  child_task(child_task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  child_task& operator=(child_task&&) = delete;
  ~child_task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
    handle_.promise().parent = parent;
    return handle_;
  }
  std::uint64_t await_resume() noexcept { return handle_.promise().value; }

 private:
  explicit child_task(std::coroutine_handle<promise_type> h) : handle_(h) {}
  std::coroutine_handle<promise_type> handle_;
};

// An awaitable that reschedules the coroutine through the queue once.
struct hop : entry {
  run_queue& queue;
  std::coroutine_handle<> waiting;

  explicit hop(run_queue& q)
      : entry{nullptr, [](entry* e) { static_cast<hop*>(e)->waiting.resume(); }}, queue(q) {}
  bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    waiting = h;
    queue.post(*this);
  }
  void await_resume() noexcept {}
};

// Returns `x` + 1. It is defined in a translation unit of its own, so that no compiler inlines it.
child_task add_one(std::uint64_t x);

}  // namespace raw
