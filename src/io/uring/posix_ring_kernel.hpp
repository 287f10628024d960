// SPDX-License-Identifier: BSL-1.0
//
// The real kernel behind the seam of ring_kernel.hpp: raw system calls, no liburing (a version of
// that library that does not fit the program's is a standing complaint of its users, and a ring of
// our own can be faked).
#pragma once

#include "io/uring/ring_kernel.hpp"

namespace beck::uring {

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
