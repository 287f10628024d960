// SPDX-License-Identifier: BSL-1.0
// Waits for signals, and notes the results of the waits.
#pragma once

#include <beck/io/signal_set.hpp>
#include <csignal>
#include <ostream>
#include <vector>

#include "support/conformance.hpp"

namespace beck::test {
using namespace detail;

/// Notes the results of its waits.
struct receiver {
  std::vector<int> numbers;
  std::vector<int> values;
  int aborted = 0;

  void wait(signal_set& set) {
    set.async_wait([this](beck::error_code ec, int number) { note(ec, number, 0); });
  }
  void wait_info(signal_set& set) {
    set.async_wait_info(
        [this](beck::error_code ec, signal_info info) { note(ec, info.number, info.value); });
  }

 private:
  void note(beck::error_code ec, int number, int value) {
    if (ec) {
      CHECK(ec == beck::error::operation_aborted);
      CHECK(number == 0);
      ++aborted;
      return;
    }
    numbers.push_back(number);
    values.push_back(value);
  }
};

/// Returns the n-th signal whose values the kernel queues.
inline int queued(int n) { return SIGRTMIN + n; }

}  // namespace beck::test
