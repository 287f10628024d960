// SPDX-License-Identifier: BSL-1.0
//
// One thread that posts to a running loop without a pause. How far it may be ahead is bounded, so
// that memory is; where the bound is reached it gives its CPU away.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "micro.hpp"

namespace bench {

class post_stream {
 public:
  static constexpr std::uint64_t ahead_max = 16384;

  // In each handler, on the loop's thread.
  void handled() {
    const std::uint64_t done = done_.load(std::memory_order_relaxed) + 1;
    done_.store(done, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }

  // Posts until the meter says stop; gives how many that were.
  template <class Post>
  std::uint64_t run(const meter& m, Post post) {
    std::uint64_t posted = 0;
    while (!m.over(posted)) {
      for (int i = 0; i < 64; ++i) post();
      posted += 64;
      while (posted - done() > ahead_max) sched_yield();
    }
    return posted;
  }

 private:
  alignas(64) std::atomic<std::uint64_t> done_{0};
};

}  // namespace bench
