// SPDX-License-Identifier: BSL-1.0
// The same with designated initialisers.
#include "probe.hpp"

struct options {
  probe::tracked size = probe::tracked(1);
  const char* name = nullptr;
};

probe::task call(options o) { co_return o.size.value(); }

probe::task body() { co_return co_await call({.size = probe::tracked(5), .name = "x"}); }

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
