// SPDX-License-Identifier: BSL-1.0
//
// The ladder of --engine auto. docs/copy.md has the figures behind the order.
#include "automatic.hpp"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <new>

#include "failure.hpp"

namespace beck_copy {

std::vector<std::string_view> candidates(const settings& asked, const source& from,
                                         const target& to) {
  if (asked.direct) return {"uring", "sync"};
  const bool known_file = from.is_regular() && from.size().has_value();
  if (!known_file) return {"sync"};
  if (to.is_regular()) return {"copy-range", "sendfile", "sync"};
  return {"sendfile", "sync"};
}

bool may_share(const settings& asked, const source& from, const target& to) {
  const bool whole = !asked.size || (from.size() && *asked.size == *from.size());
  return from.is_regular() && from.base() == 0 && from.size() && to.is_regular() && to.is_fresh() &&
         whole && !asked.direct;
}

std::string share(const source& from, const target& to) {
  if (::ioctl(to.fd(), FICLONE, from.fd()) == 0) return {};
  return errno_text("FICLONE", errno);
}

bool is_shared(const target& to) {
  // A request is a head with the extents behind it.
  alignas(fiemap) unsigned char room[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto* const request = new (room) fiemap{};
  request->fm_length = FIEMAP_MAX_OFFSET;
  request->fm_extent_count = 1;
  if (::ioctl(to.fd(), FS_IOC_FIEMAP, request) != 0 || request->fm_mapped_extents == 0)
    return false;
  return (request->fm_extents[0].fe_flags & FIEMAP_EXTENT_SHARED) != 0;
}

}  // namespace beck_copy
