// SPDX-License-Identifier: BSL-1.0
// semaphore, latch, events and condition_variable among coroutines that do I/O and wait for timers,
// on every backend.
#include <beck/coro/condition_variable.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/latch.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/coro/timeout.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <ostream>
#include <string>

#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
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

CONFORMANCE("a semaphore bounds how many connections are served at once") {
  beck::io_context ctx(context_options());
  std::deque<stream_pair> pairs;
  beck::semaphore permits(3);
  int inside = 0;
  int most = 0;
  int served = 0;
  const auto serve = [&](stream_pair& pair) -> task<> {
    beck::ignore(co_await permits.acquire());
    most = std::max(most, ++inside);
    co_await read_byte(pair.a);
    --inside;
    ++served;
    permits.release();
  };
  const auto ask = [&](stream_pair& pair) -> task<> {
    co_await pause(ctx, 100us);
    beck::ignore(co_await beck::async_write(pair.b, buffer("x", 1)));
  };
  for (int i = 0; i < 12; ++i) {
    pairs.emplace_back(ctx);
    beck::co_spawn(ctx, serve(pairs.back()), beck::detached);
    beck::co_spawn(ctx, ask(pairs.back()), beck::detached);
  }
  ctx.run();
  CHECK(served == 12);
  CHECK(most == 3);
  CHECK(permits.available() == 3);
}

CONFORMANCE("permits that come late do not go to those whose time was over") {
  beck::io_context ctx(context_options());
  beck::semaphore permits(0);
  int late = 0;
  int served = 0;
  const auto wait = [&](beck::duration limit) -> task<> {
    const auto r = co_await beck::timeout(permits.acquire(), limit);
    (r ? served : late) += 1;
  };
  for (int i = 0; i < 10; ++i) {
    beck::co_spawn(ctx, wait(i % 2 == 0 ? beck::duration(1ms) : beck::duration(1h)),
                   beck::detached);
  }
  const auto give = [&]() -> task<> {
    co_await pause(ctx, 3ms);
    permits.release(6);
  };
  beck::co_spawn(ctx, give(), beck::detached);
  ctx.run();
  CHECK(late == 5);
  CHECK(served == 5);
  CHECK(permits.available() == 1);
}

CONFORMANCE("a latch waits for reads on many sockets") {
  beck::io_context ctx(context_options());
  std::deque<stream_pair> pairs;
  beck::latch all(10);
  bool over = false;
  const auto read = [&](stream_pair& pair) -> task<> {
    co_await read_byte(pair.a);
    all.count_down();
  };
  const auto finish = [&]() -> task<> {
    const auto early = co_await beck::timeout(all.wait(), 1ms);
    CHECK(early.error() == error::timeout);
    for (stream_pair& pair : pairs) {
      beck::ignore(co_await beck::async_write(pair.b, buffer("x", 1)));
    }
    const auto r = co_await all.wait();
    over = !r.error();
  };
  for (int i = 0; i < 10; ++i) {
    pairs.emplace_back(ctx);
    beck::co_spawn(ctx, read(pairs.back()), beck::detached);
  }
  beck::co_spawn(ctx, finish(), beck::detached);
  ctx.run();
  CHECK(over);
}

CONFORMANCE("an event that is set by a timer lets all writers start") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::manual_reset_event start;
  std::size_t received = 0;
  const auto write = [&]() -> task<> {
    beck::ignore(co_await start.wait());
    beck::ignore(co_await beck::async_write(pair.a, buffer("12345", 5)));
  };
  const auto read = [&]() -> task<> {
    char data[50];
    const auto [ec, n] = co_await beck::async_read(pair.b, buffer(data));
    CHECK_FALSE(ec);
    received = n;
  };
  for (int i = 0; i < 10; ++i) beck::co_spawn(ctx, write(), beck::detached);
  beck::co_spawn(ctx, read(), beck::detached);
  beck::steady_timer timer(ctx, 1ms);
  timer.async_wait([&](beck::error_code) {
    CHECK(received == 0);
    start.set();
  });
  ctx.run();
  CHECK(received == 50);
}

