// SPDX-License-Identifier: BSL-1.0
// Calls on files. They block while the device works, so asynchronous operations make them in the
// ring or on a thread of the blocking pool.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <beck/detail/vector_operation.hpp>

#include "base/descriptor_number.hpp"
#include "io/system/posix_system.hpp"

namespace beck::detail {
namespace {

/// The alignment if the kernel does not report it (statx(2) before Linux 6.1, or the file system):
/// enough for all known devices.
constexpr std::uint32_t alignment_assumed = 4096;
constexpr unsigned want_direct_alignment = 0x2000;  // STATX_DIOALIGN

const iovec* as_vectors(const io_vector* parts) noexcept {
  return reinterpret_cast<const iovec*>(parts);
}

}  // namespace

int posix_system::open_file(const char* path, unsigned flags, unsigned mode) noexcept {
  return behind_standard(retried([=] { return ::open(path, static_cast<int>(flags), mode); }));
}

std::ptrdiff_t posix_system::read_at(int fd, void* data, std::size_t bytes,
                                     std::uint64_t offset) noexcept {
  return retried(
      [=] { return ::pread(fd, data, std::min(bytes, transfer_max), as_offset(offset)); });
}

std::ptrdiff_t posix_system::write_at(int fd, const void* data, std::size_t bytes,
                                      std::uint64_t offset) noexcept {
  return retried(
      [=] { return ::pwrite(fd, data, std::min(bytes, transfer_max), as_offset(offset)); });
}

std::ptrdiff_t posix_system::read_vector_at(int fd, const io_vector* parts, std::size_t count,
                                            std::uint64_t offset) noexcept {
  return retried(
      [=] { return ::preadv(fd, as_vectors(parts), static_cast<int>(count), as_offset(offset)); });
}

std::ptrdiff_t posix_system::write_vector_at(int fd, const io_vector* parts, std::size_t count,
                                             std::uint64_t offset) noexcept {
  return retried(
      [=] { return ::pwritev(fd, as_vectors(parts), static_cast<int>(count), as_offset(offset)); });
}

std::ptrdiff_t posix_system::read_cached(int fd, const io_vector* parts, std::size_t count,
                                         std::uint64_t offset) noexcept {
  const std::ptrdiff_t r = retried([=] {
    return ::preadv2(fd, as_vectors(parts), static_cast<int>(count), as_offset(offset), RWF_NOWAIT);
  });
  switch (r) {
    case -EOPNOTSUPP:  // before Linux 4.14, and file systems that cannot tell
    case -ENOSYS:      // before 4.6
    case -EPERM:       // a filter that does not know the call
      return -EAGAIN;
    default:
      return r;
  }
}

int posix_system::sync_file(int fd, bool data_only) noexcept {
  return retried([=] { return data_only ? ::fdatasync(fd) : ::fsync(fd); });
}

int posix_system::resize_file(int fd, std::uint64_t bytes) noexcept {
  return retried([=] { return ::ftruncate(fd, as_offset(bytes)); });
}

int posix_system::rename_file(const char* from, const char* to) noexcept {
  return retried([=] { return ::rename(from, to); });
}

int posix_system::remove_file(const char* path) noexcept {
  return retried([=] { return ::unlink(path); });
}

std::int64_t posix_system::file_size(int fd) noexcept {
  struct stat status;
  return ::fstat(fd, &status) < 0 ? -errno : status.st_size;
}

void posix_system::direct_alignment(int fd, std::uint32_t& memory, std::uint32_t& offset) noexcept {
  memory = offset = 0;
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_DIRECT) == 0) return;
  memory = offset = alignment_assumed;
  struct statx status;
  if (::statx(fd, "", AT_EMPTY_PATH, want_direct_alignment, &status) < 0) return;
  if ((status.stx_mask & want_direct_alignment) == 0 || status.stx_dio_mem_align == 0) return;
  memory = status.stx_dio_mem_align;
  offset = status.stx_dio_offset_align;
}

}  // namespace beck::detail
