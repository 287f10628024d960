// SPDX-License-Identifier: BSL-1.0
// Asio in the same program: handlers that hold its objects, whose namespace has functions of the
// same names.
#include <doctest/doctest.h>

#include <asio.hpp>
#include <beck/beck.hpp>
#include <beck/io/cancel_after.hpp>
#include <chrono>
#include <memory>

#include "support/connections.hpp"

namespace {

/// A handler that holds objects of Asio, and whose type names some.
template <class Held>
struct holding_handler {
  std::shared_ptr<Held> held;
  int* calls;
  template <class... A>
  void operator()(const A&...) const {
    ++*calls;
  }
};

template <class Start>
void with_asio(asio::io_context& other, int& calls, Start start) {
  using work = asio::executor_work_guard<asio::io_context::executor_type>;
  start(holding_handler<asio::steady_timer>{std::make_shared<asio::steady_timer>(other), &calls});
  start(holding_handler<work>{std::make_shared<work>(asio::make_work_guard(other)), &calls});
  auto timer = std::make_shared<asio::steady_timer>(other);
  start([timer, &calls](auto&&...) { ++calls; });
}
constexpr int handlers = 3;

}  // namespace

TEST_CASE("handlers that hold Asio's objects take the operations of this library") {
  beck::io_context ctx;
  asio::io_context other;
  beck::test::tcp_connection c(ctx);
  beck::steady_timer timer(ctx);
  int calls = 0;
  int started = 0;
  char bytes[8];
  const auto each = [&](auto start) {
    with_asio(other, calls, start);
    started += handlers;
  };
  each([&](auto token) { beck::async_write(c.client, beck::buffer("abc", 3), token); });
  each([&](auto token) { beck::async_read(c.server, beck::buffer(bytes, 3), token); });
  each([&](auto token) { beck::post(ctx, token); });
  each([&](auto token) { beck::post(beck::bind_executor(ctx, token)); });
  each([&](auto token) { beck::dispatch(beck::make_strand(ctx), token); });
  each([&](auto token) { timer.async_wait(beck::cancel_after(std::chrono::hours(1), token)); });
  each([&](auto token) { timer.async_wait(beck::bind_allocator(std::allocator<void>(), token)); });
  each([&](auto token) { beck::co_spawn(ctx, []() -> beck::task<> { co_return; }, token); });
  // The other way: this library's types in handlers of Asio.
  asio::post(other,
             [&calls, on = beck::make_strand(ctx)] { beck::post(on, [&calls] { ++calls; }); });
  ++started;
  other.poll();
  beck::test::run_all(ctx);
  CHECK(calls == started);
}
