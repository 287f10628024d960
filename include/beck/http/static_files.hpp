// SPDX-License-Identifier: BSL-1.0
//
// Serves the files of a folder.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>
#include <string_view>

namespace beck::http {

class static_files;

namespace detail {
struct file_settings;
struct file_site;
}  // namespace detail

/// The settings of static_files. Every setter returns the object. A value.
class file_options {
 public:
  /// Makes the defaults.
  file_options();
  file_options(const file_options& other);
  file_options& operator=(const file_options& other);
  ~file_options();

  /// Sets the name of the file that answers for its folder, such as "index.html". Default: none.
  /// Throws std::invalid_argument for a name with a slash.
  file_options& index(std::string_view name);
  /// Sends the file "a.css.br" instead of "a.css" to clients that accept br, and likewise for gzip
  /// (.gz) and zstd (.zst), if it is not older than "a.css". `codings`: their names with spaces
  /// between them, the best first. Default: none. Throws std::invalid_argument for another name.
  file_options& precompressed(std::string_view codings);
  /// Answers for a folder without its index file with a page that lists its files, at most
  /// listing_max. Default: off.
  file_options& listing(bool on) noexcept;
  /// Keeps files open for `time` after they were opened, at most 512 in each context, so that
  /// further requests for them cost no call to find them. A change of a file is then noticed up to
  /// `time` later, and a file that becomes shorter meanwhile cuts the connection that it is sent
  /// over. Default: zero, for which every request looks.
  file_options& keep_open(duration time) noexcept;
  /// Sets the value of Cache-Control, such as "max-age=3600". Default: none. Throws
  /// std::invalid_argument for a value with a control character.
  file_options& cache_control(std::string_view value);
  /// Sets the media type of files whose names end in a dot and `extension`, in any case, in place
  /// of that of media_type_of(). Throws std::invalid_argument for a type with a control character,
  /// or an extension with a dot or a slash.
  file_options& type(std::string_view extension, std::string_view media_type);

  /// The greatest number of entries of a page.
  static constexpr unsigned listing_max = 10'000;

 private:
  friend class static_files;

  detail::file_settings* settings_;
};

/// A handler that serves the files of a folder and of the folders in it, alone or mounted at a
/// prefix of a router. It answers GET and HEAD: with the file; with 304 or 412, as its conditions
/// demand; with up to 8 ranges of bytes, or 416. A folder without its slash is redirected. ETag,
/// Last-Modified and the type by the extension are set.
///
/// A path is decoded once; what decode_path() refuses is answered with 400. Nothing outside of the
/// folder is reached, also not through links, which are followed within it. Names that begin with a
/// dot, devices, sockets and named pipes are answered with 404, and pipes are never waited for.
/// Errors: 404 for what does not exist, 403 without permission, 503 without a free descriptor, else
/// 500.
///
/// A file that changes while it is sent: a client never gets more or fewer bytes than the reply has
/// promised, unless the connection is cut. Every context opens the folder by its path when it first
/// serves; a folder that is put in its place later is not seen.
/// Thread: any. A copy shares the settings.
class static_files {
 public:
  /// Makes a handler for `folder`. Does not look at the folder.
  explicit static_files(std::string_view folder, const file_options& how = file_options());
  static_files(const static_files& other) noexcept;
  static_files& operator=(const static_files& other) noexcept;
  ~static_files();

  /// Answers a request of a server that this is the handler of.
  task<> operator()(request& q, response& r) const;

 private:
  detail::file_site* site_;
};

}  // namespace beck::http
