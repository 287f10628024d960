// SPDX-License-Identifier: BSL-1.0
// Pipes, and calls that raise SIGPIPE and have no flag against it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>

#include <beck/detail/vector_operation.hpp>

#include "base/descriptor_number.hpp"
#include "base/fatal_call.hpp"
#include "io/system/pipe_signal.hpp"
#include "io/system/posix_system.hpp"

// Blocking of SIGPIPE by pthread_sigmask(3), rt_sigtimedwait(2), rt_sigqueueinfo(2). The kernel
// sends SIGPIPE to the thread that made the call, in the name of its process: this distinguishes it
// from a signal that was sent to the program, except for a kill(2) by the program itself.
namespace beck::detail {
namespace {
constexpr std::size_t kernel_sigset_bytes = 8;
}

pipe_signal_guard::pipe_signal_guard() noexcept {
  sigemptyset(&pipe_signal_);
  sigaddset(&pipe_signal_, SIGPIPE);
  error_ = ::pthread_sigmask(SIG_BLOCK, &pipe_signal_, &before_);
  was_blocked_ = error_ == 0 && sigismember(&before_, SIGPIPE) != 0;
  if (!was_blocked_) return;
  sigset_t waiting;
  was_pending_ = ::sigpending(&waiting) == 0 && sigismember(&waiting, SIGPIPE) != 0;
}

pipe_signal_guard::~pipe_signal_guard() {
  if (error_ == 0) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void pipe_signal_guard::take_back() const noexcept {
  if (was_pending_) return;
  const timespec at_once{0, 0};
  siginfo_t info;
  // sigtimedwait(3) takes a raise(3) for a kill(2).
  const long taken = retried([&] {
    return ::syscall(SYS_rt_sigtimedwait, &pipe_signal_, &info, &at_once, kernel_sigset_bytes);
  });
  if (taken == -EAGAIN) return;
  // The kernel has refused to remove the signal: it would end the program without a message as soon
  // as it is unblocked.
  if (taken < 0) end_without_call("rt_sigtimedwait", static_cast<int>(-taken));
  if (info.si_code != SI_USER || info.si_pid != ::getpid()) send_again(info);
}

/// Sends a signal of another source again, which was removed by mistake, to the thread or to the
/// process. If the thread takes it at once, the two are the same.
void pipe_signal_guard::send_again(siginfo_t& info) const noexcept {
  const pid_t self = ::getpid();
  const bool to_process = was_blocked_ && info.si_code != SI_TKILL;
  if (to_process && ::syscall(SYS_rt_sigqueueinfo, self, SIGPIPE, &info) == 0) return;
  // Only the main thread may send to the process in another sender's name.
  if (::syscall(SYS_rt_tgsigqueueinfo, self, ::gettid(), SIGPIPE, &info) != 0) ::raise(SIGPIPE);
}

// System calls of pipes, terminals and other descriptors that are not sockets. The kernel answers a
// write without readers with a signal that ends the program. A library must not change what the
// program does with its signals, so each write requests no signal (pwritev2(2), RWF_NOSIGNAL, Linux
// 6.18) and, if the kernel does not know that flag, blocks it.

namespace {

/// RWF_NOSIGNAL, which headers before Linux 6.18 do not have.
constexpr int no_signal = 0x100;
/// Whether the kernel knows no_signal. Relaxed: a thread that reads an old value finds out again.
constinit std::atomic<bool> kernel_keeps_signal{true};

const iovec* as_parts(const io_vector* parts) noexcept {
  return reinterpret_cast<const iovec*>(parts);
}

/// Returns whether the call is unknown: -EOPNOTSUPP from a kernel whose pwritev2(2) does not know
/// the flag, the others from a sandbox that does not know the call.
bool is_unknown(std::ptrdiff_t result) noexcept {
  return result == -EOPNOTSUPP || result == -ENOSYS || result == -EPERM;
}

std::ptrdiff_t write_pipe(int fd, const io_vector* parts, std::size_t count) noexcept {
  if (kernel_keeps_signal.load(std::memory_order_relaxed)) {
    const std::ptrdiff_t result = retried(
        [=] { return ::pwritev2(fd, as_parts(parts), static_cast<int>(count), -1, no_signal); });
    if (!is_unknown(result)) [[likely]]
      return result;
    kernel_keeps_signal.store(false, std::memory_order_relaxed);
  }
  return write_blocking_signal(fd, parts, count);
}

std::ptrdiff_t write_plain(int fd, const io_vector* parts, std::size_t count) noexcept {
  if (count != 1) {
    return retried([=] { return ::writev(fd, as_parts(parts), static_cast<int>(count)); });
  }
  const std::size_t bytes = std::min(parts->bytes, transfer_max);
  return retried([=] { return ::write(fd, parts->data, bytes); });
}

int nature_of(int fd) noexcept {
  struct stat what;
  if (::fstat(fd, &what) < 0) return -errno;
  if (S_ISDIR(what.st_mode) || S_ISBLK(what.st_mode)) return -EPERM;
  const descriptor_nature nature = S_ISSOCK(what.st_mode)   ? descriptor_nature::socket
                                   : S_ISFIFO(what.st_mode) ? descriptor_nature::pipe
                                                            : descriptor_nature::other;
  return static_cast<int>(nature);
}

}  // namespace

std::ptrdiff_t write_blocking_signal(int fd, const io_vector* parts, std::size_t count) noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += parts[i].bytes;
  return with_pipe_signal_kept_back(bytes, [=] { return write_plain(fd, parts, count); });
}

int posix_system::open_pipe(int (&ends)[2]) noexcept {
  return ::pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0 ? -errno : behind_standard(ends);
}

int posix_system::adopt_any(int fd) noexcept {
  const int nature = nature_of(fd);
  if (nature < 0) return nature;
  const int result = adopt(fd);
  return result < 0 ? result : nature;
}

std::ptrdiff_t posix_system::read(int fd, io_vector* parts, std::size_t count) noexcept {
  if (count != 1) {
    return retried([=] { return ::readv(fd, as_parts(parts), static_cast<int>(count)); });
  }
  const std::size_t bytes = std::min(parts->bytes, transfer_max);
  return retried([=] { return ::read(fd, parts->data, bytes); });
}

std::ptrdiff_t posix_system::write(int fd, descriptor_nature what, const io_vector* parts,
                                   std::size_t count) noexcept {
  return what == descriptor_nature::pipe ? write_pipe(fd, parts, count)
                                         : write_plain(fd, parts, count);
}

std::ptrdiff_t posix_system::splice(int from, int to, std::size_t bytes, bool own_reader) noexcept {
  const auto call = [=] {
    return retried([=] { return ::splice(from, nullptr, to, nullptr, bytes, SPLICE_F_NONBLOCK); });
  };
  // No kernel has a flag against the signal here.
  return own_reader ? call() : with_pipe_signal_kept_back(bytes, call);
}

}  // namespace beck::detail
