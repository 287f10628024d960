// SPDX-License-Identifier: BSL-1.0
// as_tuple and redirect_error: over every token, over each other, and over awaited operations of
// the library without a handler and without memory.
#include <doctest/doctest.h>
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/cancel_after.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/op.hpp>
#include <beck/run/redirect_error.hpp>
#include <coroutine>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::as_tuple;
using beck::deferred;
using beck::redirect_error;
using beck::use_awaitable;
using beck::test::allocations;
using beck::test::handler_life;
using beck::test::manual_queue;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::tracked;

namespace {

using count_tuple = std::tuple<beck::error_code, std::size_t>;

// Operations of a user, one for each kind of signature; they complete through the queue.
template <class Signature, class Token, class... Results>
auto async_give(beck::io_context& context, Token&& token, Results... results) {
  return beck::async_initiate<Token, Signature>(
      [&context, ... kept = results](auto handler) {
        beck::post(context, [handler = std::move(handler), ... given = kept]() mutable {
          std::move(handler)(given...);
        });
      },
      token);
}

}  // namespace

TEST_CASE("as_tuple gives a callback one tuple, the error among the values") {
  beck::io_context context;
  stream_pair pair(context);
  handler_life life;
  char data[8];
  pair.b.async_read_some(beck::buffer(data), as_tuple(tracked(life, [](count_tuple result) {
                           CHECK_FALSE(std::get<0>(result));
                           CHECK(std::get<1>(result) == 3);
                         })));
  pair.a.async_write_some(beck::buffer("abc", 3), beck::detached);
  context.run();
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE("redirect_error writes the error to the variable and gives a callback the values") {
  beck::io_context context;
  stream_pair pair(context);
  handler_life life;
  char data[8];
  beck::error_code ec;
  pair.b.async_read_some(beck::buffer(data),
                         redirect_error(tracked(life, [](std::size_t n) { CHECK(n == 0); }), ec));
  pair.a.close();
  context.run();
  CHECK(life.calls == 1);
  CHECK(ec == beck::error::eof);
}

TEST_CASE("an awaited operation of the library gives a tuple, by value with every spelling") {
  beck::io_context context;
  stream_pair pair(context);
  run_task(context, [&]() -> beck::task<> {
    char data[8];
    auto [ec, n] = co_await pair.a.async_write_some(beck::buffer("abc", 3), as_tuple(deferred));
    CHECK_FALSE(ec);
    CHECK(n == 3);
    auto [ec2, m] = co_await pair.b.async_read_some(beck::buffer(data), as_tuple);
    CHECK_FALSE(ec2);
    CHECK(m == 3);
    pair.a.close();
    auto [ec3, k] = co_await pair.b.async_read_some(beck::buffer(data), as_tuple(use_awaitable));
    CHECK(ec3 == beck::error::eof);
    CHECK(k == 0);
  });
}

TEST_CASE("an awaited operation of the library redirects its error and never throws") {
  beck::io_context context;
  stream_pair pair(context);
  run_task(context, [&]() -> beck::task<> {
    char data[8];
    beck::error_code ec = beck::error::not_found;
    const std::size_t n =
        co_await pair.a.async_write_some(beck::buffer("abc", 3), redirect_error(deferred, ec));
    CHECK_FALSE(ec);
    CHECK(n == 3);
    pair.a.close();
    const std::size_t m = co_await pair.b.async_read_some(beck::buffer(data), redirect_error(ec));
    CHECK_FALSE(ec);
    CHECK(m == 3);
    const std::size_t k =
        co_await pair.b.async_read_some(beck::buffer(data), redirect_error(use_awaitable, ec));
    CHECK(ec == beck::error::eof);
    CHECK(k == 0);
  });
}

TEST_CASE("mapping an awaited result costs neither a handler nor memory") {
  beck::io_context context;
  stream_pair pair(context);
  std::string text = "one\ntwo\n";
  run_task(context, [&]() -> beck::task<> {
    char data[8];
    beck::error_code ec;
    beck::steady_timer timer(context);
    std::uint64_t memory = 0;
    std::uint64_t misses = 0;
    for (int i = 0; i < 100; ++i) {
      if (i == 10) {  // everything has its size by now
        memory = allocations();
        misses = beck::detail::block_misses();
      }
      const auto [sent_ec, sent] =
          co_await pair.a.async_write_some(beck::buffer("abc", 3), as_tuple);
      const std::size_t received =
          co_await pair.b.async_read_some(beck::buffer(data), redirect_error(use_awaitable, ec));
      CHECK(received == sent);
      const auto [line_ec, line] =
          co_await beck::async_read_until(pair.b, beck::dynamic_buffer(text), '\n', as_tuple);
      CHECK(line == 4);
      beck::ignore(co_await timer.async_wait(redirect_error(as_tuple(deferred), ec)));
    }
    CHECK(allocations() == memory);
    CHECK(beck::detail::block_misses() == misses);
  });
}

TEST_CASE("the adapters nest in both orders") {
  beck::io_context context;
  beck::steady_timer timer(context);
  run_task(context, [&]() -> beck::task<> {
    beck::error_code ec = beck::error::eof;
    const auto outer_tuple = co_await timer.async_wait(as_tuple(redirect_error(deferred, ec)));
    static_assert(std::is_same_v<decltype(outer_tuple), const std::tuple<beck::error_code>>);
    CHECK(ec == beck::error::eof);  // the tuple has taken the error
    const auto inner_tuple = co_await timer.async_wait(redirect_error(as_tuple(deferred), ec));
    static_assert(std::is_same_v<decltype(inner_tuple), const std::tuple<>>);
    CHECK_FALSE(ec);
  });
}

TEST_CASE("an adapted operation that is deferred can be started with a callback later") {
  beck::io_context context;
  beck::steady_timer timer(context, beck::duration(0));
  int calls = 0;
  auto operation = timer.async_wait(as_tuple);
  CHECK(context.poll() == 0);
  context.restart();
  std::move(operation)([&](std::tuple<beck::error_code>) { ++calls; });
  context.run();
  CHECK(calls == 1);
}

TEST_CASE("the adapters pass the associations of the inner handler on") {
  beck::io_context context;
  manual_queue queue;
  beck::steady_timer timer(context, beck::duration(0));
  beck::error_code ec = beck::error::eof;
  int calls = 0;
  timer.async_wait(as_tuple(
      beck::bind_executor(queue.executor(), [&](std::tuple<beck::error_code>) { ++calls; })));
  timer.async_wait(redirect_error(beck::bind_executor(queue.executor(), [&] { ++calls; }), ec));
  context.run();
  CHECK(calls == 0);
  CHECK(ec == beck::error::eof);  // written where the handler runs
  CHECK(queue.run() == 2);
  CHECK(calls == 2);
  CHECK_FALSE(ec);
}

TEST_CASE("signatures of every kind become tuples") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    const auto none = co_await async_give<void()>(context, as_tuple);
    static_assert(std::is_same_v<decltype(none), const std::tuple<>>);
    const auto one = co_await async_give<void(int)>(context, as_tuple, 1);
    CHECK(one == std::tuple(1));
    const auto three = co_await async_give<void(int, int, char)>(context, as_tuple, 1, 2, 'c');
    CHECK(three == std::tuple(1, 2, 'c'));
    const auto many = co_await async_give<void(beck::error_code, int, int, int)>(
        context, as_tuple, beck::error_code(), 1, 2, 3);
    CHECK(many == std::tuple(beck::error_code(), 1, 2, 3));
    const auto thrown = co_await async_give<void(std::exception_ptr, int)>(
        context, as_tuple, std::make_exception_ptr(1), 2);
    CHECK(std::get<0>(thrown) != nullptr);
    CHECK(std::get<1>(thrown) == 2);
  });
}

