// SPDX-License-Identifier: BSL-1.0
//
// Two lanes that run in parallel, in two threads of one process or in two processes. Each has pairs
// of UNIX stream sockets whose ends answer every 64-byte message. The frame makes the sockets,
// checks every byte, counts, and starts both lanes at once; a peer moves the bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "micro.hpp"

namespace bench {

// The state that both lanes share; it may be in memory that processes share.
struct lanes_meeting {
  std::atomic<int> ready{0};
  std::atomic<bool> over{false};
  std::uint64_t sent[2] = {0, 0};
  usage used[2];
};

// One of the two lanes. Thread: one.
class lane {
 public:
  static constexpr std::size_t pairs = 50;

  lane(meter& m, lanes_meeting& meeting, int index);

  // Returns two descriptors for each pair, the opening end first.
  [[nodiscard]] const std::vector<int>& sockets() const { return fds_; }
  // Keeps the calling thread on this lane's CPU.
  void pin() const;
  // Starts the measured part. Call it when the lane is set up; it returns when the other lane is
  // ready too.
  void start();
  // Counts a message that was sent. Returns false if the run is over: then send nothing any more.
  [[nodiscard]] bool sent() {
    ++sent_;
    if (sent_ % 64 == 0 && meter_.over(sent_)) meeting_.over.store(true, std::memory_order_relaxed);
    return !meeting_.over.load(std::memory_order_relaxed);
  }
  // Ends the measured part. Call it on the lane's thread when its loop has returned.
  void finish();

 private:
  meter& meter_;
  lanes_meeting& meeting_;
  int index_;
  std::vector<int> fds_;
  alignas(64) std::uint64_t sent_ = 0;
};

// One end of a pair: its buffer, and the message that it expects next.
class lane_end {
 public:
  static constexpr std::size_t message_size = 64;

  lane_end(std::size_t pair, bool opens) : turn_(opens ? 1 : 0) {
    for (std::size_t i = 0; i < word_count; ++i) expected_[i] = 0x9e3779b97f4a7c15 * (pair + i + 1);
    if (!opens) return;
    std::memcpy(data_, expected_, message_size);
  }

  [[nodiscard]] char* data() { return data_; }
  // Checks the `size` bytes received, and turns them into the answer.
  void take(std::size_t size) {
    require(size == message_size, "a message arrived in pieces");
    std::uint64_t words[word_count];
    std::memcpy(words, data_, message_size);
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < word_count; ++i) {
      difference |= words[i] ^ (expected_[i] + turn_);
      ++words[i];
    }
    require(difference == 0, "a message was lost, repeated or damaged");
    std::memcpy(data_, words, message_size);
    turn_ += 2;
  }

 private:
  static constexpr std::size_t word_count = message_size / sizeof(std::uint64_t);

  std::uint64_t expected_[word_count];
  std::uint64_t turn_;
  alignas(std::uint64_t) char data_[message_size] = {};
};

// Run `play` twice, each time in a process, or a thread, of its own. `play` makes a loop, starts
// the lane, and runs until the lane is over.
void lanes_in_processes(meter& m, void (*play)(lane&));
void lanes_in_threads(meter& m, void (*play)(lane&));

}  // namespace bench
