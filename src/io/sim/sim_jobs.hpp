// SPDX-License-Identifier: BSL-1.0
// Blocking calls in virtual time: each takes a drawn time and is made at its end. As many as a pool
// has threads are performed at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "io/blocking/job_line.hpp"
#include "io/blocking/loop_jobs.hpp"

namespace beck::detail {

class io_loop;
class sim_system;

/// The blocking calls of one simulated context.
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

}  // namespace beck::detail
