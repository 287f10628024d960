// SPDX-License-Identifier: BSL-1.0
//
// Server-sent events: a tick every so often, from where the client was before.
//   tick_server PORT [MILLISECONDS]        port 0: any free one; it is printed
//   curl -N http://localhost:PORT/events   or tick_client, or a browser at http://localhost:PORT/
#include <beck/http/event_stream.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/io/steady_timer.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

constexpr const char* page =
    "<!doctype html><title>Ticks</title><h1 id=n>...</h1><script>"
    "new EventSource('/events').addEventListener('tick', e => n.textContent = e.data)"
    "</script>\n";

beck::task<> ticks(beck::duration pause, http::request& q, http::response& r) {
  http::event_stream events(q, r, {.retry = pause});
  long long n = std::atoll(std::string(events.last_id()).c_str());
  beck::steady_timer timer(q.get_executor());
  for (;;) {
    const std::string number = std::to_string(++n);
    auto sent = co_await events.send({.name = "tick", .data = number, .id = number});
    if (sent.error()) co_return;  // the client has gone; HEAD has no events
    timer.expires_after(pause);
    auto waited = co_await timer.async_wait();
    if (waited.error()) co_return;  // the client has gone, or the server stops
  }
}

http::router make_site(beck::duration pause) {
  http::router site;
  site.get("/", [](http::request&, http::response& r) {
    r.set(http::field::content_type, "text/html; charset=utf-8").send(page);
  });
  site.get("/events", [pause](http::request& q, http::response& r) { return ticks(pause, q, r); });
  return site;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: tick_server PORT [MILLISECONDS]\n");
    return 2;
  }
  try {
    const long ms = argc == 3 ? example::number(argv[2]) : 1000;
    http::server server(make_site(beck::duration(ms * 1'000'000LL)));
    server.listen(beck::ip::make_port(example::number(argv[1])));
    return example::run_announced(server);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tick_server: %s\n", e.what());
    return 1;
  }
}
