// SPDX-License-Identifier: BSL-1.0
//
// The engine copy-range: copy_file_range(2). File systems that share blocks share them; network
// file systems copy on the server; others copy pages in the kernel.
#include <unistd.h>

#include <cerrno>

#include "blocking_io.hpp"
#include "engine.hpp"
#include "failure.hpp"

namespace beck_copy {

void copy_copy_range(transfer& work) {
  const source& from = work.from;
  const target& to = work.to;
  piece next;
  while (work.pieces.next(work.block, next)) {
    off_t in = static_cast<off_t>(from.base() + next.offset);
    off_t out = static_cast<off_t>(to.base() + next.offset);
    const ssize_t copied = ::copy_file_range(from.fd(), from.is_seekable() ? &in : nullptr, to.fd(),
                                             to.is_seekable() ? &out : nullptr, next.length, 0);
    if (copied < 0) {
      work.pieces.give_back(next.length);
      if (errno != EINTR)
        fail_call("copy_file_range from " + from.name() + " to " + to.name(), errno,
                  work.done.bytes());
      continue;
    }
    const auto moved = static_cast<std::size_t>(copied);
    if (moved == 0) work.pieces.end_at(next.offset);
    if (moved > 0 && moved < next.length) work.pieces.give_back(next.length - moved);
    work.done.add(moved);
  }
}

}  // namespace beck_copy
