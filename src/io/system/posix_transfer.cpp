// SPDX-License-Identifier: BSL-1.0
// Calls that move bytes out of a file inside the kernel, and calls that support them. All but
// is_in_memory() wait for the device.
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/system/pipe_signal.hpp"
#include "io/system/posix_system.hpp"

namespace beck::detail {
namespace {

constexpr std::size_t page_bytes = 4096;
/// The distance of the bytes that are looked at. A look costs about a microsecond, as much as
/// sending 8 KiB.
constexpr std::size_t look_bytes = 524'288;
constexpr std::uint64_t block_of_stat = 512;  // stat(2): st_blocks counts these

/// Empties a pipe that holds `bytes` into a file.
std::ptrdiff_t drain(int pipe_end, int to, std::uint64_t to_offset, std::size_t bytes) noexcept {
  loff_t at = as_offset(to_offset);
  std::size_t moved = 0;
  while (moved < bytes) {
    const std::ptrdiff_t r =
        retried([&] { return ::splice(pipe_end, nullptr, to, &at, bytes - moved, SPLICE_F_MOVE); });
    if (r <= 0) return r < 0 ? r : -EIO;
    moved += static_cast<std::size_t>(r);
  }
  return static_cast<std::ptrdiff_t>(moved);
}

}  // namespace

int posix_system::examine_file(int fd, file_facts& facts) noexcept {
  struct stat status;
  if (::fstat(fd, &status) < 0) return -errno;
  facts.bytes = static_cast<std::uint64_t>(status.st_size);
  facts.stored_bytes = static_cast<std::uint64_t>(status.st_blocks) * block_of_stat;
  facts.device = status.st_dev;
  facts.number = status.st_ino;
  facts.is_regular = S_ISREG(status.st_mode);
  const int flags = ::fcntl(fd, F_GETFL);
  facts.appends = flags >= 0 && (flags & O_APPEND) != 0;
  return 0;
}

std::ptrdiff_t posix_system::copy_range(int from, std::uint64_t from_offset, int to,
                                        std::uint64_t to_offset, std::size_t bytes) noexcept {
  loff_t in = as_offset(from_offset);
  loff_t out = as_offset(to_offset);
  return retried([&] { return ::copy_file_range(from, &in, to, &out, bytes, 0); });
}

std::ptrdiff_t posix_system::send_to_file(int from, std::uint64_t from_offset, int to,
                                          std::uint64_t to_offset, std::size_t bytes) noexcept {
  if (::lseek(to, as_offset(to_offset), SEEK_SET) < 0) return -errno;
  off_t in = as_offset(from_offset);
  return retried([&] { return ::sendfile(to, from, &in, bytes); });
}

std::ptrdiff_t posix_system::splice_to_file(int from, std::uint64_t from_offset,
                                            const int (&pipe)[2], int to, std::uint64_t to_offset,
                                            std::size_t bytes) noexcept {
  loff_t in = as_offset(from_offset);
  std::size_t moved = 0;
  while (moved < bytes) {
    const std::ptrdiff_t taken = retried(
        [&] { return ::splice(from, &in, pipe[1], nullptr, bytes - moved, SPLICE_F_MOVE); });
    if (taken < 0 && moved == 0) return taken;
    if (taken <= 0) break;
    const std::ptrdiff_t put =
        drain(pipe[0], to, to_offset + moved, static_cast<std::size_t>(taken));
    if (put < 0) return put;
    moved += static_cast<std::size_t>(taken);
  }
  return static_cast<std::ptrdiff_t>(moved);
}

std::ptrdiff_t posix_system::send_to_stream(int from, std::uint64_t from_offset, int to,
                                            std::size_t bytes) noexcept {
  off_t in = as_offset(from_offset);
  // No kernel has a flag against the signal here.
  return with_pipe_signal_kept_back(
      bytes, [&] { return retried([&] { return ::sendfile(to, from, &in, bytes); }); });
}

bool posix_system::is_in_memory(int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  char byte;
  const iovec one{&byte, 1};
  const auto has = [&](std::uint64_t at) {
    const auto r = retried([&] { return ::preadv2(fd, &one, 1, as_offset(at), RWF_NOWAIT); });
    return r >= 0;  // 0: the end of the file, which is known without the device
  };
  for (std::size_t at = 0; at < bytes; at += look_bytes) {
    if (!has(offset + at)) return false;
  }
  return bytes <= page_bytes || has(offset + bytes - 1);
}

int posix_system::read_ahead(int fd, std::uint64_t offset, std::size_t bytes,
                             std::size_t next_bytes) noexcept {
  static_cast<void>(::posix_fadvise(fd, as_offset(offset), static_cast<off_t>(bytes + next_bytes),
                                    POSIX_FADV_WILLNEED));
  char byte;
  // The advice only starts the reading: a read of one byte per page waits for it.
  for (std::uint64_t at = offset; at < offset + bytes; at += page_bytes - at % page_bytes) {
    const std::ptrdiff_t r = retried([&] { return ::pread(fd, &byte, 1, as_offset(at)); });
    if (r <= 0) return static_cast<int>(r);
  }
  return 0;
}

int posix_system::find_data(int fd, std::uint64_t offset, std::uint64_t& begin,
                            std::uint64_t& end) noexcept {
  const off_t data = ::lseek(fd, as_offset(offset), SEEK_DATA);
  if (data < 0) return -errno;
  const off_t hole = ::lseek(fd, data, SEEK_HOLE);
  if (hole < 0) return -errno;
  begin = static_cast<std::uint64_t>(data);
  end = static_cast<std::uint64_t>(hole);
  return 0;
}

}  // namespace beck::detail
