// SPDX-License-Identifier: BSL-1.0
//
// 100 pairs of UNIX stream sockets on one context, whose handlers run on one thread or on two. The
// frame makes the sockets, checks every byte, counts, and computes in the cases with busy handlers;
// a peer makes the context and moves the bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "lanes.hpp"

namespace bench {

// Computes for a time that is the same for every peer: 5 microseconds on the machine that the
// targets were written on.
inline std::uint64_t compute(std::uint64_t seed) {
  constexpr int steps = 5'300;  // each waits for the one before it
  for (int i = 0; i < steps; ++i) seed = seed * 6364136223846793005 + 1442695040888963407;
  return seed;
}

class crowd;

// One end of a pair. Its handlers never overlap, so it counts for itself.
class crowd_end {
 public:
  crowd_end(crowd& all, int fd, std::size_t pair, bool opens)
      : all_(all), fd_(fd), opens_(opens), end_(pair, opens) {}

  [[nodiscard]] int socket() const { return fd_; }
  // Returns whether this end begins with a write; the other end begins with a read.
  [[nodiscard]] bool opens() const { return opens_; }
  [[nodiscard]] char* data() { return end_.data(); }
  // Checks the `size` bytes received, computes, and turns them into the answer.
  void take(std::size_t size);
  // Counts a message that was sent. Returns false if the run is over: then send nothing any more.
  [[nodiscard]] bool sent();

 private:
  friend class crowd;

  crowd& all_;
  int fd_;
  bool opens_;
  lane_end end_;
  alignas(64) std::uint64_t sent_ = 0;
  std::uint64_t computed_ = 1;
};

class crowd {
 public:
  static constexpr std::size_t pairs = 100;

  crowd(meter& m, bool busy) : meter_(m), busy_(busy) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const socket_pair made = connected_sockets();
      ends_.emplace_back(*this, made.near, i, true);
      ends_.emplace_back(*this, made.far, i, false);
    }
  }

  [[nodiscard]] std::deque<crowd_end>& ends() { return ends_; }

  // Calls `run`, which returns when the run is over, on `threads` threads, each on a CPU of its
  // own, and measures that. Returns the number of messages.
  template <class Run>
  std::uint64_t measure(int threads, Run run) {
    meter_.start();
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) {
      others.emplace_back([&] {
        pin_to_cpu(meter_.options().other_cpu);
        run();
      });
    }
    run();
    for (std::thread& t : others) t.join();
    std::uint64_t sent = 0;
    for (const crowd_end& end : ends_) sent += end.sent_;
    meter_.finish(sent);
    return sent;
  }

 private:
  friend class crowd_end;

  meter& meter_;
  bool busy_;
  std::deque<crowd_end> ends_;
};

inline void crowd_end::take(std::size_t size) {
  end_.take(size);
  if (!all_.busy_) return;
  computed_ = compute(computed_);
  require(computed_ != 0, "the work was not done");
}

inline bool crowd_end::sent() {
  ++sent_;
  return !all_.meter_.over(sent_ * 2 * crowd::pairs);
}

}  // namespace bench
