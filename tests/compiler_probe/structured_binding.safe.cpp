// SPDX-License-Identifier: BSL-1.0
// The result is taken whole.
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
    auto taken = co_await operation();
    sum += taken.error + taken.value.value();
  }
  co_return sum;
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
