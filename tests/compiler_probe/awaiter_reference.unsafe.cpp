// SPDX-License-Identifier: BSL-1.0
// An awaiter reached through a reference: g++ 12 moves it into the frame, or finds its deleted
// copy.
#include "probe.hpp"

class awaiter {
 public:
  awaiter() = default;
  awaiter(awaiter&&) = delete;
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) {
    self_ = this;
    return false;
  }
  int await_resume() { return self_ == this ? 5 : 6; }

 private:
  awaiter* self_ = nullptr;
};

awaiter one;
awaiter& get() { return one; }

probe::task body() { co_return co_await get(); }

int main() { return body().run() == 5 ? 0 : 1; }
