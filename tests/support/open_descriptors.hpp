// SPDX-License-Identifier: BSL-1.0
// Lists the open descriptors of this process, from /proc, for cases about leaks and about
// close-on-exec.
#pragma once

#include <dirent.h>
#include <fcntl.h>

#include <cstdlib>
#include <set>

namespace beck::test {

inline std::set<int> open_descriptors() {
  std::set<int> open;
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return open;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') open.insert(std::atoi(entry->d_name));
  }
  open.erase(::dirfd(directory));
  ::closedir(directory);
  return open;
}

inline bool closes_on_exec(int fd) { return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; }

}  // namespace beck::test
