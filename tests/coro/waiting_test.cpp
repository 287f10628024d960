// SPDX-License-Identifier: BSL-1.0
// What all synchronisation primitives promise about waiting: order, cancellation in every state,
// every face of an operation, their own end and that of a context, and a stack that does not grow.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/interop/use_future.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/primitives.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"
#include "support/settle.hpp"
#include "support/small_random.hpp"
#include "support/small_stack.hpp"

using namespace std::chrono_literals;
using beck::error::operation_aborted;
using beck::test::each_sharing;
using beck::test::let_settle;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_next;
using beck::test::sharing;

namespace {

// Coroutines that wait for one primitive; each notes its number when its wait has ended well.
template <class Room>
struct queue_of_waiters {
  queue_of_waiters(sharing with, int count) : room(with) {
    outcomes.resize(static_cast<std::size_t>(count));
    sources.resize(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) beck::co_spawn(context, wait(i), beck::detached);
    let_settle(context);
  }

  beck::task<> wait(int number) {
    const auto index = static_cast<std::size_t>(number);
    const auto r = co_await beck::with_stop(sources[index].get_token(), room.wait());
    ++outcomes[index].calls;
    outcomes[index].ec = r.error();
    if (r) order.push_back(number);
  }

  Room room;
  // Nothing here waits for the kernel, and thousands are made: an epoll costs a fraction of a ring.
  beck::io_context context{beck::io_context::options{.backend = beck::backend::epoll}};
  std::vector<beck::stop_source> sources;
  std::vector<outcome> outcomes;
  std::vector<int> order;
};

}  // namespace

TEST_CASE_TEMPLATE("what can be had at once needs no suspension and no memory", Room,
                   EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  beck::io_context context;
  Room room(with);
  run_next(context, [&]() -> beck::task<> {
    room.give();
    co_await beck::post(context);
    const auto before = context.stats();
    const auto memory = beck::test::allocations();
    for (int i = 0; i < 50; ++i) {
      const auto r = co_await room.wait();
      CHECK_FALSE(r.error());
      if (!Room::gives_to_all) room.give();
    }
    CHECK(beck::test::allocations() == memory);
    CHECK(context.stats().inline_completions == before.inline_completions + 50);
    CHECK(context.stats().delivered == before.delivered);
  });
}

