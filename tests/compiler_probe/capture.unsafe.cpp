// SPDX-License-Identifier: BSL-1.0
// A lambda whose capture has a destructor, written inside a co_await: g++ 12 destroys the capture
// twice.
#include "probe.hpp"

template <class Function>
probe::task call(Function function) {
  co_return function();
}

probe::task body() {
  probe::tracked s(5);
  co_return co_await call([s] { return s.value(); });
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
