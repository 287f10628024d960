// SPDX-License-Identifier: BSL-1.0
//
// The source of a copy.
#pragma once

#include <sys/stat.h>

#include <beck/base/unique_fd.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "settings.hpp"

namespace beck_copy {

/// An opened source.
class source {
 public:
  /// Opens the source. Throws failure if it does not exist, is not readable, is a directory, or
  /// does not support --direct when that is asked for.
  explicit source(const settings& asked);

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }
  const struct stat& status() const { return status_; }
  bool is_regular() const { return S_ISREG(status_.st_mode); }
  bool is_pipe() const { return S_ISFIFO(status_.st_mode); }
  /// Returns whether read() never reports an end, as of /dev/zero.
  bool is_endless() const;
  bool is_zero() const;
  /// Returns whether it was opened by its path, so that no other process shares its offset.
  bool is_ours() const { return ours_; }

  /// Returns whether reads may name an offset.
  bool is_seekable() const { return seekable_; }
  /// Returns the offset at which the copy begins: 0 except for standard input.
  std::uint64_t base() const { return base_; }
  /// Returns whether a regular file says that it has bytes at `offset`, where a read has found its
  /// end: then its size is not its length, as in sysfs, where each file has 4,096 bytes.
  bool claims_bytes_at(std::uint64_t offset) const;
  /// Returns the number of bytes from base() on when it was opened; nothing if only read() finds
  /// it.
  std::optional<std::uint64_t> size() const { return size_; }
  /// Returns the alignment of direct reads; 1 without --direct.
  std::size_t alignment() const { return alignment_; }

 private:
  std::string name_;
  beck::unique_fd fd_;
  struct stat status_ = {};
  bool ours_ = true;
  bool seekable_ = false;
  std::uint64_t base_ = 0;
  std::optional<std::uint64_t> size_;
  std::size_t alignment_ = 1;
};

/// Returns the alignment of direct transfers of an open file, in memory and in the file. Throws
/// failure if its file system has none, or it is neither a file nor a block device. statx(2).
std::size_t direct_alignment(int fd, const struct stat& status, const std::string& name);

}  // namespace beck_copy
