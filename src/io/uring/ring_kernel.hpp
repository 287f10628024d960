// SPDX-License-Identifier: BSL-1.0
//
// The seam between the ring layer and the kernel. Everything a ring asks of Linux goes through
// these calls, so that a scripted kernel (tests/support/scripted_ring.hpp) can stand in the real
// one's place below the real driver and refuse, delay, reorder or overflow as the kernel may, but
// seldom does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "io/uring/kernel_abi.hpp"

namespace beck::uring {

/// The system calls of one or more rings. Results are a value or -errno; errno itself is never the
/// result. Thread: `setup` and `control` from any thread; calls on one fd from one thread at a
/// time.
class ring_kernel {
 public:
  ring_kernel() = default;
  ring_kernel(const ring_kernel&) = delete;
  ring_kernel& operator=(const ring_kernel&) = delete;

  /// Makes a ring; fills `parameters`. The descriptor (CLOEXEC) or -errno. io_uring_setup(2).
  virtual int setup(unsigned entries, io_uring_params& parameters) = 0;

  /// Submits and waits. The number of entries taken or -errno. io_uring_enter(2). `argument` is
  /// null or, with IORING_ENTER_EXT_ARG, an io_uring_getevents_arg. A failed call takes entries
  /// only if the kernel moved the queue's head: the head is the truth, the returned count is not.
  virtual int enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags,
                    const void* argument, std::size_t argument_bytes) = 0;

  /// io_uring_register(2): 0 or a positive value, or -errno.
  virtual int control(int fd, unsigned opcode, void* argument, unsigned count) = 0;

  /// Maps one of the ring's areas (IORING_OFF_*), not inherited by fork(2). Null when refused.
  virtual void* map(int fd, std::size_t bytes, std::uint64_t offset) = 0;
  virtual void unmap(void* address, std::size_t bytes) = 0;

  /// Closes the ring's descriptor. Operations in flight are *not* over when this returns.
  virtual void close(int fd) = 0;

  /// CLOCK_MONOTONIC in nanoseconds: the clock that deadlines are points on.
  virtual std::int64_t now_ns() = 0;

  /// Whether that clock is, or may be, shifted for this process (time_namespaces(7)): `enter` takes
  /// points in time by the machine's own.
  virtual bool shifts_clock() = 0;

 protected:
  ~ring_kernel() = default;
};

}  // namespace beck::uring
