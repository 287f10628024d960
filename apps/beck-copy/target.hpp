// SPDX-License-Identifier: BSL-1.0
//
// The target of a copy. A file is written without a name, or under a temporary one, and gets its
// own when it is complete: other processes see the previous file or the whole copy, also after kill
// -9.
#pragma once

#include <sys/stat.h>

#include <beck/base/unique_fd.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "settings.hpp"
#include "source.hpp"

namespace beck_copy {

/// Returns the descriptor of this process that a name stands for: of "-", /dev/stdout, /dev/fd/N,
/// which a shell makes of >(...), and the like.
std::optional<int> inherited_descriptor(std::string_view name);

/// An opened target.
class target {
 public:
  /// Opens the target. Throws failure if it is a directory, the same file as the source, read-only,
  /// or its directory takes no new name.
  target(const settings& asked, const source& from);
  /// Removes a temporary that was not published.
  ~target();
  target(const target&) = delete;
  target& operator=(const target&) = delete;

  int fd() const { return fd_.get(); }
  const std::string& name() const { return name_; }
  bool is_regular() const { return S_ISREG(status_.st_mode); }
  bool is_pipe() const { return S_ISFIFO(status_.st_mode); }
  bool is_device() const { return S_ISBLK(status_.st_mode); }
  /// Returns whether writes may name an offset.
  bool is_seekable() const { return seekable_; }
  std::uint64_t base() const { return base_; }
  /// Returns whether it was empty when the copy began: bytes that are not written read as zeros.
  bool is_fresh() const { return fresh_; }
  /// Returns whether it was open already, so that other processes share its offset.
  bool is_inherited() const { return inherited_; }
  /// Returns why an existing file is written itself although that was not asked for, or "".
  const std::string& in_place_reason() const { return in_place_reason_; }
  /// Returns whether no other process sees it before publish().
  bool is_hidden() const { return hidden_; }
  /// Returns whether publish() has given it its name.
  bool is_published() const { return published_; }
  /// Returns the alignment of direct writes; 1 without --direct.
  std::size_t alignment() const { return alignment_; }

  /// Returns a sentence which says that the target was not changed.
  std::string untouched() const;

  /// Removes bytes that a refused engine may have written. Requires is_fresh().
  void clear();
  /// Sets the length, and the source's permissions if it is new. After the last write.
  void finish(std::uint64_t length, const source& from);
  /// Waits until the data is on the disk. Requires a file or a block device.
  void synchronize();
  /// Links a hidden file to its name. With `durable` the name is on the disk too.
  void publish(bool durable);

 private:
  void open_inherited(int descriptor);
  void open_as_it_is(const settings& asked);
  void open_hidden(const settings& asked);
  void refuse_same_file(const source& from) const;
  bool find_existing();
  void follow_links();
  std::string find_in_place_reason() const;
  std::string temporary_name() const;
  bool may_link() const;
  bool link_as(const std::string& path) const;

  std::string name_;       // as the user calls it
  std::string path_;       // after following links
  std::string folder_;     // that path_ is in
  std::string temporary_;  // a name to be removed; empty: none
  std::string in_place_reason_;
  beck::unique_fd fd_;
  struct stat status_ = {};  // of the file that is written
  bool existed_ = false;
  bool inherited_ = false;
  bool has_path_ = true;  // false: it has no name, and a link of procfs leads to it
  bool seekable_ = false;
  bool fresh_ = false;
  bool hidden_ = false;
  bool published_ = false;
  std::uint64_t base_ = 0;
  std::size_t alignment_ = 1;
};

}  // namespace beck_copy
