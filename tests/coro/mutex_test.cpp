// SPDX-License-Identifier: BSL-1.0
// mutex and shared_mutex: exclusion across awaits, guards, who may enter together and in which
// order.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/shared_mutex.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/run/bind.hpp>
#include <chrono>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/dies.hpp"
#include "support/settle.hpp"

using namespace std::chrono_literals;
using beck::test::let_settle;
using beck::test::run_next;

TEST_CASE("at most one coroutine is between lock and unlock, in the order of the requests") {
  beck::io_context context;
  beck::mutex m;
  std::string order;
  const auto critical = [&](char name) -> beck::task<> {
    const auto r = co_await m.lock();
    CHECK_FALSE(r.error());
    order += name;
    co_await beck::post(context);
    co_await beck::post(context);
    order += name;
    m.unlock();
    order += '.';
  };
  for (const char name : {'a', 'b', 'c'}) beck::co_spawn(context, critical(name), beck::detached);
  context.run();
  CHECK(order == "aa.bb.cc.");
}

TEST_CASE("while somebody waits neither try_lock nor lock overtakes") {
  beck::io_context context;
  beck::mutex m;
  std::string order;
  const auto one = [&](char name) -> beck::task<> {
    beck::ignore(co_await m.lock());
    order += name;
    m.unlock();
    CHECK(m.try_lock() == (name == 'c'));  // handed over inside unlock
    if (name == 'c') m.unlock();
  };
  REQUIRE(m.try_lock());
  for (const char name : {'a', 'b', 'c'}) beck::co_spawn(context, one(name), beck::detached);
  let_settle(context);
  CHECK_FALSE(m.try_lock());
  m.unlock();
  let_settle(context);
  CHECK(order == "abc");
}

TEST_CASE("a guard unlocks when it goes, and not when it was moved, released or never had it") {
  beck::io_context context;
  beck::mutex m;
  run_next(context, [&]() -> beck::task<> {
    {
      auto r = co_await m.scoped_lock();
      beck::mutex_lock held = std::move(r).value();
      CHECK(held.owns_lock());
      beck::mutex_lock moved = std::move(held);
      CHECK_FALSE(held.owns_lock());
      CHECK_FALSE(m.try_lock());
      moved.unlock();
      CHECK_FALSE(moved.owns_lock());
      CHECK(m.try_lock());
      moved = beck::mutex_lock(m);
    }
    CHECK(m.try_lock());
    beck::mutex_lock adopted(m);
    CHECK(adopted.release() == &m);
    CHECK_FALSE(m.try_lock());
    auto late = co_await beck::timeout(m.scoped_lock(), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK_FALSE(late->owns_lock());
    CHECK_THROWS_AS(beck::ignore(std::move(late).value()), beck::io_error);
    m.unlock();
  });
  CHECK(m.try_lock());
}

TEST_CASE("a guard that was handed over to a coroutine which is destroyed passes the mutex on") {
  beck::mutex m;
  beck::io_context survivor;
  bool served = false;
  {
    beck::io_context context;
    REQUIRE(m.try_lock());
    const auto wait = [&]() -> beck::task<> { beck::ignore(co_await m.scoped_lock()); };
    beck::co_spawn(context, wait(), beck::detached);
    let_settle(context);
    beck::co_spawn(
        survivor,
        [&]() -> beck::task<> {
          auto r = co_await m.scoped_lock();
          served = r->owns_lock();
        },
        beck::detached);
    let_settle(survivor);
    m.unlock();  // to the one whose context goes before it goes on
  }
  let_settle(survivor);
  CHECK(served);
  CHECK(m.try_lock());
}

TEST_CASE("an exception between lock and unlock leaves the guard to do its work") {
  beck::io_context context;
  beck::mutex m;
  run_next(context, [&]() -> beck::task<> {
    const auto fails = [&]() -> beck::task<> {
      auto r = co_await m.scoped_lock();
      throw std::runtime_error("inside");
    };
    bool caught = false;
    try {
      co_await fails();
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(m.try_lock());
  });
}

TEST_CASE("a handler is given its guard") {
  beck::io_context context;
  beck::mutex m;
  REQUIRE(m.try_lock());
  int calls = 0;
  m.scoped_lock()(beck::bind_executor(context, [&](beck::error_code ec, beck::mutex_lock held) {
    CHECK_FALSE(ec);
    CHECK(held.owns_lock());
    CHECK_FALSE(m.try_lock());
    ++calls;
  }));
  m.unlock();
  CHECK_FALSE(m.try_lock());
  context.run();
  CHECK(calls == 1);
  CHECK(m.try_lock());
}

TEST_CASE("unlocking a mutex that is not locked ends the program with a message") {
  CHECK(dies_with([] {
          beck::mutex m;
          m.unlock();
        }).find("not locked") != std::string::npos);
  CHECK(dies_with([] {
          beck::shared_mutex m;
          REQUIRE(m.try_lock_shared());
          m.unlock();
        }).find("not locked for writing") != std::string::npos);
  CHECK(dies_with([] {
          beck::shared_mutex m;
          m.unlock_shared();
        }).find("not locked for reading") != std::string::npos);
}

TEST_CASE("a loop that locks and unlocks lets others run (K4)") {
  beck::io_context context;
  beck::mutex m;
  bool stop = false;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        while (!stop) {
          beck::ignore(co_await m.lock());
          m.unlock();
        }
      },
      beck::detached);
  beck::post(context, [&] { stop = true; });
  context.run();
  CHECK(context.stats().budget_stops != 0);
}

