// SPDX-License-Identifier: BSL-1.0
// The awaiter is given by value and may be moved until it starts.
#include "probe.hpp"

class awaiter {
 public:
  awaiter() = default;
  awaiter(awaiter&& other) noexcept : self_(std::exchange(other.self_, nullptr)) {}
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) {
    self_ = this;
    return false;
  }
  int await_resume() { return self_ == this ? 5 : 6; }

 private:
  awaiter* self_ = nullptr;
};

awaiter make() { return awaiter(); }

probe::task body() {
  awaiter first = make();
  awaiter moved = std::move(first);
  int a = co_await std::move(moved);
  int b = co_await make();
  co_return a == 5 && b == 5 ? 5 : 6;
}

int main() { return body().run() == 5 ? 0 : 1; }
