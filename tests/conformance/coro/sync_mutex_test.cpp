// SPDX-License-Identifier: BSL-1.0
// mutex and shared_mutex among coroutines that do I/O and wait for timers: exclusion, order, limits
// of time and stops, on every backend.
#include <beck/coro/latch.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/shared_mutex.hpp>
#include <beck/coro/timeout.hpp>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::buffer;
using beck::task;
using beck::test::let_settle;
using beck::test::pause;
using beck::test::read_byte;
using beck::test::run_all;
using beck::test::stream_pair;
namespace error = beck::error;

CONFORMANCE("a mutex keeps messages whole that several coroutines write in pieces") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::mutex m;
  beck::latch written(4);
  std::string received;
  const auto write = [&](char name) -> task<> {
    const std::string half(5000, name);
    for (int i = 0; i < 5; ++i) {
      auto r = co_await m.scoped_lock();
      const beck::mutex_lock held = std::move(r).value();
      beck::ignore(co_await beck::async_write(pair.a, buffer(half)));
      co_await pause(ctx, 10us);
      beck::ignore(co_await beck::async_write(pair.a, buffer(half)));
    }
    written.count_down();
  };
  const auto close = [&]() -> task<> {
    beck::ignore(co_await written.wait());
    pair.a.close();
  };
  const auto read = [&]() -> task<> {
    char data[7000];
    while (true) {
      const auto [ec, n] = co_await pair.b.async_read_some(buffer(data));
      if (ec) co_return;
      received.append(data, n);
    }
  };
  for (const char name : {'a', 'b', 'c', 'd'}) beck::co_spawn(ctx, write(name), beck::detached);
  beck::co_spawn(ctx, close(), beck::detached);
  beck::co_spawn(ctx, read(), beck::detached);
  ctx.run();
  REQUIRE(received.size() == 200000);
  for (std::size_t at = 0; at < received.size(); at += 10000) {
    CHECK(received.compare(at, 10000, std::string(10000, received[at])) == 0);
  }
}

CONFORMANCE("a mutex is handed over in the order of the requests, however long it was held") {
  beck::io_context ctx(context_options());
  beck::mutex m;
  std::vector<int> order;
  const auto work = [&](int name) -> task<> {
    beck::ignore(co_await m.lock());
    order.push_back(name);
    if (name % 3 != 0) co_await pause(ctx, std::chrono::microseconds(100 * (name % 4)));
    m.unlock();
  };
  for (int i = 0; i < 20; ++i) beck::co_spawn(ctx, work(i), beck::detached);
  ctx.run();
  REQUIRE(order.size() == 20);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

CONFORMANCE("a lock with a time limit gives up, and the next one gets the mutex") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::mutex m;
  std::string log;
  const auto hold = [&]() -> task<> {
    beck::ignore(co_await m.lock());
    co_await read_byte(pair.a);
    log += 'h';
    m.unlock();
  };
  const auto impatient = [&]() -> task<> {
    const auto r = co_await beck::timeout(m.lock(), 1ms);
    CHECK(r.error() == error::timeout);
    log += 'i';
    beck::ignore(co_await beck::async_write(pair.b, buffer("x", 1)));
  };
  const auto patient = [&]() -> task<> {
    const auto r = co_await beck::timeout(m.lock(), 1h);
    CHECK_FALSE(r.error());
    log += 'p';
    m.unlock();
  };
  beck::co_spawn(ctx, hold(), beck::detached);
  beck::co_spawn(ctx, impatient(), beck::detached);
  beck::co_spawn(ctx, patient(), beck::detached);
  ctx.run();
  CHECK(log == "ihp");
}

