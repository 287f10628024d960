// SPDX-License-Identifier: BSL-1.0
// The wake descriptor by eventfd(2).
#include <cerrno>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <beck/base/assert.hpp>

#include "base/fatal_call.hpp"
#include "io/system/wake.hpp"

namespace beck::detail {

int wake_open() noexcept {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd >= 0 ? fd : -errno;
}

void wake_write(int fd) noexcept {
  BECK_ASSERT(fd >= 0, "a simulated context was posted to from another thread");
  const std::uint64_t one = 1;
  while (::write(fd, &one, sizeof one) < 0) {
    // Without the write, the loop would continue to sleep.
    if (errno != EINTR) end_without_call("write to the eventfd of an io_context", errno);
  }
}

void wake_drain(int fd, std::uint64_t total) noexcept {
  std::uint64_t seen = 0;
  while (seen < total) {
    std::uint64_t count = 0;
    if (::read(fd, &count, sizeof count) == sizeof count) {
      seen += count;
      continue;
    }
    if (errno != EAGAIN && errno != EINTR)
      end_without_call("read of the eventfd of an io_context", errno);
    pollfd waiting{fd, POLLIN, 0};  // the writer is between its push and its write
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) end_without_call("poll", errno);
  }
}

}  // namespace beck::detail
