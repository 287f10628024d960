// SPDX-License-Identifier: BSL-1.0
// Attempts of operations other than stream transfers, which are in op_engine.cpp: accepts,
// datagrams, reads into leased buffers. An accept can lack a descriptor number, and such a read a
// buffer; then they pause.
#pragma once

#include <cstddef>
#include <memory>

#include "io/driver/loop_core.hpp"
#include "io/op/accept_pause.hpp"
#include "io/op/lease_pool.hpp"

namespace beck::detail {

class op_locks;

/// Owns the things that such operations can lack: the buffers to lend, and the accepts that wait
/// for descriptor numbers. Thread: that of op_engine::attempt().
class op_attempts {
 public:
  /// Lends at most `buffers` buffers of `bytes` bytes.
  op_attempts(io_loop& loop, loop_core& core, op_locks& locks, std::size_t buffers,
              std::size_t bytes);
  op_attempts(const op_attempts&) = delete;
  op_attempts& operator=(const op_attempts&) = delete;

  /// Attempts `op` if readiness and the budget allow that. Returns true if it has its result.
  bool attempt(io_op& op, descriptor& d, direction& q) noexcept;

  /// Pauses `op` if it lacks a descriptor number or a buffer. Returns whether it does.
  bool pause_if_exhausted(io_op& op) noexcept;
  /// Ends the pause of `op`. Requires is_paused(op).
  void leave_pause(io_op& op) noexcept;

  accept_pause& accepts() noexcept { return accepts_; }
  /// Separates the pool of leased buffers from the loop: threads that return a buffer post nothing
  /// from then on.
  void close_leases() noexcept { leases_->close(); }
  /// Gives up the pool, which the last lease frees.
  void release_leases() noexcept { leases_.reset(); }
  /// Leaves the pool as it is for ever, because the kernel may still write to a buffer.
  void leak_leases() noexcept { static_cast<void>(leases_.release()); }

 private:
  std::ptrdiff_t make_call(io_op& op) noexcept;
  bool attempt_leased(io_op& op, descriptor& d, direction& q) noexcept;

  loop_core& core_;
  op_locks& locks_;
  std::unique_ptr<lease_pool, lease_pool::releaser> leases_;
  accept_pause accepts_;
};

}  // namespace beck::detail
