// SPDX-License-Identifier: BSL-1.0
//
// The ping-pong: pairs of connected UNIX stream sockets; each end answers every 64-byte message
// with the next one. One process plays all ends, or two processes play one end of each pair.
// The frame makes the sockets, checks every byte and counts; a peer moves the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "measure.hpp"

namespace bench {

// One end of a pair, to be played by this process. The descriptor is in blocking mode.
struct seat {
  int fd;
  bool opens;      // writes the first message; the other end begins with a read
  std::size_t id;  // names the counter of this end
};

// The part of the match that this process plays. Single-threaded.
class match {
 public:
  explicit match(const settings& s);
  match(const match&) = delete;
  match& operator=(const match&) = delete;
  ~match();

  [[nodiscard]] const settings& options() const { return options_; }
  [[nodiscard]] const std::vector<seat>& seats() const { return seats_; }

  // Start and end the measured part: call start() when all is set up, just before the loop runs,
  // and finish() when the loop has returned.
  void start();
  void finish();

  // Handles a read or write that failed or met the end of the stream. If the match is over, because
  // the other process has left, it returns: then stop the loop. Otherwise it ends the program with
  // a message.
  void broken(int error_number) const;

  // Returns the number of messages that this process has sent.
  [[nodiscard]] std::uint64_t sent() const { return total_; }
  // Adds a figure to the report. Only the figures of the first process are reported.
  void note(const char* name, double value) { extras_.push_back({name, value}); }

  // Waits for the second process, checks the counts, and reports. For the first process, after
  // finish().
  void conclude();

 private:
  friend class player;
  struct shared_state;

  void fork_second_process();
  void leave();
  void check_counts() const;

  const settings& options_;
  limit limit_;
  std::vector<seat> seats_;
  std::vector<int> fds_;
  shared_state* shared_ = nullptr;
  std::uint64_t* counts_ = nullptr;
  std::uint64_t total_ = 0;
  int gate_ = -1;
  int child_ = -1;
  bool two_processes_ = false;
  bool second_ = false;
  usage begin_;
  std::vector<report::extra> extras_;
};

// The state of one end: its buffer, the message that it expects next, and its count. Every peer has
// one for each socket; it receives into data() and sends from there.
class player {
 public:
  static constexpr std::size_t message_size = 64;

  player(match& m, const seat& s)
      : match_(&m), count_(&m.counts_[s.id]), key_(0x9e3779b97f4a7c15 * (s.id / 2 + 1)) {
    turn_ = s.opens ? 1 : 0;
    if (!s.opens) return;
    std::uint64_t words[word_count];
    for (std::size_t i = 0; i < word_count; ++i) words[i] = word(i, 0);
    std::memcpy(data_, words, message_size);
  }

  // Returns the buffer of `message_size` bytes. At the start of an end that opens it holds the
  // first message.
  [[nodiscard]] char* data() { return data_; }

  // Checks every byte of the `size` bytes received into data(), and turns the message into its
  // answer. A message arrives whole, because one message is in flight per direction and its 64
  // bytes are in one buffer of the kernel.
  void take(std::size_t size) {
    require(size == message_size, "a message arrived in pieces");
    std::uint64_t words[word_count];
    std::memcpy(words, data_, message_size);
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < word_count; ++i) {
      difference |= words[i] ^ word(i, turn_);
      ++words[i];
    }
    require(difference == 0, "a message was lost, repeated or damaged");
    std::memcpy(data_, words, message_size);
    turn_ += 2;
  }

  // Counts a message that was sent, or irrevocably handed to the kernel. Returns false if the match
  // is over: then stop the loop.
  [[nodiscard]] bool sent() {
    ++*count_;
    if (!match_->limit_.reached(++match_->total_)) return true;
    match_->leave();
    return false;
  }

 private:
  static constexpr std::size_t word_count = message_size / sizeof(std::uint64_t);

  [[nodiscard]] std::uint64_t word(std::size_t index, std::uint64_t turn) const {
    return key_ + turn + 0x0101010101010101 * index;
  }

  match* match_;
  std::uint64_t* count_;
  std::uint64_t key_;
  std::uint64_t turn_;
  alignas(std::uint64_t) char data_[message_size] = {};
};

// A style of a peer: its name, and the function that plays, which calls start() and finish().
struct style {
  const char* case_name;
  void (*play)(match&);
};

// Runs the main program of a peer. Each style has two cases: in one process, and in two ("-2p").
int run_pingpong(int argc, char** argv, std::initializer_list<style> styles);

}  // namespace bench
