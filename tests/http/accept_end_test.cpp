// SPDX-License-Identifier: BSL-1.0
// What becomes of connections that the kernel has accepted when a server is stopped, and sockets
// that servers hand over.
#include <beck/http/server.hpp>

#include <beck/coro/co_spawn.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/un.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "http/blocking_client.hpp"
#include "http/served.hpp"
#include "http/server/listener.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::unique_fd;
namespace http = beck::http;

namespace {

/// A listening socket of TCP that belongs to the case.
unique_fd open_listener() {
  unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0);
  REQUIRE(::listen(fd.get(), 100) == 0);
  return fd;
}

std::uint16_t port_of(const unique_fd& listening) {
  sockaddr_in at{};
  socklen_t bytes = sizeof at;
  REQUIRE(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&at), &bytes) == 0);
  return ntohs(at.sin_port);
}

/// A server that serves on a context of the case until it has ended.
class on_context {
 public:
  on_context(http::server& of, beck::io_context& where) : ctx_(&where) {
    of.serve().start(where, [this](std::exception_ptr) { ended_ = true; });
    for (int i = 0; i < 20; ++i) where.poll();
  }
  void run_to_end() {
    while (!ended_) {
      ctx_->restart();
      REQUIRE(ctx_->run_one() != 0);
    }
  }

 private:
  beck::io_context* ctx_;
  bool ended_ = false;
};

/// Connects clients that have sent a request, and of which no server has heard.
std::vector<unique_fd> connect_all(std::uint16_t port, int count) {
  std::vector<unique_fd> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(connect_to(port));
    REQUIRE(all.back());
    REQUIRE(send_to(all.back(), last_get("/" + std::to_string(i))));
  }
  return all;
}

/// Returns how many of the clients have got their own response.
int count_answered(const std::vector<unique_fd>& all) {
  int answered = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto responses = responses_in(read_to_end(all[i]));
    if (responses.size() == 1 && responses[0].body == "/" + std::to_string(i)) ++answered;
  }
  return answered;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "http: stop() answers what the kernel has accepted, also above a limit") {
  for (const std::size_t limit : {10'000U, 2U}) {
    CAPTURE(limit);
    beck::io_context ctx(context_options());
    http::server server(say_path, {.connections = limit});
    server.listen(any_port);
    on_context serving(server, ctx);
    const std::vector<unique_fd> all = connect_all(server.endpoint().port(), 30);
    server.stop();
    serving.run_to_end();
    CHECK(count_answered(all) == 30);
    CHECK(server.stats().accepted == 30);
    CHECK(!connect_to(server.endpoint().port()));
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "http: stop() answers what waits at a path, whose file is gone") {
  const std::string path = "/tmp/beck-http-end-" + std::to_string(::getpid());
  beck::io_context ctx(context_options());
  http::server server(say_path);
  server.listen(beck::local::stream_protocol::endpoint(path));
  on_context serving(server, ctx);
  std::vector<unique_fd> all;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  path.copy(to.sun_path, sizeof to.sun_path - 1);
  for (int i = 0; i < 10; ++i) {
    all.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int fd = all.back().get();
    REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    REQUIRE(send_to(all.back(), last_get("/" + std::to_string(i))));
  }
  server.stop();
  serving.run_to_end();
  CHECK(count_answered(all) == 10);
  CHECK(::access(path.c_str(), F_OK) != 0);
}

CONFORMANCE("http: connections that are made while a server stops are answered or refused") {
  served s(say_path);
  std::vector<peer*> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(&s.start(last_get("/crossing")));
    s.ctx.poll_one();
  }
  s.stop();
  for (const peer* one : all) {
    s.run_until([&] { return one->done; });
    const bool answered = one->received.find("/crossing") != std::string::npos;
    CHECK((answered || one->end == beck::errc::connection_refused));
  }
}

CONFORMANCE_ON(beck::test::kernel, "http: a stop whose grace is over accepts no more") {
  beck::io_context ctx(context_options());
  std::vector<unique_fd> all;
  http::server server([&](http::exchange x) { x.response().send("no time"); }, {.connections = 1});
  server.listen(any_port);
  on_context serving(server, ctx);
  const unique_fd silent = connect_to(server.endpoint().port());
  while (server.stats().connections == 0) ctx.poll();
  REQUIRE(send_to(silent, "GET / HT"));
  all = connect_all(server.endpoint().port(), 5);
  server.stop(beck::duration(1'000'000));
  serving.run_to_end();
  CHECK(server.stats().connections == 0);
  CHECK(server.stats().accepted <= 6);
}

TEST_CASE("http: a socket that refuses new connections still has those that it accepted") {
  const unique_fd listening = open_listener();
  const std::uint16_t port = port_of(listening);
  const unique_fd before = connect_to(port);
  REQUIRE(before);
  REQUIRE(http::detail::refuse_new_connections(listening.get()));
  const unique_fd late(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(port);
  CHECK(::connect(late.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == -1);
  const unique_fd accepted(::accept(listening.get(), nullptr, nullptr));
  REQUIRE(accepted);
  REQUIRE(send_to(before, "still"));
  char text[5];
  CHECK(::recv(accepted.get(), text, sizeof text, MSG_WAITALL) == 5);
  pollfd waits{late.get(), POLLOUT, 0};
  CHECK(::poll(&waits, 1, 0) == 0);  // neither made nor refused
}

CONFORMANCE_ON(beck::test::kernel, "http: a listening socket is handed over between two servers") {
  const unique_fd listening = open_listener();
  const std::uint16_t port = port_of(listening);
  beck::io_context ctx(context_options());
  {
    http::server first(say_path);
    first.listen({.descriptor = listening.get()});
    on_context serving(first, ctx);
    CHECK(first.endpoint().port() == port);
    const std::vector<unique_fd> all = connect_all(port, 3);
    first.stop();
    serving.run_to_end();
    CHECK(count_answered(all) == 3);
  }
  const std::vector<unique_fd> between = connect_all(port, 3);
  http::server second(say_path);
  second.listen({.descriptor = listening.get()});
  on_context serving(second, ctx);
  while (second.stats().exchanges != 3) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
  }
  second.stop();
  serving.run_to_end();
  CHECK(count_answered(between) == 3);
  CHECK(::fcntl(listening.get(), F_GETFD) == FD_CLOEXEC);  // still the caller's
}

TEST_CASE("http: listen() refuses a descriptor that is no listening stream socket") {
  http::server server(say_path);
  const unique_fd plain(::socket(AF_INET, SOCK_STREAM, 0));
  for (const int fd : {-1, plain.get()})
    CHECK_THROWS_AS(server.listen({.descriptor = fd}), std::invalid_argument);
}
