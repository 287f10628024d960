// SPDX-License-Identifier: BSL-1.0
// A co_await inside a lambda's init-capture: g++ 12 destroys the captured object twice.
#include "probe.hpp"

class give_tracked {
 public:
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  probe::tracked await_resume() { return probe::tracked(5); }
};

probe::task body() {
  auto function = [s = co_await give_tracked()] { return s.value(); };
  co_return function();
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
