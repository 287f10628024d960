// SPDX-License-Identifier: BSL-1.0
// semaphore, latch, the two events and condition_variable: what each adds to waiting in a line.
#include <doctest/doctest.h>
#include <algorithm>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/condition_variable.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/latch.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/run/bind.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "base/dies.hpp"
#include "support/scale.hpp"
#include "support/settle.hpp"
#include "support/small_stack.hpp"

using namespace std::chrono_literals;
using beck::test::let_settle;
using beck::test::run_next;

TEST_CASE("a semaphore bounds how many are inside at once") {
  beck::io_context context;
  beck::semaphore places(3);
  int inside = 0;
  int most = 0;
  const auto visit = [&]() -> beck::task<> {
    beck::ignore(co_await places.acquire());
    most = std::max(most, ++inside);
    co_await beck::post(context);
    --inside;
    places.release();
  };
  for (int i = 0; i < 20; ++i) beck::co_spawn(context, visit(), beck::detached);
  context.run();
  CHECK(most == 3);
  CHECK(places.available() == 3);
}

TEST_CASE("several permits at once go to those who wait, and what is over stays") {
  beck::io_context context;
  beck::semaphore permits(0);
  int served = 0;
  const auto wait = [&]() -> beck::task<> {
    beck::ignore(co_await permits.acquire());
    ++served;
  };
  for (int i = 0; i < 3; ++i) beck::co_spawn(context, wait(), beck::detached);
  let_settle(context);
  permits.release(2);
  let_settle(context);
  CHECK(served == 2);
  CHECK(permits.available() == 0);
  permits.release(5);
  let_settle(context);
  CHECK(served == 3);
  CHECK(permits.available() == 4);
  permits.release(0);
  CHECK(permits.available() == 4);
  CHECK(permits.try_acquire());
}

TEST_CASE("a latch of zero is open; one of three opens at the third") {
  beck::io_context context;
  beck::latch open(0);
  CHECK(open.try_wait());
  beck::latch three(3);
  int through = 0;
  const auto arrive = [&]() -> beck::task<> {
    const auto r = co_await three.arrive_and_wait();
    CHECK_FALSE(r.error());
    ++through;
  };
  for (int i = 0; i < 2; ++i) beck::co_spawn(context, arrive(), beck::detached);
  let_settle(context);
  CHECK(through == 0);
  three.count_down();
  CHECK(three.try_wait());
  CHECK(through == 0);
  let_settle(context);
  CHECK(through == 2);
  CHECK(dies_with([&] { three.count_down(); }).find("below zero") != std::string::npos);
}

TEST_CASE("a latch may go when the waits on it have ended") {
  beck::io_context context;
  auto gate = std::make_unique<beck::latch>(1);
  beck::latch* const counter = gate.get();
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        beck::ignore(co_await gate->wait());
        gate.reset();
      },
      beck::detached);
  let_settle(context);
  counter->count_down();
  let_settle(context);
  CHECK(gate == nullptr);
}

TEST_CASE("a manual_reset_event that is reset at once still lets go who waited") {
  beck::io_context context;
  beck::manual_reset_event event;
  int through = 0;
  const auto wait = [&]() -> beck::task<> {
    beck::ignore(co_await event.wait());
    ++through;
  };
  for (int i = 0; i < 3; ++i) beck::co_spawn(context, wait(), beck::detached);
  let_settle(context);
  event.set();
  event.reset();
  beck::co_spawn(context, wait(), beck::detached);
  let_settle(context);
  CHECK(through == 3);
  CHECK_FALSE(event.is_set());
  event.set();
  let_settle(context);
  CHECK(through == 4);
  CHECK(beck::manual_reset_event(true).is_set());
}

TEST_CASE("an auto_reset_event remembers one set and forgets it on reset") {
  beck::auto_reset_event event(true);
  CHECK(event.try_wait());
  CHECK_FALSE(event.try_wait());
  event.set();
  event.set();
  CHECK(event.try_wait());
  CHECK_FALSE(event.try_wait());
  event.set();
  event.reset();
  CHECK_FALSE(event.try_wait());
}