TEST_CASE("a signature without an error_code is left alone by redirect_error") {
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    beck::error_code ec = beck::error::eof;
    const int n = co_await async_give<void(int)>(context, redirect_error(deferred, ec), 4);
    CHECK(n == 4);
    CHECK(ec == beck::error::eof);
    const auto [a, b] = co_await async_give<void(beck::error_code, int, char)>(
        context, redirect_error(ec), beck::error_code(), 1, 'c');
    CHECK_FALSE(ec);
    CHECK(a == 1);
    CHECK(b == 'c');
  });
}

TEST_CASE("redirect_error leaves values alone that have an error of their own") {
  struct finding {
    beck::error_code error() const { return beck::error::not_found; }
  };
  struct search : beck::op<search, void(finding)> {
    bool ready() { return finish(finding()); }
    void initiate(handler done) { std::move(done)(finding()); }
  };
  beck::io_context context;
  run_task(context, [&]() -> beck::task<> {
    beck::error_code ec;
    const finding found = co_await search()(redirect_error(ec));
    CHECK(found.error() == beck::error::not_found);
    CHECK_FALSE(ec);
  });
}

namespace {

// As a call of redis::client: the result has the error of the completion inside.
struct finding {
  beck::error_code error() const { return beck::error::not_found; }
  int value() const { throw beck::system_error(error()); }
};
struct search : beck::op<search, void(beck::error_code, int)> {
  bool ready() { return finish(beck::error::not_found, 1); }
  void initiate(handler done) { std::move(done)(beck::error::not_found, 1); }
  finding await_resume() { return {}; }
};

// An awaitable of a user whose `signature` is something else.
struct digest {
  using signature = std::array<unsigned char, 64>;
  bool await_ready() { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  finding await_resume() { return {}; }
};

// Awaited by its operator, also where it is named.
struct two_ways {
  std::unique_ptr<int> not_copied;
  digest operator co_await() & { return {}; }
  bool await_ready() { return true; }
  void await_suspend(std::coroutine_handle<>) {}
  void await_resume() {}
};

beck::task<beck::io_result<int>> failed_search() {
  co_return beck::io_result<int>(beck::error::not_found, 1);
}

}  // namespace

TEST_CASE("an awaitable throws no error that redirect_error has written") {
  beck::io_context context;
  const auto where = context.get_executor();
  run_task(context, [&]() -> beck::awaitable<> {
    beck::error_code ec;
    finding found = co_await search()(redirect_error(ec));
    CHECK(std::exchange(ec, {}) == beck::error::not_found);
    found = co_await search()(redirect_error(use_awaitable, ec));
    CHECK(std::exchange(ec, {}) == beck::error::not_found);
    auto kept = search()(redirect_error(ec));
    found = co_await kept;
    CHECK(std::exchange(ec, {}) == beck::error::not_found);

    found = co_await beck::timeout(search()(redirect_error(ec)), 1h);
    CHECK(std::exchange(ec, {}) == beck::error::not_found);
    found = co_await beck::shield(beck::shield(search()(redirect_error(ec))));
    CHECK(std::exchange(ec, {}) == beck::error::not_found);
    found = co_await search()(redirect_error(beck::cancel_after(1h), ec));
    CHECK(std::exchange(ec, {}) == beck::error::not_found);
    CHECK(co_await search()(redirect_error(bind_executor(where, deferred), ec)) == 1);
    CHECK(std::exchange(ec, {}) == beck::error::not_found);
    CHECK(found.error() == beck::error::not_found);
  });
}

TEST_CASE("an awaitable throws the error of a result that nothing has redirected") {
  beck::io_context context;
  run_task(context, [&]() -> beck::awaitable<> {
    CHECK_THROWS_AS(co_await search(), beck::system_error);
    CHECK_THROWS_AS(co_await search()(use_awaitable), beck::system_error);
    CHECK_THROWS_AS(co_await beck::timeout(search(), 1h), beck::system_error);
    CHECK_THROWS_AS(co_await beck::shield(search()), beck::system_error);
    CHECK_THROWS_AS(co_await failed_search(), beck::system_error);
    // An io_result is one, whatever the signature says.
    CHECK_THROWS_AS(co_await beck::co_spawn(context, failed_search(), use_awaitable),
                    beck::system_error);
    CHECK_THROWS_AS(co_await beck::co_spawn(context, failed_search(), deferred),
                    beck::system_error);
    const beck::io_result<int> failed(beck::error::not_found, 1);
    CHECK_THROWS_AS(co_await async_give<void(beck::io_result<int>)>(context, deferred, failed),
                    beck::system_error);
    CHECK_THROWS_AS(co_await digest(), beck::system_error);
  });
}

TEST_CASE(
    "use_awaitable throws the error of the completion, not one inside of what was delivered") {
  beck::io_context context;
  const beck::io_result<int> failed(beck::error::not_found, 1);
  const auto nested = []() -> beck::task<beck::io_result<finding>> {
    co_return beck::io_result<finding>(beck::error_code(), finding());
  };
  run_task(context, [&]() -> beck::task<> {
    beck::io_result<int> result = co_await beck::co_spawn(context, failed_search(), use_awaitable);
    CHECK(result.error() == beck::error::not_found);
    result = co_await async_give<void(beck::io_result<int>)>(context, use_awaitable, failed);
    CHECK(result.error() == beck::error::not_found);
    const finding found = co_await async_give<void(std::exception_ptr, finding)>(
        context, use_awaitable, nullptr, finding());
    CHECK(found.error() == beck::error::not_found);
    CHECK_THROWS_AS(co_await search()(use_awaitable), beck::system_error);
  });
  run_task(context, [&]() -> beck::awaitable<> {
    finding found = co_await beck::co_spawn(context, nested(), use_awaitable);
    CHECK(found.error() == beck::error::not_found);
    found = co_await beck::co_spawn(context, nested(), deferred);
    CHECK(found.error() == beck::error::not_found);
    found = co_await async_give<void(beck::error_code, finding)>(context, use_awaitable,
                                                                 beck::error_code(), finding());
    CHECK(found.error() == beck::error::not_found);
  });
}

TEST_CASE("the error of a result that is returned by reference is thrown, or redirected") {
  struct opened : beck::op<opened, void(int)> {
    beck::io_result<int> kept{beck::error::not_found, 1};
    bool ready() { return finish(-2); }
    void initiate(handler done) { std::move(done)(-2); }
    beck::io_result<int>& await_resume() { return kept; }
  };
  struct looked_up : beck::op<looked_up, void(beck::error_code, int)> {
    beck::io_result<int> kept{beck::error::not_found, 1};
    bool ready() { return finish(beck::error::not_found, 1); }
    void initiate(handler done) { std::move(done)(beck::error::not_found, 1); }
    const beck::io_result<int>& await_resume() { return kept; }
  };
  beck::io_context context;
  run_task(context, [&]() -> beck::awaitable<> {
    CHECK_THROWS_AS(co_await opened(), beck::system_error);
    CHECK_THROWS_AS(co_await beck::timeout(opened(), 1h), beck::system_error);
    CHECK_THROWS_AS(co_await opened()(use_awaitable), beck::system_error);
    beck::error_code ec;
    CHECK(co_await looked_up()(redirect_error(ec)) == 1);
    CHECK(ec == beck::error::not_found);
  });
}

TEST_CASE("an awaitable leaves a value alone whose signature has no error") {
  beck::io_context context;
  run_task(context, [&]() -> beck::awaitable<> {
    const finding found = co_await async_give<void(finding)>(context, deferred, finding());
    CHECK(found.error() == beck::error::not_found);
    two_ways named;
    const finding by_operator = co_await named;
    CHECK(by_operator.error() == beck::error::not_found);
  });
}

TEST_CASE("an awaitable takes the adapters as a task does") {
  beck::io_context context;
  stream_pair pair(context);
  run_task(context, [&]() -> beck::awaitable<> {
    char data[8];
    pair.a.close();
    auto [ec, n] = co_await pair.b.async_read_some(beck::buffer(data), as_tuple);
    CHECK(ec == beck::error::eof);
    CHECK(n == 0);
    beck::error_code redirected;
    co_await pair.b.async_read_some(beck::buffer(data), redirect_error(redirected));
    CHECK(redirected == beck::error::eof);
  });
}
