// SPDX-License-Identifier: BSL-1.0
// A braced list for a container inside a co_await: g++ 12 ends with an internal error.
#include "probe.hpp"

#include <string>
#include <vector>

probe::task count(std::vector<std::string> words) { co_return static_cast<int>(words.size()); }

probe::task body() { co_return co_await count({"one", "two", "three", "four", "five"}); }

int main() { return body().run() == 5 ? 0 : 1; }
