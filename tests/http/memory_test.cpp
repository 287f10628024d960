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

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "http/file_folder.hpp"
#include "http/server_site.hpp"
#include "support/allocations.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

using namespace std::chrono_literals;

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
    } catch (const std::bad_alloc&) {}  // the end of `x` ends the response
  });
}

/// Streams a body without a look at the errors.
task<> careless(http::request&, http::response& r) {
  const std::string text(16'384, 'x');
  const beck::const_buffer part(text.data(), text.size());
  for (int i = 0; i < 500; ++i) beck::ignore(co_await r.async_write_some(part));
}

http::router site_of(const std::string& folder) {
  http::router site;
  site.post("/echo", echo).get("/large", large).get("/later", later).get("/careless", careless);
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
    std::string response;
    char part[4096];
    for (int i = 0; i < 100'000; ++i) {
      poll(1);
      const ssize_t n = ::recv(good.get(), part, sizeof part, MSG_DONTWAIT);
      if (n == 0) break;
      if (n > 0) response.append(part, static_cast<std::size_t>(n));
    }
    REQUIRE(has(response, "hello\n"));
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

CONFORMANCE_ON(beck::test::kernel,
               "http: a response without memory for a part of it is not whole") {
  for (std::uint64_t n = 1; n < 12; ++n) {
    CAPTURE(n);
    starved s(where);
    const beck::unique_fd hit = s.connect();
    const std::string text = last_get("/careless");
    REQUIRE(::send(hit.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0);
    s.poll(100);  // its handler waits for room by then
    beck::testing::watched_memory memory;
    memory.fail_after(n);
    std::string response;
    std::string part(65'536, ' ');
    for (ssize_t got = 1; got != 0;) {
      s.poll(1);
      got = ::recv(hit.get(), part.data(), part.size(), MSG_DONTWAIT);
      if (got > 0) response.append(part, 0, static_cast<std::size_t>(got));
      if (got < 0) REQUIRE(errno == EAGAIN);
    }
    CHECK(memory.refused() == 1);
    const auto all = responses_in(response);
    REQUIRE(all.size() == 1);
    CHECK(!all[0].whole);
  }
}

TEST_CASE("http: a server goes on without memory for what a socket did not take of a response") {
  for (std::size_t bytes = 16'384; bytes < 400'000; bytes += 32'768) {  // some just fill it
    bool refused = true;
    std::uint64_t n = 0;
    while (refused) {
      CAPTURE(bytes);
      ++n;
      CAPTURE(n);
      site s([bytes](http::exchange x) {
        auto timer = std::make_shared<beck::steady_timer>(x.get_executor(), beck::duration(1000));
        timer->async_wait([timer, bytes, x = std::move(x)](beck::error_code) mutable {
          try {
            x.response().send(std::string(bytes, 'x'));
          } catch (const std::bad_alloc&) {}
        });
      });
      peer& deaf = s.start();
      const std::string request = get("/");
      beck::async_write(deaf.socket, beck::buffer(request), [](error_code, std::size_t) {});
      {
        beck::testing::watched_memory memory;
        memory.fail_after(n);
        s.world.run_for(1s);
        refused = memory.refused() != 0;
      }
      s.listen_to(deaf, 1s);
      peer& next = s.start(get("/"));
      s.listen_to(next, 1s);
      CHECK(next.responses().at(0).body.size() == bytes);
    }
    CHECK(n > 4);
  }
}

TEST_CASE("http: time limits are kept after each block that a server did not get") {
  bool refused = true;
  std::uint64_t n = 0;
  while (refused) {
    ++n;
    CAPTURE(n);
    site s(say_path);
    s.peers.emplace_back(s.far).socket.async_connect(site::server_at(), [](error_code) {});
    {
      beck::testing::watched_memory memory;
      memory.fail_after(n);
      s.world.run_for(1ms);
      refused = memory.refused() != 0;
    }
    s.start(80s);
    CHECK(s.server.stats().connections == 0);
  }
  CHECK(n > 4);
}

TEST_CASE("http limits: a connection that a server has no memory for is not counted") {
  bool refused = true;
  std::uint64_t n = 0;
  while (refused) {
    ++n;
    CAPTURE(n);
    site s(say_path, {.connections = 1, .per_address = 2});
    s.start();  // makes room
    s.peers.emplace_back(s.far).socket.async_connect(site::server_at(), [](error_code) {});
    {
      beck::testing::watched_memory memory;
      memory.fail_after(n);
      s.world.run_for(1ms);
      refused = memory.refused() != 0;
    }
    s.world.run_for(20ms);
    peer& next = s.start(get("/next"));
    s.listen_to(next, 1s);
    CHECK(next.responses().size() == 1);
    CHECK(s.server.stats().turned_away == 0);
  }
  CHECK(n > 4);
}