CONFORMANCE("a free mutex is locked although the time limit is zero or over") {
  beck::io_context ctx(context_options());
  beck::mutex m;
  const auto work = [&]() -> task<> {
    for (const beck::duration limit : {beck::duration(0), beck::duration(-1)}) {
      const auto r = co_await beck::timeout(m.lock(), limit);
      CHECK_FALSE(r.error());
      m.unlock();
    }
    const auto r = co_await beck::with_deadline(beck::time_point(), m.lock());
    CHECK_FALSE(r.error());
    const auto second = co_await beck::timeout(m.lock(), 0ms);
    CHECK(second.error() == error::timeout);
    m.unlock();
  };
  beck::co_spawn(ctx, work(), beck::detached);
  ctx.run();
  CHECK(m.try_lock());
}

CONFORMANCE("the limit of a task ends a lock inside it, and what it holds is unlocked") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::mutex outer;
  beck::mutex inner;
  const auto work = [&]() -> task<int> {
    auto first = co_await outer.scoped_lock();
    const beck::mutex_lock held = std::move(first).value();
    const auto second = co_await inner.lock();
    CHECK(second.error() == error::timeout);
    co_return 1;
  };
  const auto watch = [&]() -> task<> {
    REQUIRE(inner.try_lock());
    const auto r = co_await beck::timeout(work(), 1ms);
    CHECK(r.error() == error::timeout);
    CHECK(outer.try_lock());
    inner.unlock();
    CHECK(inner.try_lock());
  };
  beck::co_spawn(ctx, watch(), beck::detached);
  ctx.run();
}

CONFORMANCE("a stop that a timer requests ends a lock") {
  beck::io_context ctx(context_options());
  beck::mutex m;
  beck::stop_source source;
  REQUIRE(m.try_lock());
  beck::error_code result;
  const auto wait = [&]() -> task<> {
    const auto r = co_await beck::with_stop(source.get_token(), m.lock());
    result = r.error();
  };
  beck::co_spawn(ctx, wait(), beck::detached);
  beck::steady_timer timer(ctx, 1ms);
  timer.async_wait([&](beck::error_code) { source.request_stop(); });
  ctx.run();
  CHECK(result == error::operation_aborted);
  m.unlock();
  CHECK(m.try_lock());
}

CONFORMANCE("a stop in the same turn as the unlock comes too late") {
  beck::io_context ctx(context_options());
  beck::mutex m;
  beck::stop_source source;
  REQUIRE(m.try_lock());
  beck::error_code result = error::eof;
  const auto wait = [&]() -> task<> {
    const auto r = co_await beck::with_stop(source.get_token(), m.lock());
    result = r.error();
  };
  beck::co_spawn(ctx, wait(), beck::detached);
  beck::steady_timer timer(ctx, 1ms);
  timer.async_wait([&](beck::error_code) {
    m.unlock();
    source.request_stop();
  });
  ctx.run();
  CHECK_FALSE(result);
  CHECK_FALSE(m.try_lock());
}

CONFORMANCE("a lock inside a shield hears of no stop") {
  beck::io_context ctx(context_options());
  beck::mutex m;
  beck::stop_source source;
  REQUIRE(m.try_lock());
  bool locked = false;
  const auto work = [&]() -> task<> {
    const auto r = co_await beck::shield(m.lock());
    locked = !r.error();
  };
  const auto stopped = [&]() -> task<> {
    beck::ignore(co_await beck::with_stop(source.get_token(), work()));
  };
  beck::co_spawn(ctx, stopped(), beck::detached);
  let_settle(ctx);
  source.request_stop();
  let_settle(ctx);
  CHECK_FALSE(locked);
  m.unlock();
  run_all(ctx);
  CHECK(locked);
}

CONFORMANCE("an error that is thrown while a guard is held unlocks") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::mutex m;
  const auto work = [&]() -> beck::awaitable<> {
    const beck::mutex_lock held = co_await m.scoped_lock();
    pair.b.close();
    char byte = 0;
    co_await beck::async_read(pair.a, buffer(&byte, 1));
  };
  std::exception_ptr failure;
  beck::co_spawn(ctx, work(), [&](std::exception_ptr e) { failure = e; });
  ctx.run();
  REQUIRE(failure);
  CHECK_THROWS_AS(std::rethrow_exception(failure), beck::io_error);
  CHECK(m.try_lock());
}

