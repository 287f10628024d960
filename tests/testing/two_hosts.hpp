// SPDX-License-Identifier: BSL-1.0
// A world with a server and a client, and the few things that most tests of simulated networks do
// with them.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/testing/sim.hpp>
#include <string>
#include <utility>

namespace beck::test {
using namespace detail;

constexpr duration seconds(long long n) { return duration(n * 1'000'000'000); }

struct two_hosts {
  static constexpr std::uint16_t port = 80;

  explicit two_hosts(std::uint64_t seed = 1,
                     const testing::sim::settings& how = testing::sim::settings().calm())
      : world(seed, how) {}

  ip::tcp::endpoint server_endpoint() const {
    return ip::tcp::endpoint(ip::make_address("10.0.0.1"), port);
  }

  /// Gives back what it reads, to one client, until the end or an error, which stays in `echo_end`.
  task<> echo(ip::tcp::acceptor& acceptor) {
    auto accepted = co_await acceptor.async_accept();
    accept_result = accepted.error();
    if (accepted.error()) co_return;
    ip::tcp::socket socket = std::move(accepted).value();
    char data[256];
    for (;;) {
      auto [ec, n] = co_await socket.async_read_some(buffer(data));
      echo_end = ec;
      if (ec) co_return;
      echoed += n;
      const auto sent = co_await async_write(socket, buffer(data, n));
      echo_end = sent.error();
      if (sent.error()) co_return;
    }
  }

  /// Connects `socket`, sends `text` and reads as much; what came is in `answer`.
  task<> ask(ip::tcp::socket& socket, std::string text) {
    const auto connected = co_await socket.async_connect(server_endpoint());
    connect_result = connected.error();
    connected_at = world.now();
    if (connected.error()) co_return;
    const auto sent = co_await async_write(socket, buffer(text));
    ask_result = sent.error();
    if (sent.error()) co_return;
    std::string got(text.size(), '\0');  // nobody may look at it before the read has ended
    auto [ec, n] = co_await async_read(socket, buffer(got));
    ask_result = ec;
    answer.assign(got, 0, n);
    answered_at = world.now();
  }

  testing::sim::world world;
  testing::sim::host& server = world.host("server");
  testing::sim::host& client = world.host("client");
  error_code accept_result, echo_end, connect_result, ask_result;
  std::size_t echoed = 0;
  std::string answer;
  time_point connected_at, answered_at;
};

/// Two hosts with a context each, an acceptor and a socket.
struct two_contexts : two_hosts {
  explicit two_contexts(std::uint64_t seed = 1,
                        const testing::sim::settings& how = testing::sim::settings().calm())
      : two_hosts(seed, how) {}

  void start(const std::string& text) {
    co_spawn(on_server, echo(acceptor), detached);
    co_spawn(on_client, ask(socket, text), detached);
  }

  io_context on_server{server};
  io_context on_client{client};
  ip::tcp::acceptor acceptor{on_server, ip::tcp::endpoint(ip::tcp::v4(), port)};
  ip::tcp::socket socket{on_client};
};

}  // namespace beck::test
