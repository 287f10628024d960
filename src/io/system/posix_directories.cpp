// SPDX-License-Identifier: BSL-1.0
// Calls on directories and on the properties of files: openat2(2), or openat(2) where that does not
// exist, statx(2), getdents64(2). They wait for the device, except where a parameter says that they
// must not.
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/descriptor_number.hpp"
#include "io/system/directory_record.hpp"
#include "io/system/posix_beneath.hpp"
#include "io/system/posix_system.hpp"

namespace beck::detail {
namespace {

constexpr std::uint64_t block_of_statx = 512;  // statx(2): stx_blocks counts these

/// The times that a resolution is repeated after directories on its way were renamed meanwhile:
/// each time somebody has to be as fast again.
constexpr int resolve_tries_max = 8;
constexpr unsigned type_shift = 12;  // of st_mode
constexpr unsigned permission_bits = 07777;

/// Flags that only the open itself needs: as flags of the file they would stay.
constexpr unsigned of_the_open = O_NONBLOCK;
constexpr unsigned settable = O_APPEND | O_DIRECT | O_NOATIME;

/// Opens a file where there is no openat2(2), which has ended with `refused`. Only the resolutions
/// of `directory` that are worth it have another way.
int open_without_openat2(int directory, const char* path, const open_how& how,
                         int refused) noexcept {
  const auto flags = static_cast<unsigned>(how.flags);
  const auto mode = static_cast<unsigned>(how.mode);
  if (how.resolve == 0)
    return retried([&] { return ::openat(directory, path, static_cast<int>(flags), mode); });
  if ((how.resolve & RESOLVE_BENEATH) == 0) return refused;
  return open_beneath(directory, path, flags, mode, static_cast<unsigned>(how.resolve));
}

int open_once(int directory, const char* path, const open_how& how) noexcept {
  return behind_standard(retried(
      [&] { return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how)); }));
}

}  // namespace

int posix_system::open_in(int directory, const char* path, unsigned flags, unsigned mode,
                          unsigned resolve) noexcept {
  open_how how{};
  how.flags = flags;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = resolve;
  const bool cached = (resolve & resolve_cached) != 0;
  int fd = open_once(directory, path, how);
  for (int tries = 1; fd == -EAGAIN && !cached && tries < resolve_tries_max; ++tries) {
    fd = open_once(directory, path, how);
  }
  const bool is_refused = fd == -ENOSYS || fd == -EPERM;        // before Linux 5.6, or a sandbox
  if ((fd == -EINVAL || is_refused) && cached) return -EAGAIN;  // or before 5.12: may wait then
  if (is_refused) fd = open_without_openat2(directory, path, how, fd);
  if (fd >= 0 && (flags & of_the_open) != 0) {
    ::fcntl(fd, F_SETFL, static_cast<int>(flags & settable));
  }
  return fd;
}

int posix_system::read_status(int fd, file_status& status, bool known) noexcept {
  struct statx got;
  const int flags = AT_EMPTY_PATH | (known ? AT_STATX_DONT_SYNC : AT_STATX_SYNC_AS_STAT);
  if (::statx(fd, "", flags, STATX_BASIC_STATS, &got) < 0) return -errno;
  status.bytes = got.stx_size;
  status.stored_bytes = got.stx_blocks * block_of_statx;
  status.modified_ns = got.stx_mtime.tv_sec * 1'000'000'000 + got.stx_mtime.tv_nsec;
  status.device = ::makedev(got.stx_dev_major, got.stx_dev_minor);
  status.inode = got.stx_ino;
  status.links = got.stx_nlink;
  status.permissions = got.stx_mode & permission_bits;
  status.kind = directory_record::kind_of(unsigned{got.stx_mode} >> type_shift);
  return 0;
}

std::ptrdiff_t posix_system::list_directory(int fd, void* records, std::size_t bytes,
                                            bool from_begin) noexcept {
  if (from_begin && ::lseek(fd, 0, SEEK_SET) < 0) return -errno;
  for (;;) {  // at most three times: only "." and ".." are left out
    const std::ptrdiff_t r = retried([&] { return ::syscall(SYS_getdents64, fd, records, bytes); });
    if (r <= 0 || has_entries(static_cast<const char*>(records), static_cast<std::size_t>(r))) {
      return r;
    }
  }
}

}  // namespace beck::detail
