// SPDX-License-Identifier: BSL-1.0
// The system calls on sockets, clocks and the wake descriptor, one place per call. The result is
// checked at once: errno is read only if a call returned -1, and EINTR (S9) is retried everywhere
// but in close(2), where the descriptor is closed in any case.
#include "io/system/posix_system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <beck/base/assert.hpp>
#include <beck/detail/vector_operation.hpp>

#include "base/descriptor_number.hpp"
#include "base/fatal_call.hpp"

namespace beck::detail {
namespace {

static_assert(poll_in == POLLIN && poll_priority == POLLPRI && poll_out == POLLOUT &&
              poll_error == POLLERR && poll_hang_up == POLLHUP && poll_read_hang_up == POLLRDHUP);
static_assert(sizeof(io_vector) == sizeof(iovec) &&
              offsetof(io_vector, bytes) == offsetof(iovec, iov_len));

int once(int result) noexcept { return result >= 0 ? result : -errno; }

std::int64_t read_clock(clockid_t which) noexcept {
  timespec t;
  if (::clock_gettime(which, &t) != 0) [[unlikely]]
    end_without_call("clock_gettime", errno);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

const sockaddr* as_address(const void* address) noexcept {
  return static_cast<const sockaddr*>(address);
}

std::ptrdiff_t send_parts(int fd, const io_vector* parts, std::size_t count, int flags) noexcept {
  msghdr message{};
  // sendmsg(2) does not write to the vectors.
  message.msg_iov = reinterpret_cast<iovec*>(const_cast<io_vector*>(parts));
  message.msg_iovlen = count;
  return retried([&] { return ::sendmsg(fd, &message, flags); });
}

}  // namespace

std::int64_t posix_system::now() noexcept { return read_clock(CLOCK_MONOTONIC); }
std::int64_t posix_system::wall_now() noexcept { return read_clock(CLOCK_REALTIME); }

void posix_system::random_bytes(void* data, std::size_t bytes) noexcept {
  char* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t got = ::getrandom(at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) end_without_call("getrandom", errno);  // guessable keys are no keys
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

int posix_system::open_socket(int family, int type, int protocol) noexcept {
  return behind_standard(once(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol)));
}

int posix_system::open_pair(int family, int type, int protocol, int (&pair)[2]) noexcept {
  if (::socketpair(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol, pair) < 0) return -errno;
  return behind_standard(pair);
}

int posix_system::close(int fd) noexcept { return once(::close(fd)); }

int posix_system::adopt(int fd) noexcept {
  const int status = ::fcntl(fd, F_GETFL);
  if (status < 0) return -errno;
  if (::fcntl(fd, F_SETFL, status | O_NONBLOCK) < 0) return -errno;
  // A standard stream stays one, of child processes as well.
  return fd < first_own_number ? 0 : once(::fcntl(fd, F_SETFD, FD_CLOEXEC));
}

int posix_system::bind(int fd, const void* address, std::size_t bytes) noexcept {
  return once(::bind(fd, as_address(address), static_cast<socklen_t>(bytes)));
}

int posix_system::listen(int fd, int backlog) noexcept { return once(::listen(fd, backlog)); }

int posix_system::shutdown(int fd, int how) noexcept { return once(::shutdown(fd, how)); }

int posix_system::local_name(int fd, void* address, std::size_t& bytes) noexcept {
  auto size = static_cast<socklen_t>(bytes);
  const int result = once(::getsockname(fd, static_cast<sockaddr*>(address), &size));
  bytes = size;
  return result;
}

int posix_system::remote_name(int fd, void* address, std::size_t& bytes) noexcept {
  auto size = static_cast<socklen_t>(bytes);
  const int result = once(::getpeername(fd, static_cast<sockaddr*>(address), &size));
  bytes = size;
  return result;
}

int posix_system::set_option(int fd, int level, int name, const void* value,
                             std::size_t bytes) noexcept {
  return once(::setsockopt(fd, level, name, value, static_cast<socklen_t>(bytes)));
}

int posix_system::get_option(int fd, int level, int name, void* value,
                             std::size_t& bytes) noexcept {
  auto size = static_cast<socklen_t>(bytes);
  const int result = once(::getsockopt(fd, level, name, value, &size));
  bytes = size;
  return result;
}

int posix_system::available(int fd) noexcept {
  int bytes = 0;
  const int result = once(::ioctl(fd, FIONREAD, &bytes));
  return result < 0 ? result : bytes;
}

int posix_system::control(int fd, unsigned long request, void* argument) noexcept {
  return once(::ioctl(fd, request, argument));
}

std::ptrdiff_t posix_system::receive(int fd, void* data, std::size_t bytes) noexcept {
  return retried([=] { return ::recv(fd, data, std::min(bytes, transfer_max), MSG_DONTWAIT); });
}

std::ptrdiff_t posix_system::receive_vector(int fd, io_vector* parts, std::size_t count,
                                            bool& dropped_control) noexcept {
  msghdr message{};
  message.msg_iov = reinterpret_cast<iovec*>(parts);
  message.msg_iovlen = count;
  const std::ptrdiff_t r = retried([&] { return ::recvmsg(fd, &message, MSG_DONTWAIT); });
  if (r >= 0 && (message.msg_flags & MSG_CTRUNC) != 0) dropped_control = true;
  return r;
}

std::ptrdiff_t posix_system::send(int fd, const void* data, std::size_t bytes) noexcept {
  return retried(
      [=] { return ::send(fd, data, std::min(bytes, transfer_max), MSG_DONTWAIT | MSG_NOSIGNAL); });
}

std::ptrdiff_t posix_system::send_vector(int fd, const io_vector* parts,
                                         std::size_t count) noexcept {
  return send_parts(fd, parts, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::ptrdiff_t posix_system::send_more(int fd, const io_vector* parts, std::size_t count) noexcept {
  return send_parts(fd, parts, count, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE);
}

int posix_system::accept(int fd, void* address, std::size_t& bytes) noexcept {
  auto* const to = static_cast<sockaddr*>(address);
  auto room = static_cast<socklen_t>(bytes);
  const int accepted = behind_standard(retried([&] {
    return ::accept4(fd, to, to != nullptr ? &room : nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  }));
  if (accepted >= 0) bytes = room;
  return accepted;
}

int posix_system::connect(int fd, const void* address, std::size_t bytes) noexcept {
  return retried([=] { return ::connect(fd, as_address(address), static_cast<socklen_t>(bytes)); });
}

int posix_system::pending_error(int fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
  return -error;
}

int posix_system::poll(int fd, unsigned events, std::int64_t deadline) noexcept {
  pollfd waiting{fd, static_cast<short>(events), 0};
  for (;;) {
    timespec limit{0, 0};
    if (deadline != INT64_MIN && deadline != INT64_MAX) {
      const std::int64_t left = std::max<std::int64_t>(deadline - now(), 0);
      limit = {left / 1'000'000'000, left % 1'000'000'000};
    }
    const int count = ::ppoll(&waiting, 1, deadline == INT64_MAX ? nullptr : &limit, nullptr);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    if ((waiting.revents & POLLNVAL) != 0) return -EBADF;
    return waiting.revents;
  }
}

// --- the wake descriptor -------------------------------------------------------------------------

int wake_open() noexcept { return behind_standard(once(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))); }

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
