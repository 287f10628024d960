// SPDX-License-Identifier: BSL-1.0
// A server without memory: each allocation that a connection makes fails once. The connection may
// end; the server goes on, serves others, and ends when it is stopped.
#include <beck/http/server.hpp>

#include <beck/base/unique_fd.hpp>
#include <beck/http/router.hpp>
#include <beck/http/static_files.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/memory.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "http/file_folder.hpp"
#include "support/allocations.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// Echoes the body behind a field, in parts.
task<> echo(http::request& q, http::response& r) {
  char part[100];
  r.set("X-Long", std::string(600, 'x'));
  for (;;) {
    auto [ec, n] = co_await q.body().async_read_some(beck::buffer(part));
    if (ec == beck::error::eof) break;
    if (ec) co_return;
    const beck::const_buffer data(part, n);
    auto written = co_await beck::async_write(r, data);
    if (written.error()) co_return;
  }
}

void large(http::request&, http::response& r) { r.send(std::string(20'000, 'x')); }

/// Answers from a timer.
void later(http::exchange x) {
  auto timer = std::make_shared<beck::steady_timer>(x.get_executor(), beck::duration(1000));
  timer->async_wait([timer, x = std::move(x)](beck::error_code) mutable {
    try {
      x.response().send("x");
    } catch (const std::bad_alloc&) {}  // the end of `x` ends the reply
  });
}

http::router site_of(const std::string& folder) {
  http::router site;
  site.post("/echo", echo).get("/large", large).get("/later", later);
  site.get("/", [](http::request&, http::response& r) { r.send("hello\n"); });
  site.mount("/files", http::static_files(folder, http::file_options().listing(true)));
  return site;
}

constexpr const char* requests[] = {
    "GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 150\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\n",
    "GET /later HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /files/file HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /files/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost\r\n\r\n",
};

/// A server, and peers that allocate nothing.
struct starved {
  explicit starved(beck::backend where)
      : folder(where), ctx(context_options()), server(site_of(folder.root)) {
    folder.write("file", "content");
    server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0));
    server.serve().start(ctx, [this](const std::exception_ptr& error) {
      ended = true;
      failed = error != nullptr;
    });
    while (server.endpoint().port() == 0) ctx.poll();
  }

  beck::unique_fd connect() const {
    beck::unique_fd fd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.endpoint().port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    return fd;
  }
  void poll(int times) {
    for (int i = 0; i < times; ++i) {
      ctx.restart();
      ctx.poll();
    }
  }
  /// Sends a request while `fail` lets an allocation fail, then one on another connection.
  template <class Fail>
  void check_one(const char* request, Fail fail) {
    const beck::unique_fd hit = connect();
    const std::string text(request);
    REQUIRE(::send(hit.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0);
    fail();
    static_cast<void>(::shutdown(hit.get(), SHUT_RDWR));
    const beck::unique_fd good = connect();
    const std::string last = last_get("/");
    REQUIRE(::send(good.get(), last.data(), last.size(), MSG_NOSIGNAL) > 0);
    std::string reply;
    char part[4096];
    for (int i = 0; i < 100'000; ++i) {
      poll(1);
      const ssize_t n = ::recv(good.get(), part, sizeof part, MSG_DONTWAIT);
      if (n == 0) break;
      if (n > 0) reply.append(part, static_cast<std::size_t>(n));
    }
    REQUIRE(has(reply, "hello\n"));
  }
  /// Ends the server; every connection has to be gone.
  void check_end() {
    server.stop(beck::duration(1));
    for (int i = 0; i < 100'000 && !ended; ++i) poll(1);
    CHECK(ended);
    CHECK(!failed);
    CHECK(server.stats().connections == 0);
  }

  file_folder folder;
  beck::io_context ctx;
  http::server server;
  bool ended = false;
  bool failed = false;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "http: a server goes on after each block that it did not get") {
  for (const char* const request : requests) {
    CAPTURE(std::string(request));
    starved s(where);
    beck::testing::watched_memory memory;
    bool refused = true;
    int n = 0;
    while (refused) {
      ++n;
      CAPTURE(n);
      s.check_one(request, [&] {
        const std::uint64_t before = memory.refused();
        memory.fail_after(static_cast<std::uint64_t>(n));
        s.poll(30);
        memory.fail_after(0);
        refused = memory.refused() != before;
      });
    }
    CHECK(n > 4);
    s.check_end();
  }
}

CONFORMANCE_ON(beck::test::kernel, "http: a server goes on after each allocation that has failed") {
  NEEDS_ALLOCATION_FAULTS();
  for (const char* const request : requests) {
    CAPTURE(std::string(request));
    starved s(where);
    bool fired = true;
    int n = 0;
    while (fired) {
      ++n;
      CAPTURE(n);
      s.check_one(request, [&] {
        const beck::test::allocation_fault fault(n);
        s.poll(30);
        fired = fault.fired();
      });
    }
    CHECK(n > 1);
    s.check_end();
  }
}
