// SPDX-License-Identifier: BSL-1.0
// A file that is written under another name, and gets its own at the end.
#pragma once

#include <cstdint>
#include <string>

#include <beck/coro/task.hpp>
#include <beck/file/random_access_file.hpp>

namespace beck::http::detail {

/// A file that is being written. Its object removes the file, unless it was published. Functions
/// throw io_error. Thread: that of its executor.
class part_file {
 public:
  /// Chooses a name beside `path`. Throws std::invalid_argument for a path without a file name.
  part_file(const any_io_executor& executor, std::string path);
  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;
  /// Removes the file if it was not published. It is open until then, so only its name goes here,
  /// and the call does not wait for the blocks of a large file to be freed.
  ~part_file();

  task<> open();
  /// Writes all of `data`.
  task<> write(std::uint64_t offset, const_buffer data);
  /// Syncs the file, and gives it its name.
  task<> publish();

 private:
  const std::string path_;
  std::string part_path_;
  random_access_file file_;
  bool may_exist_ = false;  // under part_path_
};

}  // namespace beck::http::detail
