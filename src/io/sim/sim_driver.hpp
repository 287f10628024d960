// SPDX-License-Identifier: BSL-1.0
// The driver of simulated contexts: readiness in memory, and virtual time instead of waiting. A
// poll that would wait moves the clock to the next event.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/blocking/job_line.hpp"
#include "io/blocking/loop_jobs.hpp"
#include "io/driver/readiness_driver.hpp"
#include "io/sim/sim_runners.hpp"
#include "io/sim/sim_system.hpp"

namespace beck::detail {

class io_loop;

/// The blocking calls of one simulated context in virtual time: each takes a drawn time and is made
/// at its end. As many as a pool has threads are performed at the same time.
class sim_jobs final : public blocking_jobs {
 public:
  static constexpr std::uint64_t slow_ns_max = 30'000'000'000;

  sim_jobs(io_loop& loop, sim_system& sys) noexcept : loop_(loop), sys_(sys) {}

  int submit(io_op& op) noexcept override;
  bool withdraw(io_op& op) noexcept override;
  io_op* withdraw_any() noexcept override;
  /// Makes all calls that are being performed now; no virtual time passes.
  bool wait_until_idle(std::int64_t deadline) noexcept override;

  /// Returns when the next call is made; INT64_MAX if there is none.
  std::int64_t next_end() const noexcept;
  /// Makes the calls whose time has come, and finishes their operations.
  void end_due() noexcept;

 private:
  struct job {
    std::int64_t end;
    io_op* op;
  };

  void begin_next() noexcept;
  std::size_t next() const noexcept;
  void perform(std::size_t at) noexcept;

  io_loop& loop_;
  sim_system& sys_;
  std::vector<job> performed_;  // in the order in which they began
  job_line line_;
};

/// One per context. Thread: the thread of the world.
class sim_driver final : public readiness_driver {
 public:
  /// The virtual time of a poll that does not wait. Without it, a program that always posts, or
  /// always calls io_context::poll(), would stop time.
  static constexpr std::int64_t poll_ns = 1'000;

  sim_driver(io_loop& loop, sim_system& sys);
  ~sim_driver() override;

  bool detach(descriptor& d) noexcept override;
  bool poll(poll_mode mode, std::int64_t deadline) noexcept override;
  int wake_handle() const noexcept override { return -1; }
  virtual_threads* threads() noexcept override { return runners_.get(); }
  blocking_jobs* jobs() noexcept override { return &jobs_; }
  backend kind() const noexcept override { return backend::sim; }
  const char* report() const noexcept override { return "sim: in memory, virtual time"; }
  void add_stats(context_stats&) const noexcept override {}

  // --- for the scheduler, which runs all contexts of a world ------------------------------------
  const sim_host& host() const noexcept { return sys_.host(); }
  io_loop& loop() const noexcept { return loop_; }
  /// Returns whether a poll would find something to do now.
  bool is_ready() const noexcept;
  /// Returns whether run() would not return at once.
  bool has_work() const noexcept;
  /// Returns whether a virtual thread is inside a handler or a call, and not waiting for work, or
  /// has thrown an exception that has not been rethrown yet.
  bool is_busy() const noexcept;
  /// Returns whether a blocking call is being performed, which takes time and then ends by itself.
  bool performs_jobs() const noexcept;
  /// Returns when the next blocking call ends; INT64_MAX if there is none.
  std::int64_t next_job() const noexcept { return jobs_.next_end(); }
  /// Returns when a wait has to end at the latest; INT64_MAX if only an event can end it.
  std::int64_t next_deadline() const noexcept;
  /// Takes back the virtual threads after steps of the world; returns the number of handlers that
  /// they have run.
  std::size_t end_steps();
  /// Returns whether there are events, mail, or blocking calls that have ended.
  bool has_news() const noexcept;
  /// Appends to `text`, for people, the operations that wait.
  void describe_waiting(std::string& text) const;
  [[noreturn]] void stuck() const noexcept;

 private:
  bool watch(descriptor& d, io_op& op) noexcept override;
  void pass_time(std::int64_t ns) noexcept;
  /// Lets virtual time pass until there are events or mail for this context, or until the deadline.
  void wait(std::int64_t deadline) noexcept;
  /// Turns changed readiness of sockets into readiness of descriptors and queued attempts, in drawn
  /// order.
  void collect() noexcept;
  void end_whatever_waits(std::uint64_t token) noexcept;
  /// Gives other virtual threads a chance to run, as at each entry into the kernel.
  void enter_kernel() noexcept;

  io_loop& loop_;
  sim_system& sys_;
  sim_ready_list ready_;
  sim_ready_list taken_;
  sim_jobs jobs_;
  std::unique_ptr<sim_runners> runners_;  // only of a shared loop
};

/// Makes the two halves of a simulated context: on `host` or, if that is nullptr, alone in a world
/// with this seed.
void open_simulation(io_loop& loop, sim_host* host, std::uint64_t seed,
                     std::unique_ptr<system>& sys, std::unique_ptr<driver>& drv);

}  // namespace beck::detail
