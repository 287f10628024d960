// SPDX-License-Identifier: BSL-1.0
// The container is built first.
#include "probe.hpp"

#include <string>
#include <vector>

probe::task count(std::vector<std::string> words) { co_return static_cast<int>(words.size()); }

probe::task body() {
  std::vector<std::string> words{"one", "two", "three", "four", "five"};
  co_return co_await count(std::move(words));
}

int main() { return body().run() == 5 ? 0 : 1; }
