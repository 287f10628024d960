// SPDX-License-Identifier: BSL-1.0
//
// Forms with files (multipart/form-data, RFC 7578): the parts come one after the other, in bounded
// memory, and files go to disk as they arrive.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/multipart_limits.hpp>
#include <beck/http/request.hpp>
#include <cstddef>
#include <cstdint>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>

namespace beck::http {

namespace detail {
class form_source;
}

/// A part of a form: a field or a file. A value that refers to its form, and is used up by the next
/// multipart_form::next(): its functions then throw std::logic_error. Texts are those of the
/// client. The data can be read once; what is not read is skipped. Thread: that of the handler; one
/// operation of a form at a time.
/// The functions that read throw failure(400) if the form is malformed or ends early, failure(413)
/// above one of the multipart_limits, and io_error if the body cannot be read, as request_body
/// says: a handler that lets it pass is answered for. Cancellation: as a read of request_body; a
/// form is not to be read on after any of these.
class form_part {
 public:
  /// Makes what stands behind the last part.
  form_part() noexcept = default;
  /// Makes a part; for the library.
  form_part(detail::form_source& of, std::uint32_t number) noexcept : of_(&of), number_(number) {}

  /// Returns whether there is a part. It is false behind the last one; then there are no texts and
  /// no data.
  explicit operator bool() const noexcept { return of_ != nullptr; }
  /// Returns the name of the field. Any bytes but control characters.
  std::string_view name() const;
  /// Returns whether the part has a file name, which may be empty: browsers send one for a field of
  /// files without a file.
  bool is_file() const;
  /// Returns the name that the client's file has there. Never use it as a path, or as a part of
  /// one: it may be "../../etc/passwd", or the name of another file of the program. Decoded if it
  /// was sent with a character set (filename*, UTF-8); else the bytes as they were sent: browsers
  /// write %22 for a quote.
  std::string_view file_name() const;
  /// Returns the media type in lower case, without parameters: "image/png". "text/plain" if the
  /// client has not set one. What it says need not be true.
  std::string_view media_type() const;
  /// Returns the media type with its parameters, as it was sent; an empty text if the client has
  /// not set one.
  std::string_view content_type() const;

  /// Reads the rest of the data. Throws failure(413) above `limit` bytes. Memory: at most twice
  /// that.
  task<std::string> text(std::size_t limit);
  /// Reads some data: at least one byte. Returns their number; 0 at the end of the part. Requires
  /// room in `to`, asserted.
  task<std::size_t> read_some(mutable_buffer to);
  /// Writes the rest of the data to the file `path`, in place of a file that has this name. The
  /// data goes to a new file ".beck-*.part" beside it, which is synced (fdatasync(2)) and then
  /// renamed, so that no program reads an incomplete file. After an error, a cancellation or the
  /// end of the context the new file is removed; only the end of the process leaves it. Returns the
  /// number of bytes. Throws, besides what is said above, io_error of the file, such as
  /// no_space_on_device; std::invalid_argument for a path without a file name.
  /// Not guaranteed: that the name is on the device. Memory: 64 KiB.
  task<std::uint64_t> save(std::string path);

 private:
  detail::form_source& source() const;

  detail::form_source* of_ = nullptr;
  std::uint32_t number_ = 0;
};

/// The form in the body of a request:
///   http::multipart_form form(q, {.parts = 20, .part_bytes = 100 << 20});
///   while (http::form_part part = co_await form.next()) {
///     if (part.name() == "title") title = co_await part.text(1000);
///     if (part.name() == "file") co_await part.save(path);
///   }
/// Strict: what programs read differently is refused. A part needs "Content-Disposition: form-data"
/// with one name; refused are a second name, filename* beside filename, control characters, line
/// ends that are not CR LF, a line that begins with the boundary and is no boundary line, and a
/// Content-Transfer-Encoding that changes data. What stands before the first boundary and behind
/// the last one is skipped. Source: RFC 7578; RFC 2046, section 5.1.
/// Memory: about 16 KiB and head_bytes. Lifetime: the request outlives it. Thread: that of the
/// handler.
class multipart_form {
 public:
  /// Begins with the form. Throws failure(415) unless the request has the media type
  /// multipart/form-data; failure(400) without a boundary, or with a bad one; failure(413) if the
  /// body is announced to be longer than bounds.body_bytes; std::bad_alloc.
  explicit multipart_form(request& q, const multipart_limits& bounds = {});
  multipart_form(const multipart_form&) = delete;
  multipart_form& operator=(const multipart_form&) = delete;
  ~multipart_form();

  /// Skips the rest of the present part, and returns the next one; an empty one behind the last
  /// part, once the whole body has been read. Throws as form_part says.
  task<form_part> next();

 private:
  detail::form_source* source_;
};

}  // namespace beck::http
