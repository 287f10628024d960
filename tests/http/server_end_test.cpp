// SPDX-License-Identifier: BSL-1.0
// The end of connections, of servers and of contexts, in the middle of work; and what many
// connections share: lent buffers, acceptors, the limit of connections.
#include <beck/http/server.hpp>

#include <beck/base/unique_fd.hpp>
#include <beck/coro/event.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/blocking_client.hpp"
#include "http/both_streams.hpp"
#include "http/served.hpp"
#include "io/system/posix_system.hpp"
#include "support/context_seam.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

CONFORMANCE_OVER_BOTH("http: a reset stops a handler that waits, an end of the input does not") {
  int started = 0, stopped = 0, finished = 0;
  served s([&](http::request& q, http::response& r) -> task<> {
    ++started;
    const bool is_short = q.path() == "/short";
    beck::steady_timer timer(q.get_executor(),
                             beck::duration(is_short ? 5'000'000 : 3'600'000'000'000));
    auto waited = co_await timer.async_wait();
    ++(waited.error() ? stopped : finished);
    r.send("ok");
  });
  peer& ends = s.start(get("/short", "Connection: close\r\n"));
  s.run_until([&] { return started == 1; });
  error_code ec;
  ends.socket.shutdown(ip::tcp::socket::shutdown_send, ec);
  s.run_until([&] { return ends.done; });
  CHECK(ends.responses().at(0).body == "ok");
  CHECK(finished == 1);
  peer& resets = s.start(get("/long"));
  s.run_until([&] { return started == 2; });
  resets.socket.set_option(beck::socket_base::linger(true, 0), ec);
  resets.socket.close();
  s.run_until([&] { return s.server.stats().connections == 0; });
  CHECK(stopped == 1);
}

CONFORMANCE_OVER_BOTH("http: bytes behind the last request do not cost the client its response") {
  bool reading = false;
  served s([&](http::request& q, http::response& r) -> task<> {
    reading = true;
    char part[100];
    std::size_t bytes = 0;
    while (bytes < sizeof part) {
      const beck::mutable_buffer rest(part + bytes, sizeof part - bytes);
      auto got = co_await q.body().async_read_some(rest);
      if (got.error()) break;
      bytes += got.value_;
    }
    r.send(std::to_string(bytes));
  });
  peer& old = s.start("POST / HTTP/1.0\r\nContent-Length: 100\r\n\r\n");
  s.run_until([&] { return reading; });
  s.send(old, std::string(100, 'x') + "\r\n");  // as some clients once did
  s.run_until([&] { return old.done; });
  const auto all = old.responses();
  REQUIRE(all.size() == 1);
  CHECK(all[0].body == "100");
}

