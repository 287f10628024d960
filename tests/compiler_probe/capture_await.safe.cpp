// SPDX-License-Identifier: BSL-1.0
// The value is awaited first and captured afterwards.
#include "probe.hpp"

class give_tracked {
 public:
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  probe::tracked await_resume() { return probe::tracked(5); }
};

probe::task body() {
  auto value = co_await give_tracked();
  auto function = [s = std::move(value)] { return s.value(); };
  co_return function();
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
