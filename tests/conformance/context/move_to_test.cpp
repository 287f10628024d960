// SPDX-License-Identifier: BSL-1.0
// Sockets that change their context: what they keep, when they may not go, and who serves them
// then.
#include <atomic>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_pool.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/strand.hpp>
#include <ostream>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::any_io_executor;
using beck::buffer;
using beck::error_code;
using beck::test::kernel;
using beck::test::note;
using beck::test::outcome;

using stream = beck::local::stream_protocol::socket;

CONFORMANCE_ON(kernel, "a socket that has moved is served by its new context") {
  beck::io_context first(context_options());
  beck::io_context second(context_options());
  stream a(first);
  stream b(first);
  connect_pair(a, b);
  outcome before;
  char byte = 0;
  a.async_read_some(buffer(&byte, 1), note(before));
  outcome sent;
  async_write(b, buffer("1", 1), note(sent));
  beck::test::run_all(first);
  CHECK(before.ok());
  a.move_to(second);
  CHECK(a.is_open());
  CHECK(a.get_executor() == any_io_executor(second.get_executor()));
  outcome after;
  a.async_read_some(buffer(&byte, 1), note(after));
  first.restart();
  outcome sent_again;
  async_write(b, buffer("2", 1), note(sent_again));
  beck::test::run_all(first);
  CHECK(sent_again.ok());
  CHECK(after.calls == 0);
  beck::test::run_all(second);
  CHECK(after.ok());
  CHECK(byte == '2');
}

CONFORMANCE_ON(kernel, "a socket keeps its options, its name and its mode when it moves") {
  beck::io_context first(context_options());
  beck::io_context second(context_options());
  beck::test::tcp_connection c(first);
  c.client.set_option(beck::ip::tcp::no_delay(true));
  c.client.non_blocking(true);
  const auto name = c.client.local_endpoint();
  const int number = c.client.native_handle();
  c.client.move_to(second);
  beck::ip::tcp::no_delay no_delay;
  c.client.get_option(no_delay);
  CHECK(no_delay.value());
  CHECK(c.client.non_blocking());
  CHECK(c.client.local_endpoint() == name);
  CHECK(c.client.native_handle() == number);
}

CONFORMANCE_ON(kernel, "a socket with an operation under way stays, and the operation goes on") {
  beck::io_context first(context_options());
  beck::io_context second(context_options());
  stream a(first);
  stream b(first);
  connect_pair(a, b);
  outcome received;
  char byte = 0;
  a.async_read_some(buffer(&byte, 1), note(received));
  first.poll();
  error_code ec;
  a.move_to(second, ec);
  CHECK(ec == std::errc::device_or_resource_busy);
  CHECK(a.get_executor() == any_io_executor(first.get_executor()));
  CHECK_THROWS_AS(a.move_to(second), beck::io_error);
  outcome sent;
  async_write(b, buffer("s", 1), note(sent));
  beck::test::run_all(first);
  CHECK(received.ok());
  a.move_to(second, ec);
  CHECK(!ec);
}

CONFORMANCE_ON(kernel, "a closed socket does not move") {
  beck::io_context first(context_options());
  beck::io_context second(context_options());
  stream a(first);
  error_code ec;
  a.move_to(second, ec);
  CHECK(ec == std::errc::bad_file_descriptor);
  CHECK(a.get_executor() == any_io_executor(first.get_executor()));
}

CONFORMANCE_ON(kernel,
               "a socket moves onto a strand of its own context, and its handlers go there") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  stream a(ctx);
  stream b(ctx);
  connect_pair(a, b);
  a.move_to(any_io_executor(strand));
  bool inside = false;
  char byte = 0;
  a.async_read_some(buffer(&byte, 1), [&](error_code ec, std::size_t) {
    inside = !ec && strand.running_in_this_thread();
  });
  outcome sent;
  async_write(b, buffer("s", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(inside);
}

CONFORMANCE_ON(kernel, "accepted sockets move to the contexts of a pool and are served there") {
  using beck::ip::tcp;
  beck::io_pool pool(2, context_options());
  tcp::acceptor acceptor(pool.at(0), beck::test::loopback_v4());
  constexpr int clients = 6;
  std::atomic<int> moved{0};
  std::atomic<int> answered{0};
  auto serve = [&](tcp::socket socket, beck::io_context& home) -> beck::task<> {
    char data[16];
    auto [ec, n] = co_await socket.async_read_some(buffer(data));
    if (ec || !home.get_executor().running_in_this_thread()) co_return;
    ++moved;
    beck::ignore(co_await beck::async_write(socket, buffer(data, n)));
  };
  beck::co_spawn(
      pool.at(0),
      [&]() -> beck::task<> {
        for (int i = 0; i < clients; ++i) {
          auto accepted = co_await acceptor.async_accept();
          if (!accepted) co_return;
          tcp::socket socket(std::move(accepted).value());
          beck::io_context& home = pool.at(1);
          socket.move_to(home);
          beck::co_spawn(home, serve(std::move(socket), home), beck::detached);
        }
      },
      beck::detached);
  auto ask = [&](tcp::socket socket, tcp::endpoint to) -> beck::task<> {
    beck::ignore(co_await socket.async_connect(to));
    beck::ignore(co_await beck::async_write(socket, buffer("hello", 5)));
    char back[5] = {};
    auto [ec, n] = co_await beck::async_read(socket, buffer(back));
    if (!ec && n == 5) ++answered;
  };
  for (int i = 0; i < clients; ++i) {
    beck::co_spawn(pool.at(0), ask(tcp::socket(pool.at(0)), acceptor.local_endpoint()),
                   beck::detached);
  }
  pool.join();
  CHECK(moved == clients);
  CHECK(answered == clients);
}

CONFORMANCE_ON(beck::test::sim, "a simulated socket stays where it is") {
  beck::io_context ctx(context_options());
  stream a(ctx);
  stream b(ctx);
  connect_pair(a, b);
  error_code ec;
  a.move_to(ctx, ec);
  CHECK(ec == beck::error::operation_not_supported);
  CHECK(a.is_open());
}