namespace {

struct condition_of_waiters {
  beck::task<> wait(char name) {
    beck::ignore(co_await m.lock());
    const auto r = co_await beck::with_stop(source.get_token(), condition.wait(m));
    CHECK_FALSE(m.try_lock());
    CHECK((!r.error() || r.error() == beck::error::operation_aborted));
    log += r ? name : '!';
    co_await beck::post(context);
    m.unlock();
  }
  void start(const std::string& names) {
    for (const char name : names) beck::co_spawn(context, wait(name), beck::detached);
    let_settle(context);
  }

  beck::mutex m;
  beck::condition_variable condition;
  beck::stop_source source;
  std::string log;
  beck::io_context context;
};

}  // namespace

TEST_CASE("a wait unlocks the mutex, and has it again when it ends") {
  condition_of_waiters all;
  all.start("abc");
  REQUIRE(all.m.try_lock());
  all.condition.notify_one();
  let_settle(all.context);
  CHECK(all.log.empty());  // the mutex is not free
  all.m.unlock();
  let_settle(all.context);
  CHECK(all.log == "a");
  all.condition.notify_all();
  let_settle(all.context);
  CHECK(all.log == "abc");
  all.condition.notify_all();
  CHECK(all.m.try_lock());
}

TEST_CASE("a notification reaches nobody who comes later") {
  condition_of_waiters all;
  all.condition.notify_one();
  all.condition.notify_all();
  all.start("a");
  CHECK(all.log.empty());
  all.condition.notify_one();
  let_settle(all.context);
  CHECK(all.log == "a");
}

TEST_CASE("a cancelled wait has the mutex again, as soon as that is free") {
  condition_of_waiters all;
  all.start("a");
  REQUIRE(all.m.try_lock());
  all.source.request_stop();
  let_settle(all.context);
  CHECK(all.log.empty());
  all.m.unlock();
  let_settle(all.context);
  CHECK(all.log == "!");
  CHECK(all.m.try_lock());
}

TEST_CASE("a cancel after the notification changes nothing, whether the mutex is free or not") {
  for (const bool free : {true, false}) {
    condition_of_waiters all;
    all.start("a");
    if (!free) REQUIRE(all.m.try_lock());
    all.condition.notify_one();
    all.source.request_stop();
    let_settle(all.context);
    if (!free) {
      CHECK(all.log.empty());
      all.m.unlock();
      let_settle(all.context);
    }
    CHECK(all.log == "a");
    CHECK(all.m.try_lock());
  }
}

TEST_CASE("a wait ends with its time limit, and a stop before it leaves the mutex locked") {
  condition_of_waiters all;
  run_next(all.context, [&]() -> beck::task<> {
    REQUIRE(all.m.try_lock());
    const auto late = co_await beck::timeout(all.condition.wait(all.m), 1ms);
    CHECK(late.error() == beck::error::timeout);
    CHECK_FALSE(all.m.try_lock());
    all.source.request_stop();
    const auto never = co_await beck::with_stop(all.source.get_token(), all.condition.wait(all.m));
    CHECK(never.error() == beck::error::operation_aborted);
    CHECK_FALSE(all.m.try_lock());
    all.m.unlock();
  });
}

TEST_CASE("a wait with a predicate ends when it is true, not before") {
  beck::io_context context;
  beck::mutex m;
  beck::condition_variable condition;
  int value = 0;
  bool done = false;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        beck::ignore(co_await m.lock());
        const auto r = co_await condition.wait(m, [&] { return value == 3; });
        CHECK_FALSE(r.error());
        CHECK_FALSE(m.try_lock());
        m.unlock();
        done = true;
        beck::ignore(co_await m.lock());
        const auto at_once = co_await condition.wait(m, [&] { return value == 3; });
        CHECK_FALSE(at_once.error());
        m.unlock();
      },
      beck::detached);
  for (int i = 1; i <= 3; ++i) {
    let_settle(context);
    CHECK_FALSE(done);
    value = i;
    condition.notify_one();
  }
  let_settle(context);
  CHECK(done);
  CHECK(m.try_lock());
}

