// SPDX-License-Identifier: BSL-1.0
// The machine that a conformance case runs on: the real one, or a simulated host, which can have
// several contexts, and whose signals and date are set by the case.
#pragma once

#include <csignal>
#include <memory>

#include <unistd.h>
#include <beck/testing/sim.hpp>

#include "support/context_options.hpp"

namespace beck::test {
using namespace detail;

class machine {
 public:
  machine() {
    if (current_backend() == on_sim) world_ = std::make_unique<testing::sim::world>(1);
  }

  io_context::options options(const io_context::options& how = {}) {
    return world_ ? host().options(how) : context_options(how);
  }

  /// Sends a signal to this process, as sigqueue(3).
  void raise(int number, int value = 0) {
    if (world_) {
      host().raise_signal(number, value);
      return;
    }
    sigval with{};
    with.sival_int = value;
    REQUIRE(::sigqueue(::getpid(), number, with) == 0);
  }

  /// Returns the simulated host. Requires a simulation.
  testing::sim::host& host() { return world_->host("machine"); }
  testing::sim::world& world() { return *world_; }

 private:
  std::unique_ptr<testing::sim::world> world_;
};

}  // namespace beck::test
