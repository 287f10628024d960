// SPDX-License-Identifier: BSL-1.0
// Runs all contexts of a simulated world on one thread, step by step, in an order that the seed
// decides. It stands for threads of their own, which would run them in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/sim/sim_random.hpp"

namespace beck::detail {

class sim_driver;
class sim_host;
class sim_world;

/// The scheduler of a world. Thread: the thread of the world.
class sim_scheduler {
 public:
  /// How long contexts that are still busy may run after the end of run_until().
  static constexpr std::int64_t overtime_ns = 1'000'000;

  sim_scheduler(sim_world& world, sim_draws& draws) noexcept;

  void add(sim_driver& context) { contexts_.push_back(&context); }
  void remove(sim_driver& context) noexcept;

  // Each of them returns the number of handlers that ran.
  /// Runs until no context has work, or all are stopped.
  std::size_t run();
  /// Runs until no context is ready and no message is in flight.
  std::size_t run_until_idle();
  /// Runs until everything has happened that is due at `time`.
  std::size_t run_until(std::int64_t time);

  /// Returns the draws of shared contexts: which of their virtual threads continues.
  sim_random& runner_order() noexcept { return runner_order_; }
  /// Returns the draws for the duration of blocking calls.
  sim_random& job_delay() noexcept { return job_delay_; }

  /// Stops the contexts of a host.
  void stop(const sim_host& host) noexcept;
  /// Returns whether any context could continue now.
  bool has_ready() const noexcept;

 private:
  template <class Steps>
  std::size_t visit(Steps&& steps);
  std::size_t leave();
  std::size_t step();
  bool has_work() const noexcept;
  /// Returns whether no message is in flight, no virtual thread is busy and no blocking call is
  /// being performed.
  bool is_still() const noexcept;
  /// Lets time pass until an event happens, or until `limit`. Returns false if no event will ever
  /// happen.
  bool wait(std::int64_t limit);
  [[noreturn]] void stuck() const;

  sim_world& world_;
  sim_random order_;
  sim_random runner_order_;
  sim_random job_delay_;
  std::vector<sim_driver*> contexts_;  // in the order in which they were made
  std::size_t next_ = 0;               // the context that comes next if the draw is 0
};

}  // namespace beck::detail