CONFORMANCE("each set of an auto_reset_event lets one go on, and a timeout uses up none") {
  beck::io_context ctx(context_options());
  beck::auto_reset_event event;
  int passed = 0;
  int late = 0;
  const auto wait = [&](beck::duration limit) -> task<> {
    const auto r = co_await beck::timeout(event.wait(), limit);
    (r ? passed : late) += 1;
  };
  beck::co_spawn(ctx, wait(1ms), beck::detached);
  for (int i = 0; i < 3; ++i) beck::co_spawn(ctx, wait(1h), beck::detached);
  const auto ring = [&]() -> task<> {
    co_await pause(ctx, 3ms);
    for (int i = 1; i <= 3; ++i) {
      event.set();
      co_await pause(ctx, 100us);
      CHECK(passed == i);
    }
  };
  beck::co_spawn(ctx, ring(), beck::detached);
  ctx.run();
  CHECK(late == 1);
  CHECK(passed == 3);
}

CONFORMANCE("a condition_variable hands received bytes to who waits for enough of them") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::mutex m;
  beck::condition_variable arrived;
  std::string text;
  std::string taken;
  const auto read = [&]() -> task<> {
    char data[3];
    for (std::size_t done = 0; done < 100;) {
      const auto [ec, n] = co_await pair.b.async_read_some(buffer(data));
      CHECK_FALSE(ec);
      auto r = co_await m.scoped_lock();
      text.append(data, n);
      done += n;
      arrived.notify_all();
    }
  };
  const auto take = [&]() -> task<> {
    for (int i = 0; i < 10; ++i) {
      auto r = co_await m.scoped_lock();
      const auto waited = co_await arrived.wait(m, [&] { return text.size() >= 10; });
      CHECK_FALSE(waited.error());
      taken += text.substr(0, 10);
      text.erase(0, 10);
    }
  };
  const std::string sent = beck::test::pattern(100);
  beck::co_spawn(ctx, take(), beck::detached);
  beck::co_spawn(ctx, read(), beck::detached);
  beck::test::outcome wrote;
  beck::async_write(pair.a, buffer(sent), beck::test::note(wrote));
  ctx.run();
  CHECK(taken == sent);
  CHECK(m.try_lock());
}

CONFORMANCE("a condition's wait that runs out of time has the mutex again, late if need be") {
  beck::io_context ctx(context_options());
  beck::mutex m;
  beck::condition_variable never;
  std::string log;
  const auto wait = [&]() -> task<> {
    beck::ignore(co_await m.lock());
    const auto r = co_await beck::timeout(never.wait(m), 1ms);
    CHECK(r.error() == error::timeout);
    log += 'w';
    m.unlock();
  };
  const auto hold = [&]() -> task<> {
    beck::ignore(co_await m.lock());
    co_await pause(ctx, 3ms);
    log += 'h';
    m.unlock();
  };
  beck::co_spawn(ctx, wait(), beck::detached);
  beck::co_spawn(ctx, hold(), beck::detached);
  ctx.run();
  CHECK(log == "hw");
  CHECK(m.try_lock());
}

CONFORMANCE("waits of every kind and I/O go with their context, and the primitives stay usable") {
  beck::mutex m;
  beck::semaphore permits(0);
  beck::manual_reset_event event;
  beck::latch latch(1);
  beck::condition_variable condition;
  auto witness = std::make_shared<int>(0);
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    const auto hold = [&](std::shared_ptr<int>) -> task<> {
      auto r = co_await m.scoped_lock();
      co_await read_byte(pair.a);
    };
    const auto lock = [&](std::shared_ptr<int>) -> task<> { beck::ignore(co_await m.lock()); };
    const auto acquire = [&](std::shared_ptr<int>) -> task<> {
      beck::ignore(co_await beck::timeout(permits.acquire(), 1h));
    };
    const auto wait = [&](std::shared_ptr<int>) -> task<> { beck::ignore(co_await event.wait()); };
    const auto join = [&](std::shared_ptr<int>) -> task<> { beck::ignore(co_await latch.wait()); };
    beck::co_spawn(ctx, hold(witness), beck::detached);
    beck::co_spawn(ctx, lock(witness), beck::detached);
    beck::co_spawn(ctx, acquire(witness), beck::detached);
    beck::co_spawn(ctx, wait(witness), beck::detached);
    beck::co_spawn(ctx, join(witness), beck::detached);
    let_settle(ctx);
    CHECK(witness.use_count() == 6);
  }
  CHECK(witness.use_count() == 1);
  CHECK(m.try_lock());
  permits.release();
  CHECK(permits.available() == 1);
  event.set();
  latch.count_down();
  condition.notify_all();
}
