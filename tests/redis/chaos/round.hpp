// SPDX-License-Identifier: BSL-1.0
// A round of redis_chaos: its settings, its counts, and the violations of its oracles.
#pragma once

#include <beck/io/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "support/small_random.hpp"

namespace beck::redis::test {

struct round {
  backend on = backend::automatic;
  std::uint64_t seed = 1;
  std::chrono::seconds time{15};
  std::map<std::string, long long> counts{};  ///< "single: kills", and so on
  std::vector<std::string> violations{};

  std::vector<std::string> faults{};  ///< in their order

  /// Counts a fault.
  void play(const std::string& fault) {
    ++counts[fault];
    faults.push_back(fault);
  }
  /// Notes a violation; prints the first ones, behind the last faults.
  void fail(std::string what) {
    if (violations.empty()) {
      for (std::size_t i = faults.size() - std::min<std::size_t>(faults.size(), 8);
           i < faults.size(); ++i)
        std::printf("fault %zu: %s\n", i + 1, faults[i].c_str());
    }
    if (violations.size() < 20) std::printf("VIOLATED: %s\n", what.c_str());
    violations.push_back(std::move(what));
  }
};

/// Returns whether a time has passed since the object was made.
class stopwatch {
 public:
  bool has_passed(std::chrono::nanoseconds time) const {
    return std::chrono::steady_clock::now() - start_ >= time;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Ends the program because calls wait for ever: prints the tasks of the context.
[[noreturn]] inline void end_hung(round& of, const io_context& ctx, std::string what) {
  of.fail(std::move(what));
  std::fflush(stdout);
  ctx.dump(STDOUT_FILENO);
  std::_Exit(1);
}

}  // namespace beck::redis::test
