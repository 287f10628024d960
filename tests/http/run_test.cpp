// SPDX-License-Identifier: BSL-1.0
// Servers on several contexts: run() as a whole program, and serve() on the contexts of a pool.
#include <beck/http/server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_pool.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "http/blocking_client.hpp"
#include "http/served.hpp"
#include "support/child.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
namespace http = beck::http;
namespace ip = beck::ip;

CONFORMANCE_ON(beck::test::kernel,
               "http: a server on the contexts of a pool is stopped from any thread") {
  http::server server(say_path);
  server.listen(any_port);
  server.share_ports(true);
  beck::io_pool pool(3, context_options());
  for (std::size_t i = 0; i < 3; ++i) co_spawn(pool.at(i), server.serve(), beck::detached);
  const std::uint16_t port = port_of(server);
  for (int i = 0; i < 30; ++i) CHECK(has(ask_port(port), "/blocking"));
  std::thread([&] { server.stop(); }).join();
  pool.join();
  const http::server_stats sum = server.stats();
  CHECK(sum.exchanges == 30);
  CHECK(sum.accepted == 30);
  CHECK(sum.connections == 0);
  CHECK(ask_port(port).empty());
}

TEST_CASE("http: run() serves until a signal, on one context and on several") {
  for (const std::size_t contexts : {1U, 3U}) {
    CAPTURE(contexts);
    const std::string said = beck::test::said_by_child([&] {
      http::server server(say_path);
      server.listen(any_port);
      std::string text;
      std::thread client([&] {
        const std::uint16_t port = port_of(server);
        for (int i = 0; i < 10; ++i) text = ask_port(port);
        ::kill(::getpid(), SIGTERM);
      });
      const int result = http::run(server, {.contexts = contexts});
      client.join();
      return std::to_string(result) + ' ' + std::to_string(server.stats().exchanges) + ' ' +
             (has(text, "/blocking") ? "good" : "bad");
    });
    CHECK(said == "0 10 good");
  }
}

TEST_CASE("http: run() whose listener another process shuts down says so, and returns 1") {
  for (const std::size_t contexts : {1U, 3U}) {
    CAPTURE(contexts);
    const beck::test::child_end end = beck::test::run_child([&](int fd) {
      ::dup2(fd, STDERR_FILENO);
      beck::unique_fd shared(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::listen(shared.get(), 10) != 0) beck::test::exit_child(2);
      http::server server(say_path);
      server.listen({.descriptor = shared.get()});
      const auto shut_down = [](void* which) {
        ::shutdown(static_cast<beck::unique_fd*>(which)->get(), SHUT_RDWR);
      };
      const int result = http::run(
          server, {.contexts = contexts, .on_listening = shut_down, .listening_data = &shared});
      beck::test::exit_child(result == 1 ? 0 : 1);
    });
    CHECK(WIFEXITED(end.status));
    CHECK(WEXITSTATUS(end.status) == 0);
    CHECK(has(end.text, "cannot serve: http: accept: "));
    CHECK(end.text.find('\n') == end.text.size() - 1);  // one line
  }
}

TEST_CASE("http: run() on a port that is taken says so, and returns 1") {
  for (const std::size_t contexts : {1U, 3U}) {
    CAPTURE(contexts);
    const beck::test::child_end end = beck::test::run_child([&](int fd) {
      ::dup2(fd, STDERR_FILENO);
      beck::io_context ctx;
      const ip::tcp::acceptor taken(ctx, any_port);
      http::server server(say_path);
      server.listen(taken.local_endpoint());
      const int result = http::run(server, {.contexts = contexts});
      beck::test::exit_child(result == 1 ? 0 : 1);
    });
    CHECK(WIFEXITED(end.status));
    CHECK(WEXITSTATUS(end.status) == 0);
    CHECK(has(end.text, "cannot serve: "));
    CHECK(has(end.text, "ddress already in use"));
    CHECK(end.text.find('\n') == end.text.size() - 1);  // one line
  }
}
