// SPDX-License-Identifier: BSL-1.0
// Runs all contexts of a simulated world by turns on one thread, in an order that the seed decides:
// what threads of their own would do in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/sim/sim_random.hpp"

namespace beck::detail {

class sim_driver;
class sim_host;
class sim_world;

class sim_scheduler {
 public:
  /// How long past the end of run_until() contexts that are still busy may go on.
  static constexpr std::int64_t overtime_ns = 1'000'000;

  sim_scheduler(sim_world& world, sim_draws& draws) noexcept;

  void add(sim_driver& context) { contexts_.push_back(&context); }
  void remove(sim_driver& context) noexcept;

  // All of them give how many handlers ran.
  /// Until no context has work, or all are stopped.
  std::size_t run();
  /// Until no context is ready and no message travels.
  std::size_t run_until_idle();
  /// Until everything has happened that is due at `time`.
  std::size_t run_until(std::int64_t time);

  /// The draws of shared contexts: which of their virtual threads goes on.
  sim_random& runner_order() noexcept { return runner_order_; }
  /// How long calls take that block.
  sim_random& job_delay() noexcept { return job_delay_; }

  /// Stops the contexts of a host.
  void stop(const sim_host& host) noexcept;
  /// Whether any context could go on now.
  bool has_ready() const noexcept;

 private:
  template <class Steps>
  std::size_t visit(Steps&& steps);
  std::size_t leave();
  std::size_t step();
  bool has_work() const noexcept;
  /// Whether nothing is on its way.
  bool is_still() const noexcept;
  /// Lets time pass until something happens, or until `limit`. False: nothing ever will.
  bool wait(std::int64_t limit);
  [[noreturn]] void stuck() const;

  sim_world& world_;
  sim_random order_;
  sim_random runner_order_;
  sim_random job_delay_;
  std::vector<sim_driver*> contexts_;  // in the order of their making
  std::size_t next_ = 0;               // whose turn it is if nobody draws
};

}  // namespace beck::detail
