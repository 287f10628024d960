// SPDX-License-Identifier: BSL-1.0
//
// The bodies of all responses that are errors, those of the server included: one function makes
// them, and decides what becomes of the program's exceptions.
//   error_pages PORT                       port 0: any free one; it is printed
//   curl -i -X POST http://127.0.0.1:PORT/orders
#include <beck/http/error_page.hpp>
#include <beck/http/request_id.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

struct out_of_stock : std::runtime_error {
  using runtime_error::runtime_error;
};

void make_page(http::error_page& page) {
  std::string text(page.text());  // nothing that a client has sent, so it needs no escapes
  try {
    if (page.thrown()) std::rethrow_exception(page.thrown());
  } catch (const out_of_stock&) {
    page.status(http::status::conflict);
    text = "sorry, there are no more of these";
  } catch (const http::failure&) {
    // its status and its text are in the page
  } catch (const std::exception& e) {  // also one that came too late: page.has_begun()
    const std::string id(page.request_id());
    std::printf("%s: %s\n", id.c_str(), e.what());
    std::fflush(stdout);
  }
  const std::string number = std::to_string(http::number_of(page.status()));
  page.body("text/html; charset=utf-8",
            "<h1>" + number + "</h1><p>" + text + "<p><a href=/>Home</a>\n");
}

http::router make_site() {
  http::router site;
  site.use(http::request_id());
  site.get("/", [](http::request&, http::response& r) { r.send("hello\n"); });
  site.post("/orders", [](http::request&, http::response&) { throw out_of_stock("no more"); });
  site.post("/bills", [](http::request&, http::response&) {
    throw std::runtime_error("the printer is on fire");
  });
  site.get("/bills/{id}", [](http::request&, http::response&) {
    throw http::failure(404, "there is no such bill");
  });
  return site;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: error_pages PORT\n");
    return 2;
  }
  try {
    http::server server(make_site());
    server.on_error_page(&make_page);
    server.listen(beck::ip::make_port(example::number(argv[1])));
    return example::run_announced(server, {.contexts = 1});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error_pages: %s\n", e.what());
    return 1;
  }
}
