// SPDX-License-Identifier: BSL-1.0
//
// Comparing a copy with its source. What the kernel can drop from its cache it drops before, so
// that after --fsync the bytes come from the disk.
#include "verify.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "block_memory.hpp"
#include "failure.hpp"

namespace beck_copy {
namespace {

constexpr std::size_t block = std::size_t{1} << 18;

/// Reads `bytes` bytes. Returns their number, which is less only at the end.
std::size_t read_back(int fd, const std::string& name, std::byte* to, std::size_t bytes,
                      std::uint64_t offset) {
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = ::pread(fd, to + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure(errno_text("--verify: reading " + name, errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

}  // namespace

void check_verifiable(const source& from, const target& to) {
  const bool source_again = from.is_seekable() && (!from.is_endless() || from.is_zero()) &&
                            !S_ISCHR(from.status().st_mode);
  if (!source_again && !from.is_zero())
    throw failure(fmt::format("--verify: {} cannot be read again", from.name()));
  const bool readable = (::fcntl(to.fd(), F_GETFL) & O_ACCMODE) == O_RDWR;
  if (!to.is_seekable() || !(to.is_regular() || to.is_device()) || !readable)
    throw failure(fmt::format("--verify: {} cannot be read back", to.name()));
}

void verify(const source& from, const target& to, std::uint64_t length, progress& shown) {
  shown.stage("comparing ...");
  ::posix_fadvise(to.fd(), 0, 0, POSIX_FADV_DONTNEED);
  const block_memory memory(block, 2);
  for (std::uint64_t offset = 0; offset < length;) {
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(block, length - offset));
    std::byte* const ours = memory.at(0);
    std::byte* const theirs = memory.at(1);
    const std::size_t have = read_back(from.fd(), from.name(), theirs, bytes, from.base() + offset);
    const std::size_t copied = read_back(to.fd(), to.name(), ours, bytes, to.base() + offset);
    const std::size_t both = std::min(have, copied);
    const auto [left, right] = std::mismatch(ours, ours + both, theirs);
    const std::uint64_t first = offset + static_cast<std::uint64_t>(left - ours);
    if (left != ours + both)
      throw failure(fmt::format("--verify: the copy differs at byte {}: {:#04x} instead of {:#04x}",
                                first, std::to_integer<unsigned>(*left),
                                std::to_integer<unsigned>(*right)));
    if (both < bytes)
      throw failure(fmt::format("--verify: {} ends at byte {}",
                                copied < bytes ? to.name() : from.name(), first));
    offset += bytes;
  }
}

}  // namespace beck_copy
