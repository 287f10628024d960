// SPDX-License-Identifier: BSL-1.0
// The value has a name: in a statement of its own, in the if's initialiser, or declared by the
// condition.
#include "probe.hpp"

probe::task statement() {
  auto value = co_await probe::give(1);
  if (value) co_return 5;
  co_return 6;
}

probe::task initialiser() {
  if (auto value = co_await probe::give(1); value) co_return 5;
  co_return 6;
}

probe::task declaration() {
  if (auto value = co_await probe::give(1)) co_return value + 4;
  co_return 6;
}

int main() {
  return statement().run() == 5 && initialiser().run() == 5 && declaration().run() == 5 ? 0 : 1;
}
