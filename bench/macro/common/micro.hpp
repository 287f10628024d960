// SPDX-License-Identifier: BSL-1.0
//
// The frame of the benchmarks that need no traffic from outside, such as read_until, post, strand,
// spawn and threads. One process repeats one operation until the meter ends the run.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "measure.hpp"

namespace bench {

class meter {
 public:
  meter(const char* bench, const settings& s) : bench_(bench), options_(s), limit_(s) {}

  [[nodiscard]] const settings& options() const { return options_; }

  // Starts the measured part. Call it when all is set up, over() after every operation, and
  // finish() when the loop has returned.
  void start();
  [[nodiscard]] bool over(std::uint64_t operations) const { return limit_.reached(operations); }
  void finish(std::uint64_t operations);

  // Adds the CPU time that another process has spent for this run. Call it after finish().
  void add_cpu(const usage& other);

  // Adds a figure to the report.
  void note(const char* name, double value) { extras_.push_back({name, value}); }

  void print() const;

 private:
  const char* bench_;
  const settings& options_;
  limit limit_;
  usage begin_;
  usage used_;
  std::uint64_t operations_ = 0;
  std::vector<report::extra> extras_;
};

struct micro_case {
  const char* name;
  void (*run)(meter&);
};

// Runs the main program of a peer.
int run_micro(int argc, char** argv, const char* bench, std::initializer_list<micro_case> cases);

// Two connected UNIX stream sockets. A peer registers one of them, which stays idle: a loop without
// any socket would be no fair comparison, because no real program is like that.
struct socket_pair {
  int near;
  int far;
};
socket_pair connected_sockets();

}  // namespace bench
