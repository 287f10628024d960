// SPDX-License-Identifier: BSL-1.0
// The bridges between the two kinds of stop tokens.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/interop/stop_token.hpp>
#include <beck/io/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <ostream>
#include <stop_token>
#include <thread>
#include <utility>

#include "support/stream_pair.hpp"

using namespace std::chrono_literals;

TEST_CASE("a request through std::stop_source reaches a beck::stop_token") {
  std::stop_source source;
  const beck::from_std_stop_token bridge(source.get_token());
  const beck::stop_token token = bridge;
  int told = 0;
  const beck::stop_callback on_stop(token, [&] { ++told; });
  CHECK_FALSE(token.stop_requested());
  CHECK(source.request_stop());
  CHECK(token.stop_requested());
  CHECK(told == 1);
  const beck::from_std_stop_token late(source.get_token());
  CHECK(late.get_token().stop_requested());
}

TEST_CASE("a request through beck::stop_source reaches a std::stop_token") {
  const beck::stop_source source;
  const beck::to_std_stop_token bridge(source.get_token());
  const std::stop_token token = bridge;
  int told = 0;
  const std::stop_callback on_stop(token, [&] { ++told; });
  CHECK_FALSE(token.stop_requested());
  source.request_stop();
  CHECK(token.stop_requested());
  CHECK(told == 1);
  const beck::to_std_stop_token late(source.get_token());
  CHECK(late.get_token().stop_requested());
}

TEST_CASE("a bridge that is gone passes nothing on, and one of an empty token never does") {
  std::stop_source source;
  std::optional<beck::from_std_stop_token> bridge(std::in_place, source.get_token());
  const beck::stop_token token = bridge->get_token();
  bridge.reset();
  source.request_stop();
  CHECK_FALSE(token.stop_requested());
  const beck::from_std_stop_token empty{std::stop_token()};
  CHECK_FALSE(empty.get_token().stop_requested());
  const beck::to_std_stop_token other{beck::stop_token()};
  CHECK_FALSE(other.get_token().stop_requested());
}

TEST_CASE("a std::jthread that is asked to stop ends the task that it runs") {
  bool ended = false;
  {
    const std::jthread runner([&](std::stop_token stop) {
      beck::io_context context;
      beck::test::run_task(context, [&]() -> beck::task<> {
        beck::steady_timer timer(context, 24h);
        auto waited = co_await beck::with_stop(stop, timer.async_wait());
        CHECK(waited.error() == beck::error::operation_aborted);
        ended = true;
      });
    });
  }  // requests the stop and joins
  CHECK(ended);
}

TEST_CASE("a task hands its own end to a library that knows the standard's tokens") {
  beck::io_context context;
  bool told = false;
  beck::test::run_task(context, [&]() -> beck::task<> {
    const auto work = [&]() -> beck::task<> {
      auto own = co_await beck::this_coro::stop_token;
      const beck::to_std_stop_token bridge(own);
      const std::stop_callback on_stop(bridge.get_token(), [&] { told = true; });
      beck::steady_timer timer(context, 24h);
      beck::ignore(co_await timer.async_wait());
    };
    std::stop_source source;
    beck::steady_timer soon(context, 1ms);
    soon.async_wait([&](beck::error_code) { source.request_stop(); });
    beck::ignore(co_await beck::with_stop(source.get_token(), work()));
  });
  CHECK(told);
}
