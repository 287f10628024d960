// SPDX-License-Identifier: BSL-1.0
// The files of a folder that a context keeps open for a while, so that further requests for them
// make no call for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/file/directory.hpp>
#include <beck/file/random_access_file.hpp>

namespace beck::http::detail {

/// A regular file that is open, or a directory that was looked at.
struct open_file {
  explicit open_file(const any_io_executor& executor) : file(executor) {}

  random_access_file file;
  file_status status;
};

/// The files that are kept open. Thread: that of the context.
class open_files {
 public:
  /// The greatest number of files kept open.
  static constexpr std::size_t files_max = 512;

  /// Keeps files for `time`; not at all for zero.
  explicit open_files(duration time) noexcept : time_(time) {}
  open_files(const open_files&) = delete;
  open_files& operator=(const open_files&) = delete;

  /// Returns a file of `root`, whose path is `name`. Errors: as directory::async_open_file().
  task<io_result<std::shared_ptr<open_file>>> open(directory& root, std::string name);

 private:
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct kept {
    std::string_view name;  // the key of the entry
    std::int64_t until;
  };

  void close_old(std::int64_t now, std::size_t most);

  duration time_;
  std::unordered_map<std::string, std::shared_ptr<open_file>, hash, std::equal_to<>> files_;
  std::deque<kept> order_;  // the oldest first
};

}  // namespace beck::http::detail
