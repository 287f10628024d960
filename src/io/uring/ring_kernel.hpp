// SPDX-License-Identifier: BSL-1.0
// The system calls of a ring as an interface, for tests that script the kernel; their form over
// Linux; and the constants of newer kernels than the headers that beck is built with.
#pragma once

#include <linux/io_uring.h>
#include <cstddef>
#include <cstdint>

// What the ring layer needs from <linux/io_uring.h> and the oldest header we build with (Linux 6.1)
// does not have. The numbers are kernel ABI and never change; whether the running kernel knows them
// is found out by trying (probe.hpp), never by its version. Our own names, so that a newer header
// cannot clash.
namespace beck::uring {

/// io_uring_setup(2): no indirection array in front of the entries (Linux 6.6).
inline constexpr unsigned setup_no_sqarray = 1U << 16;

/// io_uring_enter(2): the timespec of the extended argument is a point on CLOCK_MONOTONIC
/// (Linux 6.12).
inline constexpr unsigned enter_abs_timer = 1U << 5;

/// EPOLLET in an entry's poll events: an edge-triggered poll (Linux 5.13).
inline constexpr unsigned poll_edge = 1U << 31;

/// The length of one entry is an unsigned 32-bit number; the kernel moves at most this much at
/// once.
inline constexpr unsigned transfer_bytes_max = 0x7ffff000;

// The seam between the ring layer and the kernel. Everything a ring asks of Linux goes through
// these calls, so that a scripted kernel (tests/support/scripted_ring.hpp) can stand in the real
// one's place below the real driver and refuse, delay, reorder or overflow as the kernel may, but
// seldom does.

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

// The real kernel behind the seam of ring_kernel.hpp: raw system calls, no liburing (a version of
// that library that does not fit the program's is a standing complaint of its users, and a ring of
// our own can be faked).

/// Stateless: one object may serve every ring of the process, from any thread.
class posix_ring_kernel final : public ring_kernel {
 public:
  int setup(unsigned entries, io_uring_params& parameters) override;
  int enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags, const void* argument,
            std::size_t argument_bytes) override;
  int control(int fd, unsigned opcode, void* argument, unsigned count) override;
  void* map(int fd, std::size_t bytes, std::uint64_t offset) override;
  void unmap(void* address, std::size_t bytes) override;
  void close(int fd) override;
  std::int64_t now_ns() override;
  bool shifts_clock() override;
};

/// The one object that all drivers of the process share: it has no state.
ring_kernel& real_kernel() noexcept;

}  // namespace beck::uring
