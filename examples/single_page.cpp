// SPDX-License-Identifier: BSL-1.0
//
// A single-page application beside its API: every path that a browser opens is the page, unless
// there is a file of that name. The API has responses of its own, also for what it has not got.
//   single_page PORT DIR          port 0: any free one; it is printed. DIR has index.html
//   curl -H 'Accept: text/html' http://127.0.0.1:PORT/orders/7; curl http://127.0.0.1:PORT/api/time
#include <beck/http/error_page.hpp>
#include <beck/http/middlewares.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/system_timer.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

int serve(std::uint16_t port, const char* folder) {
  http::router api;
  api.use(http::add_fields({{"Cache-Control", "no-store"}}));
  api.get("/time", [](http::request&, http::response& r) {
    r.send_json("{\"now\":" + std::to_string(beck::system_now().nanoseconds() / 1'000'000'000) +
                '}');
  });
  api.otherwise([](http::request&, http::response& r) { r.fail(404, "no such call"); });  // no page
  http::router site;
  site.use(http::add_fields({{"X-Content-Type-Options", "nosniff"}}));
  site.mount("/api", std::move(api));
  const http::file_options files =
      http::file_options().index("index.html").fallback("index.html").precompressed("br gzip");
  site.mount("/", http::static_files(folder, files));
  http::server server(std::move(site));
  server.on_error_page(&http::problem_page);
  server.listen(port);
  return example::run_announced(server, {.contexts = 1});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: single_page PORT DIR\n");
    return 2;
  }
  try {
    return serve(beck::ip::make_port(example::number(argv[1])), argv[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "single_page: %s\n", e.what());
    return 1;
  }
}
