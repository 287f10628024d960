// SPDX-License-Identifier: BSL-1.0
// Descriptors of all directories on the way are kept, so that ".." goes back on this way, whatever
// was renamed since. A link is replaced by its text.
#include "io/system/posix_beneath.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/system/posix_system.hpp"

namespace beck::detail {
namespace {

constexpr std::size_t path_max = 4096;  // with its NUL, as for the kernel
constexpr int levels_max = 256;
constexpr int links_max = 40;  // as in the kernel

/// A path that is being resolved. The functions return 0 or -errno.
class beneath_walk {
 public:
  beneath_walk(int directory, unsigned resolve) noexcept : root_(directory), resolve_(resolve) {}
  ~beneath_walk() {
    while (levels_ != 0) ::close(way_[--levels_]);
  }
  beneath_walk(const beneath_walk&) = delete;
  beneath_walk& operator=(const beneath_walk&) = delete;

  int open(const char* path, unsigned flags, unsigned mode) noexcept {
    if (*path == '\0') return -ENOENT;
    int result = put_before(path, std::strlen(path), "");
    while (result == 0 && opened_ < 0) {
      const char* const end = take_component();
      const bool is_end = *end == '\0';
      result = name_[0] == '\0' ? open_name(".", flags, mode)
               : is_end         ? open_last(end, flags, mode)
                                : enter(end);
    }
    return result < 0 ? result : opened_;
  }

 private:
  int here() const noexcept { return levels_ == 0 ? root_ : way_[levels_ - 1]; }
  int open_at(const char* name, unsigned flags, unsigned mode) const noexcept {
    return retried([&] { return ::openat(here(), name, static_cast<int>(flags), mode); });
  }

  /// Copies the next component to name_, and leaves it out of the path. Returns what follows it,
  /// with its slashes. "." is no component.
  const char* take_component() noexcept {
    const char* at = left_;
    std::size_t bytes = 0;
    do {
      at += std::strspn(at, "/");
      bytes = std::strcspn(at, "/");
      std::memcpy(name_, at, bytes);
      name_[bytes] = '\0';
      at += bytes;
    } while (std::strcmp(name_, ".") == 0 || (bytes == 0 && *at != '\0'));
    left_ = at;
    return at;
  }

  /// Makes `text`, and `rest` behind it, what is left of the path.
  int put_before(const char* text, std::size_t bytes, const char* rest) noexcept {
    const std::size_t more = std::strlen(rest);
    if (text[0] == '/') return -EXDEV;
    if (bytes + more >= path_max) return -ENAMETOOLONG;
    char* const to = path_[is_second_];
    is_second_ = !is_second_;  // `rest` is in the other one
    std::memcpy(to, text, bytes);
    std::memcpy(to + bytes, rest, more + 1);
    left_ = to;
    return 0;
  }

  /// Goes on at the text of the link with the present name. Returns `otherwise` if it is no link.
  int follow(const char* rest, int otherwise) noexcept {
    char text[path_max];
    const auto bytes = ::readlinkat(here(), name_, text, sizeof text);
    if (bytes <= 0) return bytes == 0 ? -ENOENT : otherwise;
    if ((resolve_ & RESOLVE_NO_SYMLINKS) != 0 || ++links_ > links_max) return -ELOOP;
    return put_before(text, static_cast<std::size_t>(bytes), rest);
  }

  /// Goes to the directory with the present name.
  int enter(const char* rest) noexcept {
    if (std::strcmp(name_, "..") == 0) {
      if (levels_ == 0) return -EXDEV;
      ::close(way_[--levels_]);
      return 0;
    }
    if (levels_ == levels_max) return -ENAMETOOLONG;
    constexpr unsigned only_pass = O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC;
    const int fd = checked(open_at(name_, only_pass, 0));
    if (fd == -ELOOP || fd == -ENOTDIR) return follow(rest, -ENOTDIR);
    if (fd < 0) return fd;
    way_[levels_++] = fd;
    return 0;
  }

  /// Opens the file itself.
  int open_name(const char* name, unsigned flags, unsigned mode) noexcept {
    const int fd = checked(open_at(name, flags, mode));
    if (fd >= 0) opened_ = fd;
    return std::min(fd, 0);
  }

  /// Opens the last component, unless it is ".." or a link: then there is more to resolve.
  int open_last(const char* rest, unsigned flags, unsigned mode) noexcept {
    if (std::strcmp(name_, "..") == 0) return enter(rest);
    const int result = open_name(name_, flags | O_NOFOLLOW, mode);
    if ((flags & O_NOFOLLOW) != 0) return result;
    if (result == -ELOOP || result == -ENOTDIR) return follow(rest, result);
    struct stat status;
    const bool is_link = result == 0 && (flags & O_PATH) != 0 && ::fstat(opened_, &status) == 0 &&
                         S_ISLNK(status.st_mode);
    if (!is_link) return result;
    ::close(std::exchange(opened_, -1));
    return follow(rest, -ENOENT);
  }

  /// Returns `fd`, which may be an error, or -EXDEV if it is on another device and must not be.
  int checked(int fd) const noexcept {
    struct stat status, first;
    if (fd < 0 || (resolve_ & RESOLVE_NO_XDEV) == 0) return fd;
    if (::fstat(fd, &status) == 0 && ::fstat(root_, &first) == 0 && status.st_dev == first.st_dev)
      return fd;
    ::close(fd);
    return -EXDEV;
  }

  const int root_;
  const unsigned resolve_;
  int way_[levels_max];  // to the present directory
  int levels_ = 0;
  int links_ = 0;
  int opened_ = -1;
  bool is_second_ = false;
  const char* left_ = nullptr;  // of the path
  char name_[path_max];         // the present component
  char path_[2][path_max];
};

}  // namespace

int open_beneath(int directory, const char* path, unsigned flags, unsigned mode,
                 unsigned resolve) noexcept {
  return beneath_walk(directory, resolve).open(path, flags, mode);
}

}  // namespace beck::detail
