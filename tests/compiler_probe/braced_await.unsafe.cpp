// SPDX-License-Identifier: BSL-1.0
// Two co_awaits inside one braced initialiser: g++ 12 destroys the members twice.
#include "probe.hpp"

struct pair {
  probe::tracked first, second;
};

struct give_tracked {
  int value;
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  probe::tracked await_resume() { return probe::tracked(value); }
};

probe::task body() {
  pair p{co_await give_tracked{2}, co_await give_tracked{3}};
  co_return p.first.value() + p.second.value();
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
