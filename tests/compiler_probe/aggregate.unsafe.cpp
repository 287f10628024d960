// SPDX-License-Identifier: BSL-1.0
// An aggregate built in the arguments of a co_await: g++ 12 destroys its members twice.
#include "probe.hpp"

struct options {
  probe::tracked size;
  const char* name;
};

probe::task call(options o) { co_return o.size.value(); }

probe::task body() { co_return co_await call({probe::tracked(5), "x"}); }

int main() { return body().run() == 5 && probe::every_life_ended_once() ? 0 : 1; }
