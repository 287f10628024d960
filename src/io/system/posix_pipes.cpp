// SPDX-License-Identifier: BSL-1.0
// System calls of pipes, terminals and other descriptors that are no sockets. The kernel's answer
// to a write without readers is a signal that ends the program; a library must not change what the
// program does with its signals, so each write asks for none (pwritev2(2), RWF_NOSIGNAL, Linux
// 6.18), and where the kernel does not know that, each write keeps it back.
#include "io/system/posix_pipes.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <beck/detail/vector_operation.hpp>

#include "io/system/pipe_signal.hpp"
#include "io/system/posix_retry.hpp"
#include "io/system/posix_system.hpp"

namespace beck::detail {
namespace {

/// RWF_NOSIGNAL, which headers before Linux 6.18 do not have.
constexpr int no_signal = 0x100;
/// Whether the kernel knows no_signal. Relaxed: whoever reads an old value learns it again.
constinit std::atomic<bool> kernel_keeps_signal{true};

const iovec* as_parts(const io_vector* parts) noexcept {
  return reinterpret_cast<const iovec*>(parts);
}

/// -EOPNOTSUPP: pwritev2(2) of a kernel that does not know the flag. The others: of a sandbox that
/// does not know the call.
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
  if (S_ISREG(what.st_mode) || S_ISDIR(what.st_mode) || S_ISBLK(what.st_mode)) return -EPERM;
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
  return ::pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0 ? -errno : 0;
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
  // No kernel can be asked for no signal here.
  return own_reader ? call() : with_pipe_signal_kept_back(bytes, call);
}

}  // namespace beck::detail
