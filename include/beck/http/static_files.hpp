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

  /// Sets the name of the file that is sent for its folder, such as "index.html". Default: none.
  /// Throws std::invalid_argument for a name with a slash.
  file_options& index(std::string_view name);
  /// Sends this file of the folder, such as "index.html", with 200 to requests for a path without a
  /// file whose Accept lists text/html: browsers that open a page of a single-page application.
  /// Scripts, pictures and fetch() do not list it, and get 404. Default: none. Throws
  /// std::invalid_argument for an empty name and for one that begins or ends with a slash.
  file_options& fallback(std::string_view name);
  /// Sends the file "a.css.br" instead of "a.css" to clients that accept br, and likewise for gzip
  /// (.gz) and zstd (.zst), if it is not older than "a.css". `codings`: their names with spaces
  /// between them, the best first. Default: none. Throws std::invalid_argument for another name.
  file_options& precompressed(std::string_view codings);
  /// Answers requests for a folder without an index file with a page that lists its files, at most
  /// listing_max. Default: off.
  file_options& listing(bool on) noexcept;
  /// Keeps files open for `time` after they were opened, at most 512 in each context, so that
  /// further requests for them make no call to find them. A change of a file is then noticed up to
  /// `time` later. If a file becomes shorter meanwhile, the connection that it is sent over is cut.
  /// Default: zero: each request opens its file.
  file_options& keep_open(duration time) noexcept;
  /// Sets the value of Cache-Control, such as "max-age=3600". Default: none. Throws
  /// std::invalid_argument for a value with a control character.
  file_options& cache_control(std::string_view value);
  /// Sets the media type of files whose names end in a dot and `extension`, in any case, instead of
  /// that of media_type_of(). Throws std::invalid_argument for a type with a control character, or
  /// an extension with a dot or a slash.
  file_options& type(std::string_view extension, std::string_view media_type);

  /// The greatest number of entries of a page.
  static constexpr unsigned listing_max = 10'000;

 private:
  friend class static_files;

  detail::file_settings* settings_;
};

/// A handler that serves the files of a folder and its subfolders, alone or mounted at a prefix of
/// a router. It answers GET and HEAD with the file; with 304 or 412, as the request's conditions
/// demand; with up to 8 ranges of bytes, or 416. It redirects a folder without its final slash. It
/// sets ETag, Last-Modified and the media type of the extension.
///
/// A path is decoded once; a path that decode_path() refuses is answered with 400. No file outside
/// of the folder is reached, also not through links, which are followed within it. Names that begin
/// with a dot, devices, sockets and named pipes are answered with 404; pipes are never waited for.
/// Errors: 404 if there is no such file and no fallback, 403 without permission, 503 without a free
/// descriptor, else 500.
///
/// If a file changes while it is sent, the client gets exactly the number of bytes that the
/// response has announced, or the connection is cut. Every context opens the folder by its path
/// when it first serves; it does not notice a folder that replaces it later. Thread: any. A copy
/// shares the settings.
class static_files {
 public:
  /// Makes a handler for `folder`, without opening it.
  explicit static_files(std::string_view folder, const file_options& how = file_options());
  static_files(const static_files& other) noexcept;
  static_files& operator=(const static_files& other) noexcept;
  ~static_files();

  /// Answers a request of the server whose handler this is.
  task<> operator()(request& q, response& r) const;

 private:
  detail::file_site* site_;
};

}  // namespace beck::http
