// SPDX-License-Identifier: BSL-1.0
// Each co_await has its own statement.
#include "probe.hpp"

struct pair {
  probe::tracked first, second;
};

class give_tracked {
 public:
  explicit give_tracked(int value) : value_(value) {}
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  probe::tracked await_resume() { return probe::tracked(value_); }

 private:
  int value_;
};

probe::task body() {
  auto first = co_await give_tracked(2);
  auto second = co_await give_tracked(3);
  pair p{std::move(first), std::move(second)};
  co_return p.first.value() + p.second.value();
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
