// SPDX-License-Identifier: BSL-1.0
// Programs in Asio's names, over both backends: an echo with callbacks and with a coroutine, a
// resolver, timers, signals, and the comparison of errors.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <typeinfo>

#include <asio.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {

using asio::ip::tcp;

asio::awaitable<void> echo_once(tcp::socket socket) {
  char data[64];
  const std::size_t n = co_await socket.async_read_some(asio::buffer(data), asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(data, n), asio::use_awaitable);
}

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "an echo in Asio's names: an accept and a coroutine") {
  asio::io_context context(context_options());
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
  acceptor.async_accept([&context](asio::error_code ec, tcp::socket peer) {
    REQUIRE_FALSE(ec);
    asio::co_spawn(context, echo_once(std::move(peer)), asio::detached);
  });
  tcp::socket client(context);
  std::string answer(5, '\0');
  asio::error_code end;
  client.async_connect(acceptor.local_endpoint(), [&](asio::error_code ec) {
    REQUIRE_FALSE(ec);
    asio::async_write(client, asio::buffer("hello", 5), [&](asio::error_code, std::size_t) {
      asio::async_read(client, asio::buffer(answer), [&](asio::error_code, std::size_t) {
        client.async_read_some(asio::buffer(answer),
                               [&](asio::error_code last, std::size_t) { end = last; });
      });
    });
  });
  context.run();
  CHECK(answer == "hello");
  CHECK(end == asio::error::eof);
}

CONFORMANCE_ON(::beck::test::kernel, "a timer in Asio's names that is cancelled") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context, std::chrono::hours(1));
  asio::error_code result;
  timer.async_wait([&](asio::error_code ec) { result = ec; });
  CHECK(timer.cancel() == 1);
  context.run();
  CHECK(result == asio::error::operation_aborted);
}

CONFORMANCE_ON(::beck::test::kernel, "detached drops the exception of a coroutine, as Asio does") {
  asio::io_context context(context_options());
  bool went_on = false;
  asio::co_spawn(
      context,
      []() -> asio::awaitable<void> {
        throw std::runtime_error("lost");
        co_return;
      },
      asio::detached);
  asio::post(context, [&] { went_on = true; });
  context.run();
  CHECK(went_on);
}

CONFORMANCE_ON(::beck::test::kernel,
               "an error is an exception in an awaitable, without a token too") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context, asio::chrono::hours(1));
  asio::error_code thrown;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        try {
          co_await timer.async_wait();
        } catch (const asio::system_error& e) {
          thrown = e.code();
        }
      },
      asio::detached);
  asio::post(context, [&] { timer.cancel(); });
  context.run();
  CHECK(thrown == asio::error::operation_aborted);
}

CONFORMANCE_ON(::beck::test::kernel, "a blocking wait ends at the expiry") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context, asio::chrono::milliseconds(3));
  asio::error_code ec = asio::error::eof;
  timer.wait(ec);
  CHECK_FALSE(ec);
  CHECK(asio::steady_timer::clock_type::now() >= timer.expiry());
}

CONFORMANCE_ON(::beck::test::kernel, "a resolver in Asio's names gives an endpoint to connect to") {
  asio::io_context context(context_options());
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::resolver resolver(context);
  tcp::socket client(context);
  asio::error_code result = asio::error::eof;
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  resolver.async_resolve(
      "127.0.0.1", port, [&](asio::error_code ec, tcp::resolver::results_type results) {
        REQUIRE_FALSE(ec);
        asio::async_connect(client, results,
                            [&](asio::error_code e, const tcp::endpoint&) { result = e; });
      });
  context.run();
  CHECK_FALSE(result);
  CHECK(client.remote_endpoint() == acceptor.local_endpoint());
}

CONFORMANCE_ON(::beck::test::kernel, "a strand in Asio's names keeps the order of its handlers") {
  asio::io_context context(context_options());
  auto strand = asio::make_strand(context);
  std::string order;
  for (const char letter : {'a', 'b', 'c'}) {
    asio::post(asio::bind_executor(strand, [&order, letter] { order += letter; }));
  }
  context.run();
  CHECK(order == "abc");
}

TEST_CASE("a class of the facade has another mangled name than Asio's") {
  CHECK(std::string(typeid(asio::steady_timer).name()).find("over_beck") != std::string::npos);
}
