// SPDX-License-Identifier: BSL-1.0
// A function takes the result, so that neither a compiler nor a reader wonders.
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

template <class T>
void ignore(T&&) {}

probe::task body() {
  ignore(co_await operation());
  co_return 5;
}

int main() { return body().run() == 5 ? 0 : 1; }
