// SPDX-License-Identifier: BSL-1.0
// What is known when a program under test ends the process: the world that it was in. Handlers of
// fatal signals, and of sanitizers, print it or hand it to the parent before the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "io/sim/sim_draws.hpp"

namespace beck::detail {
class sim_world;
}

namespace beck::testing::sim {
using namespace detail;

/// What a child process says of its run, followed by the values of the streams and by the report.
struct attempt_header {
  std::uint64_t how = 0;
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;
  std::uint64_t runs = 0;
  std::uint64_t digest = 0;
  std::uint64_t draws[sim_tape::streams_max] = {};
};

/// write(2) until all is written or nobody reads. May be called in a signal handler.
void write_all(int fd, const void* data, std::size_t bytes) noexcept;

class crash_scene {
 public:
  /// Says that the program runs in this world now.
  class visit {
   public:
    explicit visit(sim_world& world) noexcept;
    ~visit();
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
  };

  /// The handlers print the seed and the command that replays it, until this is destroyed. `replay`
  /// is the command; if `with_seed`, it ends with the seed.
  crash_scene(std::string replay, bool with_seed);
  ~crash_scene();
  crash_scene(const crash_scene&) = delete;
  crash_scene& operator=(const crash_scene&) = delete;

  /// In a child process: what the handlers know goes to this descriptor instead. For the rest of
  /// its life.
  static void report_to(int fd);

 private:
  struct handlers;

  std::unique_ptr<handlers> installed_;
};

}  // namespace beck::testing::sim
