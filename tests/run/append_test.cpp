// SPDX-License-Identifier: BSL-1.0
// append, prepend, consign: values beside a result, over callbacks, awaits and other tokens.
#include <doctest/doctest.h>
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/any_completion_handler.hpp>
#include <beck/run/append.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::append;
using beck::as_tuple;
using beck::consign;
using beck::deferred;
using beck::prepend;
using beck::use_awaitable;
using beck::test::allocations;
using beck::test::handler_life;
using beck::test::manual_queue;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::tracked;

TEST_CASE(
    "append and prepend pass values behind and in front of the results, also move-only ones") {
  beck::io_context context;
  stream_pair pair(context);
  handler_life life;
  char data[8];
  pair.b.async_read_some(
      beck::buffer(data),
      append(tracked(life,
                     [](beck::error_code ec, std::size_t n, std::unique_ptr<int> own, int more) {
                       CHECK_FALSE(ec);
                       CHECK(n == 3);
                       CHECK(*own == 7);
                       CHECK(more == 8);
                     }),
             std::make_unique<int>(7), 8));
  pair.a.async_write_some(
      beck::buffer("abc", 3),
      prepend(tracked(life,
                      [](std::string first, beck::error_code ec, std::size_t n) {
                        CHECK(first == "first");
                        CHECK_FALSE(ec);
                        CHECK(n == 3);
                      }),
              std::string("first")));
  context.run();
  CHECK(life.calls == 2);
  CHECK(life.live == 0);
}

TEST_CASE("an awaited operation returns the values that append and prepend add") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    beck::steady_timer timer(context, 0s);
    const auto one = co_await timer.async_wait(append(deferred, 5));
    CHECK_FALSE(one.error());
    CHECK(*one == 5);
    timer.expires_after(0s);
    CHECK(co_await timer.async_wait(append(use_awaitable, std::string("value"))) == "value");
    timer.expires_after(0s);
    const auto [ec, a, b, c] = co_await timer.async_wait(append(as_tuple(deferred), 1, 2, 3));
    CHECK_FALSE(ec);
    CHECK(a + b + c == 6);
    timer.expires_after(0s);
    const auto three = co_await timer.async_wait(prepend(deferred, 1, 2));
    CHECK(std::get<0>(three) + std::get<1>(three) == 3);
    CHECK_FALSE(std::get<2>(three));
  });
}

TEST_CASE("consign keeps values until the handler has been called, and changes nothing else") {
  beck::io_context context;
  stream_pair pair(context);
  auto text = std::make_shared<std::string>("abc");
  const std::weak_ptr<std::string> watched = text;
  bool called = false;
  const auto bytes = beck::buffer(*text);
  pair.a.async_write_some(bytes, consign(
                                     [&](beck::error_code ec, std::size_t n) {
                                       CHECK_FALSE(ec);
                                       CHECK(n == 3);
                                       CHECK_FALSE(watched.expired());
                                       called = true;
                                     },
                                     std::move(text)));
  CHECK_FALSE(watched.expired());
  context.run();
  CHECK(called);
  CHECK(watched.expired());
}

TEST_CASE("a consigned await costs no memory, and keeps its value while it waits") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    beck::steady_timer timer(context, 0s);
    beck::ignore(co_await timer.async_wait());  // the blocks of a first wait
    auto value = std::make_unique<int>(3);
    const auto before = allocations();
    timer.expires_after(0s);
    auto waiting = timer.async_wait(consign(deferred, std::move(value)));
    const auto ended = co_await std::move(waiting);
    CHECK(allocations() == before);
    CHECK_FALSE(ended.error());
  });
}

TEST_CASE("the executor of a handler is found through append and consign") {
  beck::io_context context;
  manual_queue queue;
  beck::steady_timer timer(context, 0s);
  bool called = false;
  timer.async_wait(
      append(consign(beck::bind_executor(queue.executor(),
                                         [&](beck::error_code, int value) { called = value == 4; }),
                     std::make_unique<int>(1)),
             4));
  context.run();
  CHECK_FALSE(called);
  queue.run();
  CHECK(called);
}

TEST_CASE("values of a handler that is never called are destroyed with it") {
  auto kept = std::make_shared<int>(1);
  {
    beck::io_context context;
    beck::steady_timer timer(context, 1h);
    timer.async_wait(consign([](beck::error_code) {}, kept));
    timer.async_wait(append([](beck::error_code, const std::shared_ptr<int>&) {}, kept));
    CHECK(kept.use_count() == 3);
  }
  CHECK(kept.use_count() == 1);
}

TEST_CASE("a const token is copied, so that it can be used again") {
  beck::io_context context;
  handler_life life;
  const auto token =
      append([&](beck::error_code, const std::string& text) { life.calls += text == "value"; },
             std::string("value"));
  const auto start = [](auto handler) { std::move(handler)(beck::error_code()); };
  beck::async_initiate<decltype(token), void(beck::error_code)>(start, token);
  beck::async_initiate<decltype((token)), void(beck::error_code)>(start, token);
  CHECK(life.calls == 2);
}

namespace {

// A value that can be moved a number of times; then a move throws, once.
class fragile_value {
 public:
  explicit fragile_value(int& left) : left_(&left) {}
  fragile_value(fragile_value&& other) : left_(other.left_) {
    if ((*left_)-- == 0) throw std::runtime_error("no move");
  }

 private:
  int* left_;
};

}  // namespace

TEST_CASE("a value that cannot be moved leaves the handler whole, whose allocator is in use") {
  using any_handler = beck::any_completion_handler<void(beck::error_code, const fragile_value&)>;
  beck::test::allocator_counts counts;
  int throws = 0;
  int left = 0;
  beck::io_context context;
  beck::steady_timer timer(context, 1h);
  while (counts.live == 0) {
    any_handler handler = beck::bind_allocator(beck::test::counting_allocator<>(counts),
                                               [](beck::error_code, const fragile_value&) {});
    left = throws;
    try {
      timer.async_wait(append(std::move(handler), fragile_value(left)));
      left = -1;
    } catch (const std::runtime_error&) {
      ++throws;
    }
  }
  CHECK(throws > 0);
}
