// SPDX-License-Identifier: BSL-1.0
//
// The engine sync: one read, one write, and again. The other engines are compared with it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "block_memory.hpp"
#include "blocking_io.hpp"
#include "engine.hpp"

namespace beck_copy {

std::size_t read_some(const source& from, std::byte* to, std::size_t bytes, std::uint64_t offset) {
  for (;;) {
    const ssize_t got =
        from.is_seekable() ? ::pread(from.fd(), to, bytes, static_cast<off_t>(from.base() + offset))
                           : ::read(from.fd(), to, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EAGAIN) wait_ready(from.fd(), POLLIN);
    if (errno != EINTR && errno != EAGAIN)
      throw failure(errno_text("reading " + from.name(), errno));
  }
}

void write_all(transfer& work, const std::byte* data, std::size_t bytes, std::uint64_t offset) {
  const target& to = work.to;
  for (std::size_t written = 0; written < bytes;) {
    const std::size_t rest = work.padded(bytes - written);
    const ssize_t now = to.is_seekable()
                            ? ::pwrite(to.fd(), data + written, rest,
                                       static_cast<off_t>(to.base() + offset + written))
                            : ::write(to.fd(), data + written, rest);
    if (now > 0) {
      const std::size_t counted = std::min(static_cast<std::size_t>(now), bytes - written);
      work.done.add(counted);
      written += counted;
    } else if (now < 0 && errno == EAGAIN) {
      wait_ready(to.fd(), POLLOUT);
    } else if (now == 0 || errno != EINTR) {
      throw failure(errno_text("writing " + to.name(), now == 0 ? EIO : errno));
    }
  }
}

void copy_sync(transfer& work) {
  const block_memory memory(work.block, 1);
  std::byte* const block = memory.at(0);
  piece next;
  while (work.pieces.next(work.block, next)) {
    const std::size_t raw = read_some(work.from, block, work.padded(next.length), next.offset);
    const std::size_t got = std::min(raw, next.length);
    if (got < next.length) {
      // A direct read ends between two blocks only at the end of the file.
      if (got == 0 || got % work.alignment != 0)
        work.pieces.end_at(next.offset + got);
      else
        work.pieces.give_back(next.length - got);
    }
    std::memset(block + got, 0, work.padded(got) - got);
    write_all(work, block, got, next.offset);
  }
}

}  // namespace beck_copy
