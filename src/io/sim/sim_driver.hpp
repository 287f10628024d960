// SPDX-License-Identifier: BSL-1.0
// The driver over simulated readiness, with virtual time instead of waiting. A turn that would wait
// moves the clock to what happens next.
#pragma once

#include <memory>
#include <string>

#include "io/driver/readiness_driver.hpp"
#include "io/sim/sim_jobs.hpp"
#include "io/sim/sim_runners.hpp"
#include "io/sim/sim_system.hpp"

namespace beck::detail {

class io_loop;

class sim_driver final : public readiness_driver {
 public:
  /// What a visit costs while work is queued or nothing may be waited for: else a program that
  /// never stops to post, or to poll(), would stop time.
  static constexpr std::int64_t poll_ns = 1'000;

  sim_driver(io_loop& loop, sim_system& sys);
  ~sim_driver() override;

  bool detach(descriptor& d) noexcept override;
  void poll(poll_mode mode, std::int64_t deadline) noexcept override;
  int wake_handle() const noexcept override { return -1; }
  virtual_threads* threads() noexcept override { return runners_.get(); }
  blocking_jobs* jobs() noexcept override { return &jobs_; }
  backend kind() const noexcept override { return backend::sim; }
  const char* report() const noexcept override { return "sim: in memory, virtual time"; }
  void add_stats(context_stats&) const noexcept override {}

  // --- for whoever runs all contexts of a world --------------------------------------------------
  const sim_host& host() const noexcept { return sys_.host(); }
  io_loop& loop() const noexcept { return loop_; }
  /// Whether a turn would find something to do now.
  bool is_ready() const noexcept;
  /// Whether run() would not return at once.
  bool has_work() const noexcept;
  /// Whether a virtual thread is in the middle of something.
  bool is_busy() const noexcept;
  /// Whether a call that blocks is on its way, which takes time and then ends by itself.
  bool performs_jobs() const noexcept;
  /// When the next one ends; INT64_MAX: there is none.
  std::int64_t next_job() const noexcept { return jobs_.next_end(); }
  /// When waiting has to end at the latest; INT64_MAX: when something happens.
  std::int64_t next_deadline() const noexcept;
  /// A world that has run the context by steps leaves it.
  std::size_t end_steps();
  /// Whether there are events or mail.
  bool has_news() const noexcept;
  /// Says what it waits for, for people.
  void describe_waiting(std::string& text) const;
  [[noreturn]] void stuck() const noexcept;

 private:
  bool watch(descriptor& d, io_op& op) noexcept override;
  void pass_time(std::int64_t ns) noexcept;
  /// Lets virtual time pass until there is news for this context, or until the deadline.
  void wait(std::int64_t deadline) noexcept;
  /// Turns news into readiness and queued attempts, in drawn order.
  void collect() noexcept;
  void end_whatever_waits(std::uint64_t token) noexcept;
  /// Threads meet where they enter the kernel.
  void enter_kernel() noexcept;

  io_loop& loop_;
  sim_system& sys_;
  sim_ready_list ready_;
  sim_ready_list taken_;
  sim_jobs jobs_;
  std::unique_ptr<sim_runners> runners_;  // of a shared loop
};

/// Makes the two halves of a simulated context: on `host`, or alone in a world with this seed.
void open_simulation(io_loop& loop, sim_host* host, std::uint64_t seed,
                     std::unique_ptr<system>& sys, std::unique_ptr<driver>& drv);

}  // namespace beck::detail
