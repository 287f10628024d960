// SPDX-License-Identifier: BSL-1.0
// A site that takes forms with files, and the requests that send them.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/file/directory.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/http/multipart_form.hpp>
#include <beck/http/router.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace beck::http::test {

/// Reads a form as the names of its parts say: t: as a text of at most 10 bytes, p: in pieces of 3
/// bytes, f: into the file of its name; others are skipped. Responds with what it has found.
class form_taker {
 public:
  explicit form_taker(std::string folder, const multipart_limits& bounds = {})
      : folder_(std::move(folder)), bounds_(bounds) {}

  task<> operator()(request& q, response& r) {
    ++began;
    std::string seen;
    multipart_form form(q, bounds_);
    while (form_part part = co_await form.next()) {
      const std::string name(part.name());
      seen += name;
      if (part.is_file()) seen.append("[").append(part.file_name()).append("]");
      seen.append("(").append(part.media_type()).append(")");
      if (name[0] == 't') seen += '=' + co_await part.text(10);
      if (name[0] == 'p') {
        char piece[3];
        const mutable_buffer to(piece, sizeof piece);
        while (const std::size_t bytes = co_await part.read_some(to))
          seen.append("/").append(piece, bytes);
      }
      if (name[0] == 'f') {
        ++saving;
        const std::uint64_t bytes = co_await part.save(folder_ + name);
        ++saved;
        seen.append("=").append(std::to_string(bytes));
      }
      seen += ' ';
    }
    CHECK(q.body().is_whole());
    ++whole;
    r.send(seen);
  }

  int began = 0, saving = 0, saved = 0, whole = 0;

 private:
  const std::string folder_;
  const multipart_limits bounds_;
};

/// A part of the form with the boundary "b".
inline std::string form_field(std::string_view name, std::string_view data,
                              std::string_view more = {}) {
  return "--b\r\nContent-Disposition: form-data; name=\"" + std::string(name) + '"' +
         std::string(more) + "\r\n\r\n" + std::string(data) + "\r\n";
}
inline std::string form_post(std::string_view body, std::string_view more = {}) {
  return "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n" +
         std::string(more) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}
/// The same in chunks of at most `most` bytes.
inline std::string form_chunks(std::string_view body, std::size_t most,
                               std::string_view more = {}) {
  std::string text =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n" +
      std::string(more) + "Transfer-Encoding: chunked\r\n\r\n";
  while (!body.empty()) {
    const std::string_view chunk = body.substr(0, most);
    char size[20];
    const int digits = std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
    text.append(size, static_cast<std::size_t>(digits)).append(chunk).append("\r\n");
    body.remove_prefix(chunk.size());
  }
  return text + "0\r\n\r\n";
}

/// Adds the names of the entries of a directory, each with a space behind it, to `to`. Those of
/// files that are being written are "part".
inline task<> list_names(io_context& ctx, std::string path, std::string& to) {
  directory from(ctx);
  from.open(path.empty() ? "." : path);
  directory_listing listing;
  for (;;) {
    auto listed = co_await from.async_list(listing);
    if (listed.error()) break;
    for (const auto& one : listing) {
      const std::string_view name(one.name);
      const bool is_part = name.starts_with(".beck-") && name.ends_with(".part");
      to.append(is_part ? std::string_view("part") : name).append(" ");
    }
  }
}

}  // namespace beck::http::test
