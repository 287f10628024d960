// SPDX-License-Identifier: BSL-1.0
// Structured bindings of an awaited result whose parts have destructors, in a loop: g++ 15 leaks
// them.
#include "probe.hpp"

struct result {
  int error;
  probe::tracked value;
};

class operation {
 public:
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  result await_resume() { return {0, probe::tracked(1)}; }
};

probe::task body() {
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    auto [error, value] = co_await operation();
    sum += error + value.value();
  }
  co_return sum;
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