TEST_CASE("a cancelled wait with a predicate succeeds if it has become true") {
  beck::io_context context;
  for (const bool true_in_the_end : {false, true}) {
    for (const bool notified : {false, true}) {
      beck::mutex m;
      beck::condition_variable condition;
      beck::stop_source source;
      bool value = false;
      beck::error_code result = beck::error::eof;
      beck::co_spawn(
          context,
          [&]() -> beck::task<> {
            beck::ignore(co_await m.lock());
            const auto r = co_await beck::with_stop(source.get_token(),
                                                    condition.wait(m, [&] { return value; }));
            result = r.error();
            CHECK_FALSE(m.try_lock());
          },
          beck::detached);
      let_settle(context);
      value = true_in_the_end;
      if (notified) condition.notify_one();
      source.request_stop();
      let_settle(context);
      CHECK(result == (true_in_the_end ? beck::error_code()
                                       : beck::error_code(beck::error::operation_aborted)));
    }
  }
}

TEST_CASE("handlers wait for a condition too") {
  beck::io_context context;
  beck::mutex m;
  beck::condition_variable condition;
  beck::test::outcome plain;
  beck::test::outcome asked;
  bool value = false;
  beck::post(context, [&] {
    REQUIRE(m.try_lock());
    condition.wait(m)(beck::test::note(plain));
    REQUIRE(m.try_lock());
    condition.wait(m, [&] { return value; })(beck::test::note(asked));
  });
  let_settle(context);
  condition.notify_all();
  let_settle(context);
  CHECK(plain.ok());
  CHECK(asked.calls == 0);
  m.unlock();
  let_settle(context);
  CHECK(asked.calls == 0);
  value = true;
  condition.notify_all();
  let_settle(context);
  CHECK(asked.ok());
  CHECK_FALSE(m.try_lock());
}

TEST_CASE("who waits for a condition goes with its context, the condition or the mutex") {
  for (int first = 0; first < 3; ++first) {
    for (const bool notified : {false, true}) {
      auto witness = std::make_shared<int>(0);
      auto m = std::make_unique<beck::mutex>();
      auto condition = std::make_unique<beck::condition_variable>();
      std::optional<beck::io_context> context(std::in_place);
      const auto wait = [&](std::shared_ptr<int>) -> beck::task<> {
        beck::ignore(co_await m->lock());
        beck::ignore(co_await condition->wait(*m));
      };
      beck::co_spawn(*context, wait(witness), beck::detached);
      let_settle(*context);
      REQUIRE(m->try_lock());
      if (notified) condition->notify_all();  // it waits for the mutex
      if (first == 1) condition.reset();
      if (first == 2 && notified) m.reset();
      context.reset();
      CHECK(witness.use_count() == 1);
    }
  }
}

TEST_CASE("100,000 who wait for one condition do not deepen the stack") {
  const int waiters = beck::test::scaled(100000);
  beck::test::on_stack(256u << 10, [&] {
    beck::io_context context;
    beck::mutex m;
    beck::condition_variable condition;
    bool go = false;
    int served = 0;
    const auto wait = [&]() -> beck::task<> {
      beck::ignore(co_await m.lock());
      beck::ignore(co_await condition.wait(m, [&] { return go; }));
      ++served;
      m.unlock();
    };
    for (int i = 0; i < waiters; ++i) beck::co_spawn(context, wait(), beck::detached);
    let_settle(context);
    condition.notify_all();
    let_settle(context);
    CHECK(served == 0);
    go = true;
    condition.notify_all();
    let_settle(context);
    CHECK(served == waiters);
  });
}

TEST_CASE("a waiter that was woken does not look at its event again, not even for a stop") {
  beck::io_context context;
  bool woken = false;
  auto event = std::make_unique<beck::manual_reset_event>();
  const auto set_and_go = [&]() -> beck::task<> {
    co_await beck::post(context);
    event->set();
    event.reset();  // the end of this branch stops the other, which has been woken
  };
  const auto wait = [&]() -> beck::task<> {
    const auto waited = co_await event->wait();
    woken = !waited.error();
  };
  const auto both = [&]() -> beck::task<> {
    auto first = beck::when_any(set_and_go(), wait());
    beck::ignore(co_await std::move(first));
  };
  beck::co_spawn(context, both(), beck::detached);
  context.run();
  CHECK(woken);
}
