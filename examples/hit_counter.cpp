// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server with a client of Redis for each context, made and tried before the server listens,
// closed after its last exchange. A load balancer sees at /ready that the server is going to stop.
//   hit_counter PORT REDIS-URL             port 0: any free one; it is printed
//   curl http://127.0.0.1:PORT/hits
#include <beck/coro/timeout.hpp>
#include <beck/http/error_page.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/redis/client.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

struct backend {
  // While Redis cannot be reached, requests fail at once instead of waiting for it.
  backend(beck::io_context& on, std::string_view url) : db(on, url, {.fails_fast = true}) {}

  // An exception ends run() with 1, and its text on stderr.
  beck::task<> start() {
    auto pong = co_await beck::timeout(db.exec<std::string>("PING"), beck::duration::seconds(2));
    if (pong.error()) throw std::runtime_error("no Redis: " + pong.error().message());
  }
  beck::task<> stop() {
    db.close();
    co_return;
  }

  beck::redis::client db;
};

http::router make_site(const http::per_context<backend>& each, const http::server*& self) {
  http::router site;
  site.get("/hits", [&each](http::request& q, http::response& r) -> beck::task<> {
    auto hits = co_await each.of(q).db.exec<long>("INCR", "hits");
    if (hits.error()) throw http::failure(503, "the counter cannot be reached");
    r.send(std::to_string(hits.value()) + '\n');
  });
  site.get("/ready", [&self](http::request&, http::response& r) {
    r.status(self->is_stopping() ? 503 : 200).send();
  });
  return site;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: hit_counter PORT REDIS-URL\n");
    return 2;
  }
  try {
    const std::string_view url(argv[2]);
    http::per_context<backend> each([url](beck::io_context& on) { return backend(on, url); });
    const http::server* self = nullptr;
    http::server server(make_site(each, self));
    self = &server;
    server.on_error_page(&http::problem_page);
    server.listen(beck::ip::make_port(example::number(argv[1])));
    return example::run_announced(
        server, {.contexts = 2, .notice_timeout = beck::duration::seconds(5), .objects = {each}});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "hit_counter: %s\n", e.what());
    return 1;
  }
}
