// SPDX-License-Identifier: BSL-1.0
// What the headers call by their own names is this library's, whatever the namespaces of handlers,
// buffers, streams and executors have.
#include <doctest/doctest.h>

#include <beck/io/cancel_after.hpp>
#include <beck/net/udp.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/properties.hpp>
#include <chrono>
#include <string>

#include "interop/hostile_names.hpp"
#include "support/connections.hpp"

using beck::ip::tcp;

namespace {

/// Each token around the hostile handler.
template <class Start>
void with_each_token(beck::io_context& ctx, int& calls, Start start) {
  const hostile::handler handler{&calls};
  start(handler);
  start(beck::bind_executor(ctx, handler));
  start(beck::bind_executor(hostile::executor{&ctx}, handler));
  start(beck::bind_allocator(hostile::allocator<void>(), handler));
  start(beck::bind_immediate_executor(ctx, handler));
  start(beck::bind_cancellation_slot(beck::cancellation_slot(), handler));
  start(beck::as_tuple(handler));
}

constexpr int tokens = 7;

}  // namespace

TEST_CASE("handlers from a namespace with functions of the same names take every operation") {
  beck::io_context ctx;
  beck::test::tcp_connection c(ctx);
  int calls = 0;
  int started = 0;
  char bytes[64] = {};
  std::string text = "text";
  const hostile::const_buffers out{{beck::buffer("ab", 2), beck::buffer("cd", 2)}};
  const hostile::mutable_buffers in{{beck::buffer(bytes, 2), beck::buffer(bytes + 2, 2)}};
  const auto each = [&](auto start) {
    with_each_token(ctx, calls, start);
    started += tokens;
  };
  each([&](auto token) { beck::async_write(c.client, out, token); });
  each([&](auto token) { beck::async_write(c.client, out, hostile::condition(), token); });
  each([&](auto token) { c.client.async_write_some(out, token); });
  each([&](auto token) { c.client.async_write_some(beck::buffer("x", 1), token); });
  each([&](auto token) { beck::async_read(c.server, in, token); });
  each([&](auto token) { beck::async_read(c.server, in, hostile::condition(), token); });
  each([&](auto token) { c.server.async_read_some(in, token); });
  each([&](auto token) { c.server.async_wait(tcp::socket::wait_write, token); });
  each([&](auto token) { beck::post(ctx, token); });
  each([&](auto token) { beck::defer(ctx, token); });
  each([&](auto token) { beck::dispatch(beck::make_strand(ctx), token); });
  each([&](auto token) { hostile::operation{ctx}(token); });
  each([&](auto token) {
    beck::co_spawn(ctx, []() -> beck::task<hostile::mark> { co_return hostile::mark(); }, token);
  });
  beck::steady_timer timer(ctx);
  each([&](auto token) { timer.async_wait(token); });
  each([&](auto token) { timer.async_wait(beck::cancel_after(std::chrono::hours(1), token)); });
  beck::test::run_all(ctx);
  CHECK(calls == started);
}

TEST_CASE("streams, conditions and buffers from such a namespace") {
  beck::io_context ctx;
  beck::test::tcp_connection c(ctx);
  hostile::layer<tcp::socket> writer{&c.client};
  hostile::layer<tcp::socket> reader{&c.server};
  const hostile::const_buffers out{{beck::buffer("ab\n", 3), beck::buffer("cd", 2)}};
  char bytes[64] = {};
  const hostile::mutable_buffers in{{beck::buffer(bytes, 2), beck::buffer(bytes + 2, 3)}};
  std::string text;
  beck::error_code ec;
  CHECK(beck::write(writer, out, ec) == 5);
  CHECK(beck::write(writer, out, hostile::condition(), ec) == 5);
  CHECK(beck::read(reader, in) == 5);
  CHECK(beck::read_until(reader, beck::dynamic_buffer(text), '\n') == 3);
  CHECK(beck::read_until(reader, beck::dynamic_buffer(text), hostile::match(), ec) != 0);
  CHECK(beck::buffer_size(out) == 5);
  CHECK(beck::buffer_copy(in, out) == 5);
  int calls = 0;
  const hostile::handler handler{&calls};
  text = "more";
  beck::async_write(writer, beck::dynamic_buffer(text), hostile::condition(), handler);
  beck::async_write(writer, out, hostile::condition(), handler);
  beck::test::run_all(ctx);
  text.clear();
  beck::async_read(reader, in, handler);
  beck::async_read_until(reader, beck::dynamic_buffer(text), hostile::match(), handler);
  beck::async_read_until(c.server, beck::dynamic_buffer(text), hostile::match(), handler);
  beck::test::run_all(ctx);
  CHECK(calls == 5);
}

TEST_CASE("executors from such a namespace carry properties, strands and coroutines") {
  beck::io_context ctx;
  const hostile::executor where{&ctx};
  int calls = 0;
  const hostile::handler handler{&calls};
  beck::post(where, handler);
  beck::post(beck::make_strand(where), handler);
  beck::post(beck::require(where, beck::execution::blocking.never), handler);
  beck::post(beck::prefer(where, beck::execution::relationship.fork), handler);
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        beck::ignore(co_await beck::when_all(
            []() -> beck::task<hostile::mark> { co_return hostile::mark(); }(),
            []() -> beck::task<hostile::mark> { co_return hostile::mark(); }()));
        ++calls;
      },
      beck::detached);
  ctx.run();
  CHECK(calls == 5);
}
