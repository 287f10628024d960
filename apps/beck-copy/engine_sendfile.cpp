// SPDX-License-Identifier: BSL-1.0
//
// The engine sendfile: the kernel moves pages from the source's cache to the target.
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>

#include "blocking_io.hpp"
#include "engine.hpp"
#include "failure.hpp"

namespace beck_copy {

void copy_sendfile(transfer& work) {
  const source& from = work.from;
  const target& to = work.to;
  std::uint64_t stands_at = 0;  // where the target's own offset is
  piece next;
  while (work.pieces.next(work.block, next)) {
    if (to.is_seekable() && (next.offset != stands_at || next.offset == 0)) {
      if (::lseek(to.fd(), static_cast<off_t>(to.base() + next.offset), SEEK_SET) < 0)
        throw failure(errno_text(to.name(), errno));
      stands_at = next.offset;
    }
    off_t offset = static_cast<off_t>(from.base() + next.offset);
    const ssize_t sent =
        ::sendfile(to.fd(), from.fd(), from.is_seekable() ? &offset : nullptr, next.length);
    if (sent < 0) {
      work.pieces.give_back(next.length);
      if (errno == EAGAIN) wait_ready(to.fd(), POLLOUT);
      if (errno != EINTR && errno != EAGAIN)
        fail_call("sendfile from " + from.name() + " to " + to.name(), errno, work.done.bytes());
      continue;
    }
    const auto moved = static_cast<std::size_t>(sent);
    if (moved == 0) work.pieces.end_at(next.offset);
    if (moved > 0 && moved < next.length) work.pieces.give_back(next.length - moved);
    stands_at += moved;
    work.done.add(moved);
  }
}

}  // namespace beck_copy
