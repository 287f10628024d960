// SPDX-License-Identifier: BSL-1.0
// The state of static_files: the settings, which all copies and contexts share, and the folder and
// its files. Each context opens those itself, and keeps them open for a while, so that further
// requests need no system call to open them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/ref_count.hpp>
#include <beck/file/directory.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/http/content_coding.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>

namespace beck::http::detail {

struct file_settings {
  std::string index;
  std::string fallback;
  std::vector<content_coding> codings;
  std::string cache_control;
  std::vector<std::pair<std::string, std::string>> types;  ///< of extensions, in lower case
  duration keep_open;
  bool listing = false;

  /// Returns the media type of a file.
  std::string_view type_of(std::string_view name) const noexcept;
};

/// The part that all contexts share. Thread: any.
struct file_site {
  std::string folder;
  file_settings settings;
  beck::detail::ref_count holders;
};

/// A regular file that is open, or a directory whose status was read.
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

  /// Keeps files open for `time`; zero: not at all.
  explicit open_files(duration time) noexcept : time_(time) {}
  open_files(const open_files&) = delete;
  open_files& operator=(const open_files&) = delete;

  /// Returns the file `name` of `root`. Errors: as directory::async_open_file().
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
  void keep(std::string&& name, const std::shared_ptr<open_file>& file) noexcept;

  duration time_;
  std::unordered_map<std::string, std::shared_ptr<open_file>, hash, std::equal_to<>> files_;
  std::deque<kept> order_;  // the oldest first
};

/// The part of one context.
struct open_site {
  open_site(const any_io_executor& executor, const file_settings& settings)
      : root(executor), files(settings.keep_open) {}

  directory root;
  open_files files;
  unsigned listings = 0;  ///< being made
};

/// A request for a file while it is answered. The texts of the request outlive this object.
struct file_call {
  const file_site& site;
  open_site& open;
  request& q;
  response& r;
  bool is_fallback = false;  ///< the file is not the one that the path names
};

/// Responds with an error page, with the status that fits an error of opening or reading a file.
void say_error(response& r, const error_code& ec);
/// Returns whether an error means that there is no such file.
bool is_absence(const error_code& ec) noexcept;

/// Returns whether a read contradicts the size `bytes` of a file without stored data: the kernel
/// generates the contents of files of procfs and sysfs during reads. Reads at most twice, one byte
/// each.
task<bool> has_false_size(file_object& file, std::uint64_t bytes);
/// Responds with a regular file that is open, or with its compressed form.
task<> send_found_file(file_call call, const std::string& name, file_object& file,
                       file_status status);
/// Responds with a page that lists a folder; `name` is "." for the root.
task<> send_listing(file_call call, const std::string& name);

}  // namespace beck::http::detail
