// SPDX-License-Identifier: BSL-1.0
// The bool form of await_suspend: the child runs inside it, and if it finished there the waiter
// does not suspend.
#include "probe.hpp"

// Like probe::task, but nobody's turn depends on a tail call.
class flat_task {
 public:
  struct promise_type {
    flat_task get_return_object() { return flat_task(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(int v) noexcept { value = v; }
    void unhandled_exception() noexcept { std::terminate(); }

    int value = 0;
  };
  using handle = std::coroutine_handle<promise_type>;

  flat_task(flat_task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  ~flat_task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) noexcept {
    frame_.resume();
    return !frame_.done();  // a child that waits would resume its waiter later
  }
  int await_resume() noexcept { return frame_.promise().value; }

  int run() {
    frame_.resume();
    return frame_.promise().value;
  }

 private:
  explicit flat_task(handle frame) noexcept : frame_(frame) {}

  handle frame_;
};

flat_task give(int value) { co_return value; }

flat_task body() {
  int sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum += co_await give(1);
  co_return sum == 1'000'000 ? 5 : 6;
}

int main() { return body().run() == 5 ? 0 : 1; }
