// SPDX-License-Identifier: BSL-1.0
//
// The system calls of a ring, one per function, which turn errno into a result. Nothing is retried
// and nothing is decided here: the ring does that, so that it can be tested against a kernel that
// refuses.
#include "io/uring/ring_kernel.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/descriptor_number.hpp"
#include "base/fatal_call.hpp"

namespace beck::uring {
using namespace detail;
namespace {

int value_or_error(long result) { return result < 0 ? -errno : static_cast<int>(result); }

}  // namespace

int posix_ring_kernel::setup(unsigned entries, io_uring_params& parameters) {
  return behind_standard(value_or_error(::syscall(SYS_io_uring_setup, entries, &parameters)));
}

int posix_ring_kernel::enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags,
                             const void* argument, std::size_t argument_bytes) {
  return value_or_error(
      ::syscall(SYS_io_uring_enter, fd, to_submit, min_complete, flags, argument, argument_bytes));
}

int posix_ring_kernel::control(int fd, unsigned opcode, void* argument, unsigned count) {
  return value_or_error(::syscall(SYS_io_uring_register, fd, opcode, argument, count));
}

void* posix_ring_kernel::map(int fd, std::size_t bytes, std::uint64_t offset) {
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                               fd, static_cast<off_t>(offset));
  if (address == MAP_FAILED) return nullptr;
  // A child of fork that inherited the queues could corrupt those of its parent, so they are not
  // mapped in the child.
  if (::madvise(address, bytes, MADV_DONTFORK) != 0) {
    ::munmap(address, bytes);
    return nullptr;
  }
  return address;
}

void posix_ring_kernel::unmap(void* address, std::size_t bytes) { ::munmap(address, bytes); }

// EINTR is not retried: Linux has already freed the number by then (close(2)).
void posix_ring_kernel::close(int fd) { ::close(fd); }

std::int64_t posix_ring_kernel::now_ns() {
  timespec now{};
  if (::clock_gettime(CLOCK_MONOTONIC, &now) != 0) [[unlikely]]
    end_without_call("clock_gettime", errno);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Returns false only if the link /proc/self/ns/time is known to be that of the first time
// namespace; without the link the namespace is unknown.
bool posix_ring_kernel::shifts_clock() {
  constexpr std::string_view unshifted = "time:[4026531834]";  // TIME_NS_INIT_INO
  char link[64];
  const ssize_t bytes = ::readlink("/proc/self/ns/time", link, sizeof link);
  return bytes < 0 || std::string_view(link, static_cast<std::size_t>(bytes)) != unshifted;
}

ring_kernel& real_kernel() noexcept {
  static constinit posix_ring_kernel kernel;
  return kernel;
}

}  // namespace beck::uring