CONFORMANCE_OVER_BOTH(
    "http: stop() lets exchanges finish, closes idle connections, and ends serve()") {
  bool release = false;
  int started = 0;
  served s([&](http::request& q, http::response& r) -> task<> {
    ++started;
    while (q.path() == "/wait" && !release) {
      beck::steady_timer timer(q.get_executor(), beck::duration(100'000));
      beck::ignore(co_await timer.async_wait());
    }
    r.send("done");
  });
  peer& idle = s.start(get("/"));
  s.wait_for(idle, 1);
  peer& busy = s.start(get("/wait"));
  s.run_until([&] { return started == 2; });
  s.server.stop();
  s.run_until([&] { return idle.done; });
  CHECK(!s.ended);
  release = true;
  s.run_until([&] { return s.ended; });
  s.run_until([&] { return busy.done; });
  const auto all = busy.responses();
  REQUIRE(all.size() == 1);
  CHECK(all[0].body == "done");
  CHECK(has(all[0].fields, "Connection: close\r\n"));
  CHECK(!s.failed);
}

CONFORMANCE_OVER_BOTH("http: what is left after the grace is cut") {
  bool started = false;
  served s([&](http::request& q, http::response& r) -> task<> {
    started = true;
    beck::steady_timer timer(q.get_executor(), beck::duration(3'600'000'000'000));
    beck::ignore(co_await timer.async_wait());
    r.send("never");
  });
  peer& one = s.start(get("/"));
  s.run_until([&] { return started; });
  s.stop(beck::duration(1'000'000));
  s.run_until([&] { return one.done; });
  CHECK(one.received.empty());
}

CONFORMANCE_ON(beck::test::kernel, "http: a reset and urgent data before the accept harm nobody") {
  served s(say_path);
  const auto connect = [&] {
    beck::unique_fd fd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(s.server.endpoint().port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    return fd;
  };
  const std::string request = get("/urgent", "Connection: close\r\n");
  for (const bool asks : {false, true}) {
    const beck::unique_fd resets = connect();
    if (asks) REQUIRE(::send(resets.get(), request.data(), request.size(), 0) > 0);
    const linger at_once{1, 0};
    REQUIRE(::setsockopt(resets.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
  }
  const beck::unique_fd urgent = connect();
  REQUIRE(::send(urgent.get(), request.data(), 9, 0) == 9);
  REQUIRE(::send(urgent.get(), "!", 1, MSG_OOB) == 1);  // not a byte of the stream
  REQUIRE(::send(urgent.get(), request.data() + 9, request.size() - 9, 0) > 0);
  CHECK(s.ask(last_get("/other")).at(0).body == "/other");
  std::string response;
  char part[1000];
  for (int i = 0; i < 100'000; ++i) {
    s.ctx.restart();
    s.ctx.poll();
    const ssize_t n = ::recv(urgent.get(), part, sizeof part, MSG_DONTWAIT);
    if (n == 0) break;
    if (n > 0) response.append(part, static_cast<std::size_t>(n));
  }
  CHECK(responses_in(response).at(0).body == "/urgent");
  s.run_until([&] { return s.server.stats().connections == 0; });
  CHECK(s.server.stats().accepted == 4);
  CHECK(s.server.stats().exchanges <= 3);
}

CONFORMANCE_OVER_BOTH(
    "http: an exchange that is kept for ever does not keep a server from ending") {
  std::optional<http::exchange> kept;
  served s([&](http::exchange x) { kept.emplace(std::move(x)); });
  peer& one = s.start(get("/kept"));
  s.run_until([&] { return kept.has_value(); });
  s.stop(beck::duration(1'000'000));
  s.run_until([&] { return one.done; });
  CHECK(one.received.empty());
  CHECK(s.server.stats().connections == 0);
  s.ctx.restart();
  s.ctx.run();  // the exchange is no work of the context
  CHECK(kept->request().path() == "/kept");
  kept->response().send("goes nowhere");
  kept.reset();
}

CONFORMANCE_OVER_BOTH("http: a context is destroyed in the middle of everything") {
  struct {
    int frames = 0;
  } alive;
  struct guard {
    int& count;
    explicit guard(int& c) : count(c) { ++count; }
    ~guard() { --count; }
  };
  {
    served s([&](http::request& q, http::response& r) -> task<> {
      const guard here(alive.frames);
      char part[10];
      if (q.path() == "/read") beck::ignore(co_await q.body().async_read_some(beck::buffer(part)));
      const std::string text(100'000, 'x');
      for (;;) {
        const beck::const_buffer data(text.data(), text.size());
        auto [ec, n] = co_await beck::async_write(r, data);
        if (ec) co_return;
      }
    });
    s.start("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    s.start_deaf(get("/write"));
    s.run_until([&] { return alive.frames == 2; });
    for (int i = 0; i < 50; ++i) s.ctx.poll();
    s.start(get("/half").substr(0, 10));
    for (int i = 0; i < 50; ++i) s.ctx.poll();
  }
  CHECK(alive.frames == 0);
}

CONFORMANCE_OVER_BOTH(
    "http: no connection keeps a lent buffer while it waits, so one is enough for all") {
  const std::string chunked = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string announced = "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
  served reads(count_body, http::limits(),
               context_options({.lease_count = 1, .lease_bytes = 4096}));
  served drops(say_path, http::limits(), context_options({.lease_count = 1, .lease_bytes = 4096}));
  served holds(
      [](http::request& q, http::response& r) -> task<> {
        beck::steady_timer timer(q.get_executor(), beck::duration(3'600'000'000'000));
        if (q.path() == "/c") beck::ignore(co_await timer.async_wait());
        r.send(q.path());
      },
      http::limits(), context_options({.lease_count = 1, .lease_bytes = 4096}));
  for (served* s : {&reads, &drops, &holds}) {
    const auto waits = [&](const std::string& text) {
      peer& one = s->start(text);
      for (int i = 0; i < 50; ++i) s->ctx.poll();
      return &one;
    };
    const peer* const in_body = waits((s == &drops ? announced : chunked) + "5;a");
    const peer* const refused = waits("BAD\r\n\r\nmore");
    const peer* const in_head = waits("GET / HT");
    const auto all = s->ask(get("/a") + last_get("/b"));
    CHECK(all.size() == 2);
    s->wait_for(*refused, 1);
    CHECK(refused->responses()[0].status == 400);
    CHECK(!in_body->done);
    CHECK(!in_head->done);
  }
}

CONFORMANCE_OVER_BOTH(
    "http: a server with two endpoints at its limit of connections can be stopped") {
  served s(say_path, {.connections = 1});
  http::server two(say_path, {.connections = 1});
  two.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  two.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  bool ended = false;
  two.serve().start(s.ctx, [&](std::exception_ptr) { ended = true; });
  while (two.endpoint(1).port() == 0) s.ctx.poll();
  ip::tcp::socket one(s.ctx);
  one.async_connect(two.endpoint(0), [](error_code) {});
  const std::string half = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
  beck::async_write(one, beck::buffer(half), [](error_code, std::size_t) {});
  s.run_until([&] { return two.stats().exchanges == 1; });
  ip::tcp::socket other(s.ctx);
  other.async_connect(two.endpoint(1), [](error_code) {});
  beck::async_write(other, beck::buffer(half), [](error_code, std::size_t) {});
  for (int i = 0; i < 50; ++i) s.ctx.poll();
  CHECK(two.stats().connections == 1);
  two.stop(beck::duration(1'000'000));
  s.run_until([&] { return ended; });
  CHECK(two.stats().connections == 0);
}

CONFORMANCE_OVER_BOTH("http: a server that cannot listen says so") {
  served first(say_path);
  http::server second(say_path);
  second.listen(first.server.endpoint());
  bool ended = false;
  std::exception_ptr failed;
  second.serve().start(first.ctx, [&](std::exception_ptr error) {
    failed = error;
    ended = true;
  });
  first.run_until([&] { return ended; });
  CHECK_THROWS_AS(std::rethrow_exception(failed), beck::io_error);
}

namespace {

/// A system that accepts one connection, and then fails with an error that is not of one.
class one_accept final : public beck::detail::posix_system {
 public:
  explicit one_accept(int error) : error_(error) {}
  int accept(int fd, void* address, std::size_t& bytes) noexcept override {
    if (accepted_) return -error_;
    const int got = posix_system::accept(fd, address, bytes);
    accepted_ = got >= 0;
    return got;
  }

 private:
  int error_;
  bool accepted_ = false;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "http: a listener that fails ends the server after its exchanges, and serve() says "
               "why") {
  for (const int error : {EINVAL, EOPNOTSUPP, ENOTSOCK}) {
    CAPTURE(error);
    beck::io_context ctx(context_options());
    beck::testing::context_seam::replace_system(ctx, std::make_unique<one_accept>(error));
    int unhandled = 0;
    ctx.on_unhandled([](std::exception_ptr, void* count) { ++*static_cast<int*>(count); },
                     &unhandled);
    beck::manual_reset_event may_answer;
    http::server server([&](http::request&, http::response& r) -> beck::task<> {
      beck::ignore(co_await may_answer.wait());
      r.send("late");
    });
    server.listen(any_port);
    std::exception_ptr failed;
    bool ended = false;
    server.serve().start(ctx, [&](std::exception_ptr given) {
      failed = std::move(given);
      ended = true;
    });
    while (server.endpoint().port() == 0) ctx.poll();
    const auto until = [&](auto holds) {
      while (!holds()) {
        ctx.restart();
        REQUIRE(ctx.run_one() != 0);
      }
    };
    const beck::unique_fd served = connect_to(server.endpoint().port());
    REQUIRE(send_to(served, last_get("/")));
    until([&] { return server.stats().accepted == 1; });
    const beck::unique_fd second = connect_to(server.endpoint().port());
    until([&] { return server.is_stopping(); });
    CHECK(!ended);
    may_answer.set();
    until([&] { return ended; });
    CHECK(has(read_to_end(served), "late"));
    CHECK(unhandled == 0);
    REQUIRE(failed);
    try {
      std::rethrow_exception(failed);
    } catch (const beck::io_error& e) {
      CHECK(e.code().value() == error);
      CHECK(has(e.what(), "http: accept: "));
    }
  }
}

namespace {

/// A system on which accepting begins to fail when the program says so.
class ending_accepts final : public beck::detail::posix_system {
 public:
  explicit ending_accepts(const bool& fails, int& failures)
      : fails_(&fails), failures_(&failures) {}
  int accept(int fd, void* address, std::size_t& bytes) noexcept override {
    if (!*fails_) return posix_system::accept(fd, address, bytes);
    ++*failures_;
    return -EINVAL;
  }

 private:
  const bool* fails_;
  int* failures_;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "http: a stop does not wait for a listener that has failed") {
  bool fails = false;
  int failures = 0;
  beck::io_context ctx(context_options());
  beck::testing::context_seam::replace_system(ctx,
                                              std::make_unique<ending_accepts>(fails, failures));
  http::server server(say_path);
  server.listen(any_port);
  std::exception_ptr failed;
  bool ended = false;
  server.serve().start(ctx, [&](std::exception_ptr given) {
    failed = std::move(given);
    ended = true;
  });
  for (int i = 0; i < 20; ++i) ctx.poll();
  fails = true;
  server.stop(beck::duration(1'000'000'000));
  while (!ended) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
  }
  CHECK(failures <= 1);
  CHECK(!failed);  // it had been stopped before
}
