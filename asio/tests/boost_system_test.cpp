// SPDX-License-Identifier: BSL-1.0
// boost::system::error_code in programs over the facade: results, exceptions, and Boost.Beast on
// top. Only where Boost is installed; see BECK_BOOST_DIR in tests.cmake.
#include <doctest/doctest.h>

#include <boost/asio.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/beast.hpp>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

#if !defined(BECK_ASIO_BOOST_SYSTEM)
#error "this test needs Boost.System 1.77 or newer"
#endif

// A program's own names.
using namespace boost::asio;
using boost::system::error_code;
namespace http = boost::beast::http;
using tcp = ip::tcp;

namespace {

// A port on which nothing listens.
tcp::endpoint refusing_endpoint(io_context& ctx) {
  tcp::acceptor acceptor(ctx, tcp::endpoint(ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint();
}

awaitable<void> serve_once(tcp::acceptor& acceptor) {
  boost::beast::tcp_stream stream(co_await acceptor.async_accept(use_awaitable));
  boost::beast::flat_buffer buffer;
  http::request<http::string_body> request;
  co_await http::async_read(stream, buffer, request, use_awaitable);
  http::response<http::string_body> response(http::status::ok, request.version());
  response.body() = "you sent " + request.body();
  response.prepare_payload();
  co_await http::async_write(stream, response, use_awaitable);
  stream.socket().shutdown(tcp::socket::shutdown_send);
}

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "a handler gets the system's errors with their number") {
  io_context ctx(context_options());
  tcp::socket socket(ctx);
  error_code seen;
  const tcp::endpoint to = refusing_endpoint(ctx);
  socket.async_connect(to, [&](error_code ec) { seen = ec; });
  ctx.run();
  CHECK(seen.value() == ECONNREFUSED);
  CHECK(seen.category() == boost::system::system_category());
  CHECK(seen == boost::system::errc::connection_refused);
  CHECK(seen == error::connection_refused);
  bool is_foreign = false;
  tcp::socket other(ctx);
  other.async_connect(to, [&](auto ec) { is_foreign = std::is_same_v<decltype(ec), error_code>; });
  ctx.restart();
  ctx.run();
  CHECK(is_foreign);
}

CONFORMANCE_ON(::beck::test::kernel, "functions without a handler set Boost's code") {
  io_context ctx(context_options());
  tcp::socket socket(ctx);
  error_code ec = error::eof;
  CHECK(ec == error::eof);
  socket.connect(refusing_endpoint(ctx), ec);
  CHECK(ec);
  CHECK(ec == error::connection_refused);
  CHECK(ec == boost::system::errc::connection_refused);
  ip::make_address("nothing", ec);
  CHECK(ec == error::invalid_argument);
  tcp::acceptor acceptor(ctx, tcp::endpoint(ip::address_v4::loopback(), 0));
  acceptor.non_blocking(true);
  tcp::socket peer(ctx);
  acceptor.accept(peer, ec);
  CHECK(ec == error::would_block);
}

CONFORMANCE_ON(::beck::test::kernel, "exceptions are Boost's") {
  io_context ctx(context_options());
  const tcp::endpoint to = refusing_endpoint(ctx);
  tcp::socket socket(ctx);
  std::optional<error_code> blocking;
  std::string blocking_text;
  std::string awaited_text;
  try {
    socket.connect(to);
  } catch (const boost::system::system_error& e) {
    blocking = e.code();
    blocking_text = e.what();
  }
  REQUIRE(blocking);
  CHECK(blocking->value() == ECONNREFUSED);
  std::optional<error_code> awaited;
  co_spawn(
      ctx,
      [&]() -> awaitable<void> {
        try {
          co_await tcp::socket(ctx).async_connect(to, use_awaitable);
        } catch (const boost::system::system_error& e) {
          awaited = e.code();
          awaited_text = e.what();
        }
      },
      detached);
  ctx.run();
  REQUIRE(awaited);
  CHECK(*awaited == error::connection_refused);
  CHECK(blocking_text.starts_with("connect: Connection refused"));
  CHECK(awaited_text.starts_with("Connection refused"));
}

CONFORMANCE_ON(::beck::test::kernel,
               "an operation of the program's own has Boost's code in its signature") {
  io_context ctx(context_options());
  const auto operation = [&](auto token) {
    return boost::asio::async_initiate<decltype(token), void(error_code, int)>(
        [&](auto handler) {
          post(ctx, [h = std::move(handler)]() mutable {
            std::move(h)(http::make_error_code(http::error::end_of_stream), 3);
          });
        },
        token);
  };
  error_code seen;
  operation([&](error_code ec, int) { seen = ec; });
  std::optional<error_code> thrown;
  co_spawn(
      ctx,
      [&]() -> awaitable<void> {
        try {
          co_await operation(use_awaitable);
        } catch (const boost::system::system_error& e) {
          thrown = e.code();
        }
      },
      detached);
  bool is_equal = false;
  co_spawn(
      ctx,
      [&]() -> awaitable<void> {
        const auto [ec, number] = co_await operation(as_tuple(use_awaitable));
        is_equal = ec == http::error::end_of_stream && ec != http::error::partial_message &&
                   ec != boost::beast::condition::timeout && number == 3;
      },
      detached);
  ctx.run();
  CHECK(is_equal);
  CHECK(seen == http::error::end_of_stream);
  REQUIRE(thrown);
  CHECK(*thrown == http::error::end_of_stream);
}

CONFORMANCE_ON(::beck::test::kernel,
               "Boost.Beast: a request and its response, then the end of the stream") {
  io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, tcp::endpoint(ip::address_v4::loopback(), 0));
  co_spawn(ctx, serve_once(acceptor), detached);
  std::string got;
  error_code at_end;
  co_spawn(
      ctx,
      [&]() -> awaitable<void> {
        boost::beast::tcp_stream stream(ctx);
        stream.expires_after(std::chrono::seconds(30));
        co_await stream.async_connect(acceptor.local_endpoint(), use_awaitable);
        http::request<http::string_body> request(http::verb::post, "/", 11);
        request.body() = "seven";
        request.prepare_payload();
        co_await http::async_write(stream, request, use_awaitable);
        boost::beast::flat_buffer buffer;
        http::response<http::string_body> response;
        co_await http::async_read(stream, buffer, response, use_awaitable);
        got = response.body();
        try {
          co_await http::async_read(stream, buffer, response, use_awaitable);
        } catch (const boost::system::system_error& e) {
          at_end = e.code();
        }
      },
      detached);
  ctx.run();
  CHECK(got == "you sent seven");
  CHECK(at_end == http::error::end_of_stream);
}

CONFORMANCE_ON(::beck::test::kernel, "the exception of a future is Boost's") {
  io_context ctx(context_options());
  tcp::socket socket(ctx);
  auto connected = socket.async_connect(refusing_endpoint(ctx), use_future);
  ctx.run();
  CHECK_THROWS_AS(connected.get(), boost::system::system_error);
}

CONFORMANCE_ON(::beck::test::kernel, "error::not_found is one of Boost's codes, too") {
  error_code assigned;
  assigned = error::not_found;
  const error_code made = error::not_found;
  const error_code full = beck::error::make_error_code(beck::error::delimiter_not_found);
  CHECK(assigned == error::not_found);
  CHECK(made == assigned);
  CHECK(full == error::not_found);
  CHECK(error_code(error::eof) != error::not_found);
}

CONFORMANCE_ON(::beck::test::kernel, "async_result::initiate takes Boost's code in a signature") {
  io_context ctx(context_options());
  const auto operation = [](auto token) {
    return boost::asio::async_result<decltype(token), void(error_code, int)>::initiate(
        [](auto handler) { std::move(handler)(error_code(error::eof), 3); }, std::move(token));
  };
  std::optional<error_code> thrown;
  co_spawn(
      ctx,
      [&]() -> awaitable<void> {
        try {
          co_await operation(use_awaitable);
        } catch (const boost::system::system_error& e) {
          thrown = e.code();
        }
      },
      detached);
  ctx.run();
  REQUIRE(thrown);
  CHECK(*thrown == error::eof);
}

CONFORMANCE_ON(::beck::test::kernel, "the code of as_tuple compares with Boost's errc") {
  io_context ctx(context_options());
  const tcp::endpoint to = refusing_endpoint(ctx);
  bool is_equal = false;
  co_spawn(
      ctx,
      [&]() -> awaitable<void> {
        tcp::socket socket(ctx);
        const auto [ec] = co_await socket.async_connect(to, as_tuple(use_awaitable));
        is_equal = ec == boost::system::errc::connection_refused &&
                   ec != boost::system::errc::timed_out &&
                   boost::system::errc::connection_refused == ec;
      },
      detached);
  ctx.run();
  CHECK(is_equal);
}

CONFORMANCE_ON(::beck::test::kernel, "the handler of a group with a range gets Boost's codes") {
  io_context ctx(context_options());
  const tcp::endpoint to = refusing_endpoint(ctx);
  tcp::socket socket(ctx);
  using operation = decltype(socket.async_connect(to, deferred));
  std::vector<operation> operations;
  operations.push_back(socket.async_connect(to, deferred));
  std::vector<error_code> seen;
  experimental::make_parallel_group(std::move(operations))
      .async_wait(experimental::wait_for_all(),
                  [&](std::vector<std::size_t>, std::vector<error_code> codes) {
                    seen = std::move(codes);
                  });
  ctx.run();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].value() == ECONNREFUSED);
}