CONFORMANCE("a loop around an uncontended mutex lets I/O and timers go on") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::mutex m;
  bool read = false;
  bool rang = false;
  const auto spin = [&]() -> task<> {
    while (!read || !rang) {
      beck::ignore(co_await m.lock());
      m.unlock();
    }
  };
  const auto reader = [&]() -> task<> {
    co_await read_byte(pair.a);
    read = true;
  };
  const auto timed = [&]() -> task<> {
    co_await pause(ctx, 1ms);
    rang = true;
    beck::ignore(co_await beck::async_write(pair.b, buffer("x", 1)));
  };
  beck::co_spawn(ctx, spin(), beck::detached);
  beck::co_spawn(ctx, reader(), beck::detached);
  beck::co_spawn(ctx, timed(), beck::detached);
  ctx.run();
  CHECK(read);
}

CONFORMANCE("readers of a shared_mutex do I/O together, and a writer alone in between") {
  beck::io_context ctx(context_options());
  beck::shared_mutex m;
  int readers = 0;
  int most = 0;
  int writers = 0;
  std::string order;
  const auto read = [&](char name) -> task<> {
    auto r = co_await m.scoped_lock_shared();
    const beck::reader_lock held = std::move(r).value();
    order += name;
    most = std::max(most, ++readers);
    CHECK(writers == 0);
    co_await pause(ctx, 200us);
    --readers;
  };
  const auto write = [&](char name) -> task<> {
    auto r = co_await m.scoped_lock();
    const beck::writer_lock held = std::move(r).value();
    order += name;
    ++writers;
    CHECK(readers == 0);
    co_await pause(ctx, 200us);
    --writers;
  };
  for (const char name : {'a', 'b', 'c'}) beck::co_spawn(ctx, read(name), beck::detached);
  beck::co_spawn(ctx, write('W'), beck::detached);
  for (const char name : {'d', 'e'}) beck::co_spawn(ctx, read(name), beck::detached);
  beck::co_spawn(ctx, write('X'), beck::detached);
  ctx.run();
  CHECK(order == "abcWdeX");
  CHECK(most == 3);
  CHECK(m.try_lock());
}

CONFORMANCE("a writer whose time is over lets the readers behind it in") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::shared_mutex m;
  bool read = false;
  const auto hold = [&]() -> task<> {
    auto r = co_await m.scoped_lock_shared();
    co_await read_byte(pair.a);
  };
  const auto write = [&]() -> task<> {
    const auto r = co_await beck::timeout(m.lock(), 1ms);
    CHECK(r.error() == error::timeout);
  };
  const auto behind = [&]() -> task<> {
    auto r = co_await m.scoped_lock_shared();
    read = r->owns_lock();
    beck::ignore(co_await beck::async_write(pair.b, buffer("x", 1)));
  };
  beck::co_spawn(ctx, hold(), beck::detached);
  beck::co_spawn(ctx, write(), beck::detached);
  beck::co_spawn(ctx, behind(), beck::detached);
  ctx.run();
  CHECK(read);
  CHECK(m.try_lock());
}

CONFORMANCE("handlers that hold a mutex over their reads take turns") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::mutex m;
  std::string received;
  char bytes[3] = {};
  for (char& byte : bytes) {
    beck::post(ctx, [&] {
      m.scoped_lock()([&](beck::error_code ec, beck::mutex_lock held) {
        CHECK_FALSE(ec);
        pair.b.async_read_some(buffer(&byte, 1),
                               [&, held = std::move(held)](beck::error_code, std::size_t n) {
                                 received.append(&byte, n);
                               });
      });
    });
  }
  beck::test::outcome wrote;
  beck::async_write(pair.a, buffer("123", 3), beck::test::note(wrote));
  ctx.run();
  CHECK(received == "123");
  CHECK(m.try_lock());
}