TEST_CASE_TEMPLATE("those who wait are served in the order in which they came", Room,
                   EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  queue_of_waiters<Room> line(with, 5);
  CHECK(line.order.empty());
  for (std::size_t i = 1; i <= 5; ++i) {
    line.room.give();
    CHECK(line.order.size() < i + (Room::gives_to_all ? 5 : 0));  // nobody continues inside
    let_settle(line.context);
    if (!Room::gives_to_all) CHECK(line.order.size() == i);
  }
  CHECK(line.order == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE_TEMPLATE("a cancelled wait ends with operation_aborted and takes nothing", Room,
                   EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  for (std::size_t cancelled = 0; cancelled < 3; ++cancelled) {
    queue_of_waiters<Room> line(with, 3);
    line.sources[cancelled].request_stop();
    CHECK(line.outcomes[cancelled].calls == 0);
    let_settle(line.context);
    CHECK(line.outcomes[cancelled].aborted());
    line.room.give();
    line.room.give();
    let_settle(line.context);
    CHECK(line.order.size() == 2);
    for (std::size_t i = 0; i < 3; ++i) {
      if (i != cancelled) CHECK(line.outcomes[i].ok());
    }
  }
}

TEST_CASE_TEMPLATE("what was handed over before the cancel is kept", Room, EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  queue_of_waiters<Room> line(with, 2);
  line.room.give();
  line.sources[0].request_stop();
  let_settle(line.context);
  CHECK(line.outcomes[0].ok());
  CHECK(line.outcomes[1].calls == (Room::gives_to_all ? 1 : 0));
  line.room.give();
  let_settle(line.context);
  CHECK(line.outcomes[1].ok());
}

TEST_CASE_TEMPLATE("a wait whose scope was stopped before takes nothing", Room, EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  beck::io_context context;
  Room room(with);
  beck::stop_source source;
  source.request_stop();
  run_next(context, [&]() -> beck::task<> {
    const auto r = co_await beck::with_stop(source.get_token(), room.wait());
    CHECK(r.error() == operation_aborted);
  });
  CHECK_FALSE(room.left());
  room.give();
  CHECK(room.left());
}

TEST_CASE_TEMPLATE("a wait ends with its time limit", Room, EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  beck::io_context context;
  Room room(with);
  run_next(context, [&]() -> beck::task<> {
    const auto late = co_await beck::timeout(room.wait(), 1ms);
    CHECK(late.error() == beck::error::timeout);
    room.give();
    const auto ready = co_await beck::timeout(room.wait(), 0ms);
    CHECK_FALSE(ready.error());
  });
}

TEST_CASE_TEMPLATE("waits and cancels in any order lose nothing and give nothing twice", Room,
                   EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  const int cases = beck::test::scaled(3000);
  for (int seed = 0; seed < cases; ++seed) {
    beck::testing::small_random random(static_cast<std::uint64_t>(seed) + 1);
    queue_of_waiters<Room> line(with, 4);
    int given = 0;
    for (int step = 0; step < 8; ++step) {
      switch (random.below(4)) {
        case 0:
          if (given < 4 || Room::gives_to_all) {
            const bool fits = Room::gives_to_all || [&] {
              std::size_t waiting = 0;
              for (const outcome& one : line.outcomes) waiting += one.calls == 0 ? 1u : 0u;
              return waiting != 0;
            }();
            if (fits) {
              line.room.give();
              ++given;
            }
            let_settle(line.context);
          }
          break;
        case 1:
        case 2:
          line.sources[random.below(4)].request_stop();
          break;
        default:
          let_settle(line.context);
      }
    }
    let_settle(line.context);
    for (const outcome& one : line.outcomes) {
      CHECK(one.calls <= 1);
      CHECK((one.calls == 0 || !one.ec || one.ec == operation_aborted));
    }
    if (!Room::gives_to_all) {
      int left = 0;
      while (left < 4 && line.room.left()) ++left;
      CHECK(static_cast<int>(line.order.size()) + left == given);
    }
    for (std::size_t i = 1; i < line.order.size(); ++i) CHECK(line.order[i - 1] < line.order[i]);
  }
  beck::test::report_value("cancel_cases", cases);
}

TEST_CASE_TEMPLATE("handlers, futures and tuples are given the same", Room, EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  beck::io_context context;
  beck::test::manual_queue elsewhere;
  Room room(with);
  outcome here;
  outcome there;
  room.wait()(beck::bind_executor(context, note(here)));
  room.wait()(beck::bind_executor(elsewhere.executor(), note(there)));
  let_settle(context);
  room.give();
  room.give();
  CHECK(here.calls + there.calls == 0);
  let_settle(context);
  CHECK(here.ok());
  CHECK(there.calls == 0);
  elsewhere.run();
  CHECK(there.ok());
  CHECK(elsewhere.work() == 0);
  std::optional<std::future<void>> future;
  beck::post(context, [&] {
    future = room.wait()(beck::use_future);
    room.give();
  });
  let_settle(context);
  REQUIRE(future);
  CHECK_NOTHROW(future->get());
  room.give();
  run_next(context, [&]() -> beck::task<> {
    const auto tuple = co_await room.wait()(beck::as_tuple);
    CHECK_FALSE(std::get<0>(tuple));
  });
  room.give();
  run_next(context, [&]() -> beck::awaitable<> { co_await room.wait(); });
}

TEST_CASE_TEMPLATE("without memory for its block a wait with a handler has not begun", Room,
                   EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  Room room(with);
  beck::test::handler_life life;
  const auto large = [&] {
    return beck::bind_executor(
        context, beck::test::large_tracked(life, [](beck::error_code ec) { CHECK_FALSE(ec); }));
  };
  {
    const beck::test::allocation_fault fault(1);
    CHECK_THROWS_AS(room.wait()(large()), std::bad_alloc);
  }
  CHECK(life.live == 0);
  room.wait()(large());
  {
    const beck::test::allocation_fault fault(1);
    room.give();
    context.run();
    CHECK_FALSE(fault.fired());
  }
  CHECK(life.calls == 1);
}

TEST_CASE_TEMPLATE("coroutines that wait are destroyed with their context, and others go on", Room,
                   EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  Room room(with);
  auto witness = std::make_shared<int>(0);
  const auto wait = [&room](std::shared_ptr<int>) -> beck::task<> {
    beck::ignore(co_await room.wait());
  };
  beck::io_context survivor;
  bool served = false;
  {
    beck::io_context context;
    for (int i = 0; i < 3; ++i) beck::co_spawn(context, wait(witness), beck::detached);
    let_settle(context);
    beck::co_spawn(
        survivor,
        [&]() -> beck::task<> {
          const auto r = co_await room.wait();
          served = !r.error();
        },
        beck::detached);
    let_settle(survivor);
    CHECK(witness.use_count() == 4);
  }
  CHECK(witness.use_count() == 1);
  room.give();
  let_settle(survivor);
  CHECK(served);
}

TEST_CASE_TEMPLATE("a primitive that goes drops who still waits, un-run", Room, EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  beck::io_context context;
  beck::test::handler_life life;
  auto witness = std::make_shared<int>(0);
  beck::stop_source source;
  bool resumed = false;
  std::optional<Room> room(std::in_place, with);
  const auto wait = [&](std::shared_ptr<int>) -> beck::task<> {
    beck::ignore(co_await beck::with_stop(source.get_token(), room->wait()));
    resumed = true;
  };
  room->wait()(beck::bind_executor(context, beck::test::tracked(life, [](beck::error_code) {})));
  beck::co_spawn(context, wait(witness), beck::detached);
  let_settle(context);
  room.reset();
  CHECK(life.live == 0);
  CHECK(life.calls == 0);
  source.request_stop();  // nothing is there to be cancelled
  let_settle(context);
  CHECK_FALSE(resumed);
  CHECK(witness.use_count() == 2);
}

TEST_CASE_TEMPLATE("100,000 waiters do not deepen the stack", Room, EVERY_PRIMITIVE) {
  const sharing with = each_sharing();
  const int waiters = beck::test::scaled(100000);
  beck::test::on_stack(256u << 10, [&] {
    Room room(with);
    beck::io_context context;
    int served = 0;
    const auto wait = [&]() -> beck::task<> {
      const auto r = co_await room.wait();
      if (r) ++served;
      if (!Room::gives_to_all) room.give();  // to the next one, from inside a resumption
    };
    for (int i = 0; i < waiters; ++i) beck::co_spawn(context, wait(), beck::detached);
    let_settle(context);
    CHECK(served == 0);
    room.give();
    let_settle(context);
    CHECK(served == waiters);
  });
}
