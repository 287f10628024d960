// SPDX-License-Identifier: BSL-1.0
// What static_files knows: the settings, which all copies and contexts share, and the open folder,
// which each context has for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beck/coro/task.hpp>
#include <beck/detail/ref_count.hpp>
#include <beck/file/directory.hpp>
#include <beck/http/content_coding.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>

#include "http/open_files.hpp"

namespace beck::http::detail {

struct file_settings {
  std::string index;
  std::vector<content_coding> codings;
  std::string cache_control;
  std::vector<std::pair<std::string, std::string>> types;  ///< of extensions, in lower case
  duration keep_open;
  bool listing = false;

  /// Returns the media type of a file.
  std::string_view type_of(std::string_view name) const noexcept;
};

/// The shared part. Thread: any.
struct file_site {
  std::string folder;
  file_settings settings;
  beck::detail::ref_count holders;
};

/// The part of a context.
struct open_site {
  open_site(const any_io_executor& executor, const file_settings& settings)
      : root(executor), files(settings.keep_open) {}

  directory root;
  open_files files;
  unsigned listings = 0;  ///< that are being made
};

/// A request for a file, while it is answered. The texts of the request outlive it.
struct file_call {
  const file_site& site;
  open_site& open;
  request& q;
  response& r;
};

/// Replies with a status and a line of text.
void say(response& r, status what, std::string_view text);
/// Replies with the status that an error of opening or reading a file means.
void say_error(response& r, const error_code& ec);
/// Returns whether an error means that there is no such file.
bool is_absence(const error_code& ec) noexcept;

/// Replies with a regular file that is open, or with its compressed form.
task<> send_found_file(file_call call, const std::string& name, file_object& file,
                       file_status status);
/// Replies with a page that lists a folder; `name` is "." for the root.
task<> send_listing(file_call call, const std::string& name);

}  // namespace beck::http::detail
