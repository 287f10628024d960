// SPDX-License-Identifier: BSL-1.0
// The system calls of a ring as an interface, so that tests can script the kernel; its
// implementation for Linux; and constants that are newer than the kernel headers that beck is built
// with.
#pragma once

#include <linux/io_uring.h>
#include <cstddef>
#include <cstdint>

// Constants that the ring needs and that are missing in the oldest <linux/io_uring.h> that beck is
// built with (Linux 6.1). The numbers are kernel ABI and never change; probe.hpp finds out by
// trying, never by version, whether the running kernel knows them. The names are beck's own, so
// that a newer header cannot clash.
namespace beck::uring {

/// io_uring_setup(2): no indirection array in front of the entries (Linux 6.6).
inline constexpr unsigned setup_no_sqarray = 1U << 16;

/// io_uring_enter(2): the timespec of the extended argument is a point on CLOCK_MONOTONIC
/// (Linux 6.12).
inline constexpr unsigned enter_abs_timer = 1U << 5;

/// EPOLLET in an entry's poll events: an edge-triggered poll (Linux 5.13).
inline constexpr unsigned poll_edge = 1U << 31;

/// The most bytes that the kernel moves in one call. The length of an entry is an unsigned 32-bit
/// number.
inline constexpr unsigned transfer_bytes_max = 0x7ffff000;

// The interface between the ring and the kernel. The ring calls Linux only through these functions,
// so that a scripted kernel (tests/support/scripted_ring.hpp) can replace the real one below the
// real driver and refuse, delay, reorder or overflow as the kernel may, but seldom does.

/// The system calls of one or more rings. Each returns a value or -errno; errno itself is never the
/// result. Thread: `setup` and `control` from any thread; calls on one fd from one thread at a
/// time.
class ring_kernel {
 public:
  ring_kernel() = default;
  ring_kernel(const ring_kernel&) = delete;
  ring_kernel& operator=(const ring_kernel&) = delete;

  /// Makes a ring and fills `parameters`. Returns the descriptor (CLOEXEC) or -errno.
  /// io_uring_setup(2).
  virtual int setup(unsigned entries, io_uring_params& parameters) = 0;

  /// Submits and waits. Returns the number of entries taken or -errno. io_uring_enter(2).
  /// `argument` is null or, with IORING_ENTER_EXT_ARG, an io_uring_getevents_arg. A failed call has
  /// taken entries only if the kernel moved the queue's head; the head is reliable, the returned
  /// count is not.
  virtual int enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags,
                    const void* argument, std::size_t argument_bytes) = 0;

  /// Registers or queries. io_uring_register(2). Returns 0 or a positive value, or -errno.
  virtual int control(int fd, unsigned opcode, void* argument, unsigned count) = 0;

  /// Maps one of the ring's areas (IORING_OFF_*), not inherited by fork(2). Returns null if the
  /// kernel refuses.
  virtual void* map(int fd, std::size_t bytes, std::uint64_t offset) = 0;
  virtual void unmap(void* address, std::size_t bytes) = 0;

  /// Closes the ring's descriptor. Operations in flight are *not* over when this returns.
  virtual void close(int fd) = 0;

  /// Returns CLOCK_MONOTONIC in nanoseconds, the clock of deadlines.
  virtual std::int64_t now_ns() = 0;

  /// Returns whether now_ns() is, or may be, shifted for this process (time_namespaces(7)): `enter`
  /// compares points in time with the machine's own clock.
  virtual bool shifts_clock() = 0;

 protected:
  ~ring_kernel() = default;
};

// The implementation of ring_kernel by raw system calls, without liburing: a version of that
// library that does not fit the program's is a frequent complaint of its users, and tests can
// replace beck's own calls.

/// The real kernel. It has no state: one object may serve every ring of the process, from any
/// thread.
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

/// Returns the object that all drivers of the process share.
ring_kernel& real_kernel() noexcept;

}  // namespace beck::uring
