// SPDX-License-Identifier: BSL-1.0
//
// Which errnos mean "not this way" rather than "not at all".
#include "failure.hpp"

#include <cerrno>

namespace beck_copy {
namespace {

/// EINVAL: no splice from /dev/zero, no sendfile to a file opened for appending. EXDEV: another
/// file system. ESPIPE, EBADF: a pipe, or an append-only file, where copy_file_range wants a file.
bool means_another_way(int error) {
  switch (error) {
    case EINVAL:
    case EXDEV:
    case EOPNOTSUPP:
    case ENOSYS:
    case ESPIPE:
    case EBADF:
    case ENOTTY:
      return true;
    default:
      return false;
  }
}

}  // namespace

void fail_call(const std::string& call, int error, unsigned long long copied) {
  if (copied == 0 && means_another_way(error)) throw refusal(errno_text(call, error));
  throw failure(errno_text(call, error));
}

}  // namespace beck_copy
