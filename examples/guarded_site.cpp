// SPDX-License-Identifier: BSL-1.0
//
// An HTTP server whose routes are guarded by middlewares: a token names the user, a value of the
// route makes it public, and each response has the number of its request and the time it took.
//   guarded_site PORT                 port 0: any free one; it is printed
//   curl -i -H "Authorization: Bearer anna" http://127.0.0.1:PORT/me
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/slot.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "announced.hpp"
#include "number.hpp"

namespace http = beck::http;

namespace {

struct user {
  std::string name;
};
constinit const http::slot<user> asking;          // of an exchange
constinit const http::route_key<bool> is_public;  // of a route
constinit const http::slot<unsigned long> place;  // of an exchange

/// Numbers the requests of its context, and puts the number into each response.
class numbered {
 public:
  http::pending operator()(http::request& q, http::response& r, http::next next) const {
    static thread_local unsigned long count = 0;
    place.put(q, ++count);
    r.before_head([](http::request& asked, http::response& head) {
      head.set("X-Request", std::to_string(*place.get(asked)));
    });
    return next(q, r);
  }
};

/// Responds to requests without a known token with 401, except those for public routes and those
/// that the router answers itself: 404 stays 404.
http::pending require_user(http::request& q, http::response& r, http::next next) {
  if (!q.route() || q.route().get(is_public) != nullptr) return next(q, r);
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view token = q.get(http::field::authorization);
  if (token != "Bearer anna" && token != "Bearer ben") {
    r.status(401).set(http::field::www_authenticate, "Bearer").send("who is there?\n");
    return {};
  }
  asking.put(q, {std::string(token.substr(scheme.size()))});
  return next(q, r);
}

/// Writes a line for each request when its response is complete.
beck::task<> logged(http::request& q, http::response& r, http::next next) {
  co_await next(q, r);
  const std::string_view pattern = q.route().pattern();
  std::printf("%lu %.*s %u\n", *place.get(q), static_cast<int>(pattern.size()), pattern.data(),
              http::number_of(r.status()));
  std::fflush(stdout);
}

beck::task<> store(http::request& q, http::response& r) {
  std::size_t total = 0;
  char part[4096];
  for (;;) {
    auto [ec, bytes] = co_await q.body().async_read_some(beck::buffer(part));
    if (ec == beck::error::eof) break;
    if (ec) co_return;  // too long: the server answers, with the number of the request
    total += bytes;
  }
  const std::string text = asking.get(q)->name + " stored " + std::to_string(total) + '\n';
  r.status(201).send(text);
}

http::router make_site() {
  http::router notes, site;
  notes.post("/{name}", store, {.body_bytes = 1000});
  notes.get("/{name}", [](http::request& q, http::response& r) {
    r.send(asking.get(q)->name + " reads " + std::string(q.param("name")) + '\n');
  });
  site.use(numbered(), &logged, &require_user);
  site.get("/health", [](http::request&, http::response& r) { r.send("well\n"); },
           {.values = {is_public(true)}});
  site.get("/me", [](http::request& q, http::response& r) { r.send(asking.get(q)->name + '\n'); });
  site.mount("/notes", notes);
  return site;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: guarded_site PORT\n");
    return 2;
  }
  try {
    http::server server(make_site());
    server.listen(beck::ip::make_port(example::number(argv[1])));
    return example::run_announced(server, {.contexts = 1});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "guarded_site: %s\n", e.what());
    return 1;
  }
}
