// SPDX-License-Identifier: BSL-1.0
// A dropped [[nodiscard]] result of a co_await: g++ 12 does not warn.
#include "probe.hpp"

struct [[nodiscard]] result {
  int error;
};

class operation {
 public:
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  result await_resume() { return {0}; }
};

probe::task body() {
  co_await operation();
  co_return 5;
}

int main() { return body().run() == 5 ? 0 : 1; }
