// SPDX-License-Identifier: BSL-1.0
//
// The ladder of --engine auto. docs/copy.md has the figures behind the order.
#include "automatic.hpp"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>

#include "failure.hpp"

namespace beck_copy {

namespace {

/// File systems, statfs(2), on which copy_file_range saves more than copies in memory: the server
/// copies, or blocks are shared.
bool copies_by_itself(const target& to) {
  struct statfs where = {};
  if (::fstatfs(to.fd(), &where) != 0) return false;
  switch (static_cast<std::uint64_t>(where.f_type)) {
    case 0x6969:      // NFS
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x00c36400:  // Ceph
    case 0x65735546:  // FUSE
    case 0x9123683e:  // btrfs
    case 0x58465342:  // XFS
    case 0xca451a4e:  // bcachefs
    case 0x2fc12fc1:  // ZFS
    case 0x7461636f:  // OCFS2
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::string_view> candidates(const settings& asked, const source& from,
                                         const target& to) {
  if (asked.direct) return {"uring", "sync"};
  const bool known_file = from.is_regular() && from.size().has_value();
  if (!known_file) return {"sync"};
  if (!to.is_regular()) return {"sendfile", "sync"};
  if (copies_by_itself(to)) return {"copy-range", "sync"};
  return {"sync"};
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
  auto* const request = reinterpret_cast<fiemap*>(room);
  request->fm_length = FIEMAP_MAX_OFFSET;
  request->fm_extent_count = 1;
  if (::ioctl(to.fd(), FS_IOC_FIEMAP, request) != 0 || request->fm_mapped_extents == 0)
    return false;
  return (request->fm_extents[0].fe_flags & FIEMAP_EXTENT_SHARED) != 0;
}

}  // namespace beck_copy