TEST_CASE("readers share, a writer is alone") {
  beck::shared_mutex m;
  REQUIRE(m.try_lock_shared());
  CHECK(m.try_lock_shared());
  CHECK_FALSE(m.try_lock());
  m.unlock_shared();
  CHECK_FALSE(m.try_lock());
  m.unlock_shared();
  REQUIRE(m.try_lock());
  CHECK_FALSE(m.try_lock());
  CHECK_FALSE(m.try_lock_shared());
  m.unlock();
  CHECK(m.try_lock_shared());
}

namespace {

struct readers_and_writers {
  beck::task<> read(char name) {
    auto r = co_await m.scoped_lock_shared();
    log += name;
    co_await beck::post(context);
    log += name;
  }
  beck::task<> write(char name) {
    auto r = co_await beck::with_stop(source.get_token(), m.scoped_lock());
    log += r ? name : '!';
    co_await beck::post(context);
    log += r ? name : '!';
  }
  // Small letters read, capital ones write; all have asked when it returns.
  void start(const std::string& names) {
    for (const char name : names) {
      beck::co_spawn(context, name >= 'a' ? read(name) : write(name), beck::detached);
    }
    context.poll();
    context.restart();
  }

  beck::shared_mutex m;
  beck::stop_source source;
  std::string log;
  beck::io_context context;
};

}  // namespace

TEST_CASE("readers behind a waiting writer wait, and enter together when it has gone") {
  readers_and_writers all;
  REQUIRE(all.m.try_lock_shared());
  all.start("aWbcVd");
  CHECK(all.log == "aa");
  CHECK_FALSE(all.m.try_lock_shared());  // a writer waits
  all.m.unlock_shared();
  let_settle(all.context);
  CHECK(all.log == "aaWWbcbcVVdd");
}

TEST_CASE("readers go on when the writer before them is cancelled") {
  readers_and_writers all;
  REQUIRE(all.m.try_lock_shared());
  all.start("Wab");
  CHECK(all.log.empty());
  all.source.request_stop();
  let_settle(all.context);
  CHECK(all.log.size() == 6);
  CHECK(all.log.find("a") != std::string::npos);
  CHECK(all.log.find("b") != std::string::npos);
  CHECK(all.log.find("!") != std::string::npos);
  all.m.unlock_shared();
  CHECK(all.m.try_lock());
}

TEST_CASE("shared_mutex has lock and lock_shared without guards") {
  beck::io_context context;
  beck::shared_mutex m;
  run_next(context, [&]() -> beck::task<> {
    const auto w = co_await m.lock();
    CHECK_FALSE(w.error());
    CHECK_FALSE(m.try_lock_shared());
    m.unlock();
    const auto r = co_await m.lock_shared();
    CHECK_FALSE(r.error());
    const auto s = co_await m.lock_shared();
    CHECK_FALSE(s.error());
    m.unlock_shared();
    m.unlock_shared();
    CHECK(m.try_lock());
  });
}
