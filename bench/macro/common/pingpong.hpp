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

// What this process has to play. Single-threaded.
class match {
 public:
  explicit match(const settings& s);
  match(const match&) = delete;
  match& operator=(const match&) = delete;
  ~match();

  [[nodiscard]] const settings& options() const { return options_; }
  [[nodiscard]] const std::vector<seat>& seats() const { return seats_; }

  // Call when all is set up, just before the loop runs, and when the loop has returned.
  void start();
  void finish();

  // A read or write failed, or met the end of the stream. Returns if that is how this process
  // learns that the match is over (the other process has left): then stop the loop. Else fails.
  void broken(int error_number) const;

  // Messages that this process has sent.
  [[nodiscard]] std::uint64_t sent() const { return total_; }
  // Adds a figure to the report. Of the first process only.
  void note(const char* name, double value) { extras_.push_back({name, value}); }

  // In the first process, after finish(): joins the second, checks the counts, reports.
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

// The state of one end: the buffer, what is expected next, and the count. Every peer keeps one per
// socket and receives into, and sends from, data().
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

  // message_size bytes; holds the first message of an end that opens.
  [[nodiscard]] char* data() { return data_; }

  // Call with the number of bytes received into data(): checks every byte, and turns the message
  // into its answer. A message arrives whole: one is in flight per direction and 64 bytes are one
  // buffer of the kernel's.
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

  // Call when the whole message was sent (or handed to the kernel for good). False: the match is
  // over, stop the loop.
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

// How a peer plays in one style. Calls start() and finish().
struct style {
  const char* case_name;
  void (*play)(match&);
};

// The main program of a peer: knows each style's case, and the same in two processes ("-2p").
int run_pingpong(int argc, char** argv, std::initializer_list<style> styles);

}  // namespace bench
