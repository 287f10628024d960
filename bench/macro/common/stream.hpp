// SPDX-License-Identifier: BSL-1.0
//
// One thread that posts to a running loop without a pause. The number of posts that have not run is
// bounded, and so is the memory; at the bound the thread yields its CPU.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "micro.hpp"

namespace bench {

class post_stream {
 public:
  static constexpr std::uint64_t ahead_max = 16384;

  // Counts a handler. Call it in each handler, on the loop's thread.
  void handled() {
    const std::uint64_t done = done_.load(std::memory_order_relaxed) + 1;
    done_.store(done, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }

  // Posts until the meter ends the run; returns the number of posts.
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
