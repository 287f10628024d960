// SPDX-License-Identifier: BSL-1.0
// The cost of an exchange, in system calls and allocations, counted on the real kernel. The peer is
// a blocking socket of this thread, so that everything counted is the server's.
#include <beck/http/middleware.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/slot.hpp>

#include <sys/socket.h>

#include <string>

#include "http/counted_server.hpp"
#include "http/served.hpp"
#include "support/allocations.hpp"

using beck::task;
using beck::test::kernel;
namespace http = beck::http;
using http::test::call_counts;
using http::test::counted_server;
using http::test::get;
using http::test::has;
using http::test::last_get;

namespace {

struct counted : counted_server {
  using counted_server::counted_server;

  /// Runs the server until `responses` responses have come that end in "hello\n".
  std::string receive(int fd, int responses) {
    std::string text;
    char part[65536];
    for (int found = 0; found < responses;) {
      ctx.poll();
      const ssize_t got = ::recv(fd, part, sizeof part, MSG_DONTWAIT);
      if (got <= 0) continue;
      text.append(part, static_cast<std::size_t>(got));
      found = 0;
      for (std::size_t at = 0; (at = text.find("hello\n", at)) != text.npos; ++at) ++found;
    }
    return text;
  }
};

void hello(http::request&, http::response& r) { r.send("hello\n"); }
task<> hello_task(http::request&, http::response& r) {
  r.send("hello\n");
  co_return;
}
void hello_later(http::exchange x) { x.response().send("hello\n"); }

constinit const http::slot<int> place;
http::pending pass(http::request& q, http::response& r, http::next next) { return next(q, r); }
http::pending keep(http::request& q, http::response& r, http::next next) {
  place.put(q, 7);
  r.before_head([](http::request& asked, http::response& head) {
    if (*place.get(asked) == 7) head.set("X-Route", asked.route().pattern());
  });
  return next(q, r);
}
task<> wait(http::request& q, http::response& r, http::next next) { co_await next(q, r); }

template <class Handler>
void check_exchanges(Handler handler) {
  counted c(handler);
  const int fd = c.connect();
  for (int i = 0; i < 10; ++i) {
    c.send(fd, get("/"));
    c.receive(fd, 1);
  }
  const call_counts before = c.calls;
  constexpr int rounds = 100;
  const std::string request = get("/");
  const std::uint64_t allocations = beck::test::allocations();
  char part[1024];
  for (int i = 0; i < rounds; ++i) {
    c.send(fd, request);
    while (::recv(fd, part, sizeof part, MSG_DONTWAIT) <= 0) c.ctx.poll_one();
  }
  const std::uint64_t allocated = beck::test::allocations() - allocations;
  const call_counts after = c.calls;
  CHECK(after.sends - before.sends == rounds);
  CHECK(after.receives - before.receives == rounds);
  CHECK(after.empty_receives == before.empty_receives);
  if (beck::test::counts_allocations()) CHECK(allocated == 0);
}

}  // namespace

CONFORMANCE_ON(kernel, "http: an exchange is one receive and one send, and allocates nothing") {
  check_exchanges(&hello);
  check_exchanges(&hello_task);
  check_exchanges(&hello_later);
}

CONFORMANCE_ON(kernel, "http: middlewares and what they keep allocate nothing") {
  const auto around = [](auto handler) {
    return http::with(pass, wait, keep, pass, wait, handler);
  };
  check_exchanges(around(&hello));
  check_exchanges(around(&hello_task));
  check_exchanges(around(&hello_later));
  http::router inner, site;
  inner.get("/", &hello).use(wait, pass);
  site.mount("/", inner).use(pass, wait, keep);
  check_exchanges(site);
}

CONFORMANCE_ON(kernel, "http: sixteen requests in one packet are answered with one send") {
  counted c(&hello);
  const int fd = c.connect();
  std::string text;
  for (int i = 0; i < 16; ++i) text += get("/");
  c.send(fd, text);
  c.receive(fd, 16);
  CHECK(c.calls.sends == 1);
}

CONFORMANCE_ON(kernel, "http: a request that was there before the accept is read at once") {
  counted c(&hello);
  for (int i = 0; i < 100; ++i) c.send(c.connect(), last_get("/"));
  const std::uint64_t entries = c.ctx.stats().entries_submitted;
  while (c.server.stats().exchanges < 100) c.ctx.poll();
  CHECK(c.calls.receives - c.calls.empty_receives == 100);
  CHECK(c.calls.empty_receives == 0);
  CHECK(c.ctx.stats().entries_submitted - entries < 20);
}

CONFORMANCE_ON(kernel, "http: the last response of a connection leaves with its end") {
  counted c(&hello);
  const int fd = c.connect();
  c.send(fd, get("/") + get("/"));
  c.receive(fd, 2);
  CHECK(c.calls.sends == 1);
  CHECK(c.calls.last_sends == 0);  // more may follow
  c.send(fd, get("/") + last_get("/"));
  c.receive(fd, 2);
  CHECK(c.calls.sends == 1);
  CHECK(c.calls.last_sends == 1);
  char more;
  CHECK(::recv(fd, &more, 1, 0) == 0);
}

CONFORMANCE_ON(kernel, "http: idle connections make no system call") {
  counted c(&hello);
  for (int i = 0; i < 50; ++i) {
    const int fd = c.connect();
    c.send(fd, get("/"));
    c.receive(fd, 1);
  }
  for (int i = 0; i < 10; ++i) c.ctx.poll();
  const call_counts before = c.calls;
  const std::uint64_t entries = c.ctx.stats().entries_submitted;
  for (int i = 0; i < 100; ++i) CHECK(c.ctx.poll() == 0);
  CHECK(c.calls.receives == before.receives);
  CHECK(c.calls.sends == before.sends);
  CHECK(c.ctx.stats().entries_submitted == entries);
}
