// SPDX-License-Identifier: BSL-1.0
//
// Where the bytes come from.
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
  /// Throws failure: not there, not readable, a directory, not what --direct needs.
  explicit source(const settings& asked);

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }
  const struct stat& status() const { return status_; }
  bool is_regular() const { return S_ISREG(status_.st_mode); }
  bool is_pipe() const { return S_ISFIFO(status_.st_mode); }
  /// /dev/zero and its like: read() never says that it is the end.
  bool is_endless() const;
  bool is_zero() const;
  /// Opened by its path, so that its offset is nobody else's.
  bool is_ours() const { return ours_; }

  /// Reads may name an offset.
  bool is_seekable() const { return seekable_; }
  /// Where the copy begins: 0 but for standard input.
  std::uint64_t base() const { return base_; }
  /// How many bytes there were from base() on when it was opened; nothing if only read() can tell.
  std::optional<std::uint64_t> size() const { return size_; }
  /// What direct reads must be aligned to; 1 without --direct.
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

/// What direct transfers of an open file must be aligned to, in memory and in the file. Throws
/// failure if its file system has none, or it is neither a file nor a block device. statx(2).
std::size_t direct_alignment(int fd, const struct stat& status, const std::string& name);

}  // namespace beck_copy
