// SPDX-License-Identifier: BSL-1.0
//
// Opening, completing and naming a target. Without a name (O_TMPFILE) a killed copy leaves nothing;
// where the file system cannot do that there is a temporary ".NAME.beck-copy-XXXXXX" beside it.
#include "target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "failure.hpp"
#include "interrupt.hpp"

namespace beck_copy {
namespace {

constexpr mode_t permission_bits = S_IRWXU | S_IRWXG | S_IRWXO;
constexpr int name_tries_max = 16;

std::string descriptor_path(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

mode_t without_umask(mode_t mode) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mode & ~mask;
}

mode_t mode_of_new_files() {
  return without_umask(S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
}

}  // namespace

std::optional<int> inherited_descriptor(std::string_view name) {
  if (name == "-" || name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    const char* const end = name.data() + name.size();
    int descriptor = 0;
    const auto [rest, error] = std::from_chars(name.data() + folder.size(), end, descriptor);
    if (error == std::errc() && rest == end && descriptor >= 0) return descriptor;
  }
  return std::nullopt;
}

target::target(const settings& asked, const source& from)
    : name_(asked.target == "-" ? "standard output" : asked.target), path_(asked.target) {
  if (const auto descriptor = inherited_descriptor(asked.target)) {
    if (asked.direct)
      throw failure(
          fmt::format("--direct: {} is open already, without O_DIRECT; give a path", name_));
    open_inherited(*descriptor);
    refuse_same_file(from);
  } else {
    existed_ = find_existing();
    if (existed_) refuse_same_file(from);
    const bool is_file = !existed_ || is_regular();
    if (is_file && existed_ && !asked.in_place) in_place_reason_ = find_in_place_reason();
    if (asked.in_place || !is_file || !in_place_reason_.empty())
      open_as_it_is(asked);
    else
      open_hidden(asked);
  }
  if (::fstat(fd(), &status_) != 0) throw failure(errno_text(name_, errno));
  if (asked.direct) alignment_ = direct_alignment(fd(), status_, name_);
  if (asked.sync && !is_regular() && !is_device())
    throw failure(fmt::format("--fsync: {} is neither a file nor a block device", name_));
}

target::~target() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  disarm_interrupt();  // afterwards: an interrupt just before it unlinks too
}

/// Opens what a descriptor refers to. It may be a file that other processes write to as well, or
/// one opened for appending, where offsets mean nothing.
void target::open_inherited(int descriptor) {
  inherited_ = true;
  fd_.reset(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
  if (!fd_ || ::fstat(fd(), &status_) != 0) throw failure(errno_text(name_, errno));
  const int flags = ::fcntl(fd(), F_GETFL);
  if ((flags & O_ACCMODE) == O_RDONLY) throw failure(errno_text(name_, EBADF));
  const off_t here = ::lseek(fd(), 0, SEEK_CUR);
  seekable_ = here >= 0 && (flags & O_APPEND) == 0;
  base_ = seekable_ ? static_cast<std::uint64_t>(here) : 0;
  if (!is_regular()) return;
  arm_interrupt(fmt::format("{} has a part of the copy", name_), {});
}

/// Fills path_, folder_ and status_. Returns false if the file does not exist.
bool target::find_existing() {
  follow_links();
  const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
  folder_ = parent.empty() ? "." : parent.string();
  if (::stat(path_.c_str(), &status_) == 0) {
    if (S_ISDIR(status_.st_mode))
      throw failure(fmt::format("{} is a directory; give the name of the copy too", name_));
    return true;
  }
  if (errno != ENOENT) throw failure(errno_text(name_, errno));
  if (path_.back() == '/')
    throw failure(fmt::format("{} names a directory that does not exist", name_));
  return false;
}

/// Follows a symbolic link: the link stays, and the file that it points to is replaced. A link of
/// procfs leads to files without a name, too: those are opened by the link.
void target::follow_links() {
  struct stat link = {}, there = {}, named = {};
  if (::lstat(path_.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return;
  const bool leads_somewhere = ::stat(path_.c_str(), &there) == 0;
  char* const real = ::realpath(path_.c_str(), nullptr);
  if (real == nullptr && !leads_somewhere)
    throw failure(
        errno_text(fmt::format("{} is a symbolic link that leads nowhere", name_), errno));
  has_path_ = real != nullptr &&
              (!leads_somewhere || (::stat(real, &named) == 0 && there.st_dev == named.st_dev &&
                                    there.st_ino == named.st_ino));
  if (has_path_) path_ = real;
  std::free(real);
}

/// Returns why no new file can take the place of the one that is there, or "". It would be refused
/// only after the copy.
std::string target::find_in_place_reason() const {
  if (!has_path_) return "it has no name of its own";
  struct statx more = {};
  if (::statx(AT_FDCWD, path_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &more) == 0 &&
      (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0)
    return "it is a mount point";
  struct stat folder = {};
  const uid_t us = ::geteuid();
  const bool may_replace = us == 0 || us == status_.st_uid ||
                           ::stat(folder_.c_str(), &folder) != 0 ||
                           (folder.st_mode & S_ISVTX) == 0 || us == folder.st_uid;
  return may_replace ? "" : "its folder lets only its owner replace it";
}

void target::refuse_same_file(const source& from) const {
  const struct stat& other = from.status();
  const bool file = S_ISREG(status_.st_mode) || S_ISBLK(status_.st_mode);
  if (file && other.st_dev == status_.st_dev && other.st_ino == status_.st_ino)
    throw failure(fmt::format("{} and {} are the same file", from.name(), name_));
}

void target::open_as_it_is(const settings& asked) {
  // Files are opened for reading too where that is allowed, for --verify.
  const bool may_be_file = !existed_ || is_regular() || is_device();
  const int how = O_CLOEXEC | (asked.direct ? O_DIRECT : 0) |
                  (asked.in_place && may_be_file && !is_device() ? O_CREAT : 0);
  if (asked.direct && !may_be_file)
    throw failure(fmt::format("--direct: {} is not a regular file", name_));
  if (may_be_file) fd_.reset(::open(path_.c_str(), O_RDWR | how, 0666));
  if (!fd_ && (!may_be_file || errno == EACCES))
    fd_.reset(::open(path_.c_str(), O_WRONLY | how, 0666));
  if (!fd_) throw failure(errno_text(name_, errno));
  if (::fstat(fd(), &status_) != 0) throw failure(errno_text(name_, errno));
  seekable_ = ::lseek(fd(), 0, SEEK_CUR) >= 0;
  if (!is_regular()) return;
  clear();
  fresh_ = true;
  arm_interrupt(fmt::format("{} has a part of the copy", name_), {});
}

void target::open_hidden(const settings& asked) {
  if (existed_) {
    // The name could be given to another file although this one is protected: that is not what a
    // read-only file is for. A running program (ETXTBSY) may be replaced, but not be written.
    const beck::unique_fd probe(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (!probe && errno != ETXTBSY) throw failure(errno_text(name_, errno));
  }
  const interrupt_pause calm;  // until an interrupt knows what to remove
  const int how = O_RDWR | O_CLOEXEC | (asked.direct ? O_DIRECT : 0);
  const mode_t ours = S_IRUSR | S_IWUSR;
  if (::access("/proc/self/fd", X_OK) == 0)
    fd_.reset(::open(folder_.c_str(), O_TMPFILE | how, ours));
  else
    errno = EOPNOTSUPP;
  if (fd_ && !may_link()) {
    fd_.reset();
    errno = EOPNOTSUPP;
  }
  // EISDIR: a kernel or file system that takes O_TMPFILE for O_DIRECTORY. open(2).
  for (int i = 0; !fd_ && i < name_tries_max; ++i) {
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EEXIST && errno != ENOENT) break;
    const std::string name = temporary_name();
    fd_.reset(::open(name.c_str(), O_CREAT | O_EXCL | how, ours));
    if (fd_) temporary_ = name;
    if (!fd_ && errno == ENOENT) break;
  }
  // A file of procfs, of which nothing is stored, in a folder that takes no others.
  if (!fd_ && existed_ && status_.st_blocks == 0) return open_as_it_is(asked);
  if (!fd_ && asked.direct && errno == EINVAL)
    throw failure(fmt::format("--direct: the file system of {} has no direct I/O", name_));
  if (!fd_ && existed_ && errno == EACCES)
    throw failure(errno_text("a new file beside " + name_, errno) +
                  "; --in-place writes the old one itself");
  if (!fd_) throw failure(errno_text(name_, errno));
  if (!existed_) status_.st_mode = S_IFREG | mode_of_new_files();
  seekable_ = fresh_ = hidden_ = true;
  arm_interrupt(untouched(), temporary_);
}

std::string target::temporary_name() const {
  std::random_device random;
  const std::filesystem::path path(path_);
  const std::string name = fmt::format(
      ".{}.beck-copy-{:06x}", path.filename().string().substr(0, 200), random() & 0xffffffu);
  return (std::filesystem::path(folder_) / name).string();
}

std::string target::untouched() const {
  const bool new_one = !existed_ && !inherited_;
  return name_ + (new_one ? " was not created" : " is as it was");
}

void target::clear() {
  if (::ftruncate(fd(), 0) != 0) throw failure(errno_text(name_, errno));
}

void target::finish(std::uint64_t length, const source& from) {
  if (fresh_ && ::ftruncate(fd(), static_cast<off_t>(length)) != 0)
    throw failure(errno_text(name_, errno));
  if (!hidden_) return;
  mode_t mode = mode_of_new_files();
  struct stat before = {};
  if (from.is_regular())
    mode = without_umask(from.status().st_mode);
  else if (existed_ && ::stat(path_.c_str(), &before) == 0)
    mode = before.st_mode;
  // Set-user-ID and its like are not copied: the copy may have another owner.
  if (::fchmod(fd(), mode & permission_bits) != 0) throw failure(errno_text(name_, errno));
}

void target::synchronize() {
  if (::fsync(fd()) != 0) throw failure(errno_text("fsync of " + name_, errno));
}

/// Returns whether linkat(2) is allowed at all. A sandbox may refuse it, and that would show only
/// after the copy. A name that exists is refused with EEXIST before anything is made.
bool target::may_link() const {
  const std::string self = descriptor_path(fd());
  const std::string taken = folder_ + "/.";
  return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, taken.c_str(), AT_SYMLINK_FOLLOW) == 0 ||
         errno == EEXIST;
}

/// linkat(2); false: there is something of that name.
bool target::link_as(const std::string& path) const {
  const std::string self = descriptor_path(fd());
  if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) throw failure(errno_text(name_, errno));
  return false;
}

void target::publish(bool durable) {
  if (!hidden_) return;
  const interrupt_pause calm;  // an interrupted copy says what has become of the name
  if (temporary_.empty() && (existed_ || !link_as(path_))) {
    std::string name = temporary_name();
    for (int i = 1; !link_as(name); ++i) {
      if (i == name_tries_max) throw failure(errno_text(name_, EEXIST));
      name = temporary_name();
    }
    temporary_ = name;
  }
  if (!temporary_.empty()) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      throw failure(errno_text("replacing " + name_, errno) +
                    "; --in-place writes the file itself");
    temporary_.clear();
  }
  hidden_ = false;
  published_ = true;
  disarm_interrupt();
  if (!durable) return;
  const beck::unique_fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0)
    throw failure(errno_text("fsync of the folder of " + name_, errno));
}

}  // namespace beck_copy
