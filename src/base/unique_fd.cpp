// SPDX-License-Identifier: BSL-1.0
//
// The only place that closes the descriptor of a unique_fd.
#include <unistd.h>

#include <beck/base/assert.hpp>
#include <beck/base/unique_fd.hpp>
#include <cerrno>

namespace beck {
using namespace detail;

void unique_fd::reset(int fd) noexcept {
  BECK_ASSERT(fd < 0 || fd != fd_, "a unique_fd was given the descriptor that it owns");
  if (fd_ >= 0) close();
  fd_ = fd < 0 ? -1 : fd;
}

int unique_fd::close() noexcept {
  if (fd_ < 0) return 0;
  const int saved = errno;
  const int result = ::close(release()) == 0 ? 0 : -errno;
  errno = saved;
  BECK_ASSERT(result != -EBADF, "the descriptor was closed by someone else");
  return result == -EINTR ? 0 : result;
}

}  // namespace beck
