// SPDX-License-Identifier: BSL-1.0
//
// Opening a source, and finding out what kind of thing it is.
#include "source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "failure.hpp"

namespace beck_copy {
namespace {

beck::unique_fd open_source(const settings& asked, const std::string& name) {
  const bool standard = asked.source == "-";
  if (standard && asked.direct)
    throw failure("--direct: standard input is open already, without O_DIRECT; give a path");
  const int how = O_RDONLY | O_CLOEXEC | (asked.direct ? O_DIRECT : 0);
  beck::unique_fd fd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : ::open(asked.source.c_str(), how));
  if (fd) return fd;
  const int error = errno;
  struct stat status = {};
  if (asked.direct && error == EINVAL && ::stat(asked.source.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
      throw failure(fmt::format("--direct: {} is not a regular file", name));
    throw failure(fmt::format("--direct: the file system of {} has no direct I/O", name));
  }
  throw failure(errno_text(name, error));
}

}  // namespace

std::size_t direct_alignment(int fd, const struct stat& status, const std::string& name) {
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode))
    throw failure(fmt::format("--direct: {} is not a regular file", name));
  struct statx more = {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &more) != 0 ||
      (more.stx_mask & STATX_DIOALIGN) == 0)
    return 4096;  // before Linux 6.1: every disk accepts that alignment
  if (more.stx_dio_offset_align == 0)
    throw failure(fmt::format("--direct: the file system of {} has no direct I/O", name));
  return std::max<std::size_t>(more.stx_dio_offset_align, more.stx_dio_mem_align);
}

source::source(const settings& asked)
    : name_(asked.source == "-" ? "standard input" : asked.source),
      fd_(open_source(asked, name_)),
      ours_(asked.source != "-") {
  if (::fstat(fd(), &status_) != 0) throw failure(errno_text(name_, errno));
  if (S_ISDIR(status_.st_mode))
    throw failure(
        fmt::format("{} is a directory; only files, devices and pipes are copied", name_));
  if (asked.direct) alignment_ = direct_alignment(fd(), status_, name_);

  const off_t here = ::lseek(fd(), 0, SEEK_CUR);
  seekable_ = here >= 0;
  base_ = seekable_ ? static_cast<std::uint64_t>(here) : 0;
  off_t end = -1;
  if (is_regular()) end = status_.st_size;
  if (S_ISBLK(status_.st_mode)) {
    end = ::lseek(fd(), 0, SEEK_END);
    ::lseek(fd(), here, SEEK_SET);
  }
  // A file of 0 bytes may be one of procfs, which has more to say.
  if (end > 0)
    size_ = static_cast<std::uint64_t>(end) - std::min(static_cast<std::uint64_t>(end), base_);
  if (!is_endless()) return;
  if (!asked.size)
    throw failure(fmt::format("{} has no end; say with --size how much of it to copy", name_));
  size_ = asked.size;
}

/// The memory devices of mem(4), null(4) and random(4) have the major number 1.
bool source::is_endless() const {
  if (!S_ISCHR(status_.st_mode) || major(status_.st_rdev) != 1) return false;
  const unsigned which = minor(status_.st_rdev);
  return which == 5 || which == 7 || which == 8 || which == 9;
}

bool source::claims_bytes_at(std::uint64_t offset) const {
  struct stat now = {};
  return is_regular() && ::fstat(fd(), &now) == 0 && now.st_size > 0 &&
         static_cast<std::uint64_t>(now.st_size) > base_ + offset;
}

bool source::is_zero() const {
  return is_endless() && (minor(status_.st_rdev) == 5 || minor(status_.st_rdev) == 7);
}

}  // namespace beck_copy
