// SPDX-License-Identifier: BSL-1.0
// Reports about a program under test that ends the process: the world in which it ran. Handlers of
// fatal signals, and of sanitizers, print it or send it to the parent before the process ends.
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

/// The first part of the result that a child process sends; the values of the streams and the
/// report follow.
struct attempt_header {
  std::uint64_t how = 0;
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;
  std::uint64_t runs = 0;
  std::uint64_t digest = 0;
  std::uint64_t draws[sim_tape::streams_max] = {};
};

/// Calls write(2) until all bytes are written or the reading end is closed. May be called in a
/// signal handler.
void write_all(int fd, const void* data, std::size_t bytes) noexcept;

class crash_scene {
 public:
  /// Registers `world` as the one in which the program runs, until it is destroyed.
  class visit {
   public:
    explicit visit(sim_world& world) noexcept;
    ~visit();
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
  };

  /// Installs the handlers until this is destroyed. They print the seed and the command that
  /// replays it. `replay` is the command; if `with_seed`, the seed is appended to it.
  crash_scene(std::string replay, bool with_seed);
  ~crash_scene();
  crash_scene(const crash_scene&) = delete;
  crash_scene& operator=(const crash_scene&) = delete;

  /// Makes the handlers send an attempt_header to `fd` instead of printing, for the rest of the
  /// process. For child processes.
  static void report_to(int fd);

 private:
  struct handlers;

  std::unique_ptr<handlers> installed_;
};

}  // namespace beck::testing::sim
