// SPDX-License-Identifier: BSL-1.0
// The executor is taken in its own statement; then the lambda may stand in the call.
#include "probe.hpp"

class executor {};

class get_executor {
 public:
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  executor await_resume() { return executor(); }
};

std::coroutine_handle<> waiting;  // what the spawned coroutine left to be resumed

class leave {
 public:
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> h) { waiting = h; }
  void await_resume() {}
};

int seen = 0;

// Runs a callable's coroutine to its first suspension; the callable lives in this function's frame.
class detached {
 public:
  struct promise_type {
    detached get_return_object() { return detached(); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

template <class Function>
detached run(Function function) {
  seen = co_await function();
}

template <class Function>
void co_spawn(executor, Function function) {
  run(std::move(function));
}

probe::task body() {
  probe::tracked s(5);
  auto here = co_await get_executor();
  co_spawn(here, [s]() -> probe::task {
    co_await leave();
    co_return s.value();
  });
  co_return 0;
}

int main() {
  body().run();
  waiting.resume();
  return seen == 5 && probe::every_life_ended_once() ? 0 : 1;
}
