// SPDX-License-Identifier: BSL-1.0
// The system calls of this layer: closes the descriptor of a unique_fd, which happens only here;
// writes text for people, and drops the rest if the descriptor returns an error, also EAGAIN of a
// non-blocking one; moves descriptors after the standard streams; counts forks through
// pthread_atfork(3).
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <beck/base/assert.hpp>
#include <beck/base/unique_fd.hpp>
#include <beck/detail/text_sink.hpp>
#include <cerrno>

#include "base/descriptor_number.hpp"
#include "base/fork_count.hpp"

namespace beck {

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

namespace detail {

void text_sink::write_to_descriptor(void* self, std::string_view piece) {
  const int fd = static_cast<text_sink*>(self)->fd_;
  while (!piece.empty()) {
    const ssize_t written = ::write(fd, piece.data(), piece.size());
    if (written > 0) {
      piece.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      return;
    }
  }
}

int behind_standard(int fd) noexcept {
  if (fd < 0 || fd >= first_own_number) [[likely]]
    return fd;
  const unique_fd low(fd);
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, first_own_number);
  return moved < 0 ? -errno : moved;
}

int behind_standard(int (&pair)[2]) noexcept {
  unique_fd ends[2];
  int error = 0;
  for (int i = 0; i < 2; ++i) {
    const int moved = behind_standard(pair[i]);
    ends[i].reset(moved);
    if (moved < 0) error = moved;
  }
  for (int i = 0; i < 2; ++i) pair[i] = error == 0 ? ends[i].release() : -1;
  return error;
}

void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
  static_cast<void>(::pthread_atfork(before, in_parent, in_child));
}

unsigned fork_count() noexcept {
  [[maybe_unused]] static const bool watching =
      (at_fork(nullptr, nullptr, [] { forks_so_far.fetch_add(1, std::memory_order_relaxed); }),
       true);
  return known_fork_count();
}

}  // namespace detail
}  // namespace beck
