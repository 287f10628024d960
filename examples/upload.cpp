// SPDX-License-Identifier: BSL-1.0
//
// A form with a title and pictures, which go to disk as they arrive; at most 100 MiB each.
//   upload PORT FOLDER                     port 0: any free one; it is printed
//   http://localhost:PORT/                 a page with the form, or
//   curl -F title=Holiday -F 'file=@a.png;type=image/png' http://localhost:PORT/images
#include <beck/http/failure.hpp>
#include <beck/http/multipart_form.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/tls/sealer.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

constexpr std::uint64_t mib = 1 << 20;

constexpr const char* page =
    "<!doctype html><title>Upload</title>"
    "<form method=post action=/images enctype=multipart/form-data><input name=title>"
    "<input name=file type=file accept=image/png multiple><button>Send</button></form>\n";

/// Answers with the new name and the size of each picture.
beck::task<> upload(std::string folder, http::request& q, http::response& r) {
  http::multipart_form form(q, {.parts = 20, .part_bytes = 100 * mib});
  std::string title, stored;
  while (http::form_part part = co_await form.next()) {
    if (part.name() == "title") {
      title = co_await part.text(1000);
    } else if (part.name() == "file" && part.media_type() == "image/png") {
      const std::string name = beck::tls::random_token() + ".png";  // never part.file_name()
      const std::uint64_t bytes = co_await part.save(folder + '/' + name);
      stored += name + ' ' + std::to_string(bytes) + '\n';
    }  // what is not read is skipped
  }
  if (title.empty() || stored.empty()) throw http::failure(422, "a title and a PNG, please");
  r.status(201).send(stored);
}

http::router make_site(const std::string& folder) {
  http::router site;
  site.get("/", [](http::request&, http::response& r) {
    r.set(http::field::content_type, "text/html; charset=utf-8").send(page);
  });
  site.post("/images",
            [folder](http::request& q, http::response& r) { return upload(folder, q, r); },
            {.body_bytes = 512 * mib});
  return site;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: upload PORT FOLDER\n");
    return 2;
  }
  try {
    http::server server(make_site(argv[2]));
    server.listen(beck::ip::make_port(example::number(argv[1])));
    return example::run_announced(server);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "upload: %s\n", e.what());
    return 1;
  }
}
