// SPDX-License-Identifier: BSL-1.0
// The lambda is named in its own statement first.
#include "probe.hpp"

template <class Function>
probe::task call(Function function) {
  co_return function();
}

probe::task body() {
  probe::tracked s(5);
  auto function = [s] { return s.value(); };
  co_return co_await call(std::move(function));
}

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
