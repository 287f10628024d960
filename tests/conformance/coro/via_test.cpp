// SPDX-License-Identifier: BSL-1.0
//
// Tasks that run elsewhere (via), that are started with a callback (start), and what a coroutine
// can ask about its own end.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/local_key.hpp>
#include <beck/coro/task_group.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/via.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::error::operation_aborted;
using beck::test::run_task;

namespace this_coro = beck::this_coro;

namespace {

constinit const beck::local_key<int> depth;

// Moved only, and nothing by default.
struct ticket {
  explicit ticket(int n) : number(std::make_unique<int>(n)) {}
  std::unique_ptr<int> number;
};

beck::task<ticket> make_ticket(std::thread::id& ran_on) {
  ran_on = std::this_thread::get_id();
  co_return ticket(7);
}

beck::task<int> fail_there() {
  throw std::runtime_error("there");
  co_return 0;
}

beck::task<beck::any_io_executor> where_am_i() { co_return co_await this_coro::executor; }

beck::task<int> wait_for_ever(beck::io_context& ctx) {
  beck::steady_timer timer(ctx, 24h);
  auto waited = co_await timer.async_wait();
  co_return waited.error() == operation_aborted ? 1 : 0;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "a task goes to a pool, and its result comes back") {
  beck::io_context ctx(context_options());
  beck::thread_pool pool(2);
  run_task(ctx, [&]() -> beck::task<> {
    std::thread::id ran_on;
    const auto here = std::this_thread::get_id();
    ticket got = co_await make_ticket(ran_on).via(pool);
    CHECK(*got.number == 7);
    CHECK(ran_on != here);
    CHECK(std::this_thread::get_id() == here);
    bool thrown = false;
    try {
      static_cast<void>(co_await fail_there().via(pool));
    } catch (const std::runtime_error& failure) {
      thrown = std::string(failure.what()) == "there";
    }
    CHECK(thrown);
    CHECK(std::this_thread::get_id() == here);
  });
  pool.join();
}

CONFORMANCE("a task's executor is the one it was sent to, and the parent's is its own") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    auto there = co_await where_am_i().via(strand);
    CHECK(there == beck::any_io_executor(strand));
    auto same = co_await where_am_i().via(ctx);
    CHECK(same == beck::any_io_executor(ctx.get_executor()));
    auto here = co_await this_coro::executor;
    CHECK(here == beck::any_io_executor(ctx.get_executor()));
  });
}

CONFORMANCE("a stop and a limit reach a task that runs elsewhere") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    auto late = co_await beck::timeout(wait_for_ever(ctx).via(strand), 1ms);
    CHECK(late == 0);  // the timer's error was timeout
    const beck::stop_source source;
    const auto body = [&]() -> beck::task<int> {
      co_return co_await wait_for_ever(ctx).via(strand);
    };
    beck::steady_timer soon(ctx, 1ms);
    soon.async_wait([&](beck::error_code) { source.request_stop(); });
    auto stopped = co_await beck::with_stop(source.get_token(), body());
    CHECK(stopped.error() == operation_aborted);
    CHECK(*stopped == 1);
    source.request_stop();
    auto before = co_await beck::with_stop(source.get_token(), body());
    CHECK(before.error() == operation_aborted);
  });
}

CONFORMANCE_ON(beck::test::kernel, "a task goes to another thread's context, and hears of a stop") {
  beck::io_context ctx(context_options());
  beck::io_context other(context_options());
  auto guard = beck::make_work_guard(other);
  std::thread runner([&] { other.run(); });
  run_task(ctx, [&]() -> beck::task<> {
    for (int i = 0; i < 20; ++i) {
      const auto body = [&]() -> beck::task<int> {
        co_return co_await wait_for_ever(other).via(other);
      };
      auto late = co_await beck::timeout(body(), i % 2 == 0 ? 0ms : 1ms);
      CHECK(late.error() == beck::error::timeout);
      auto there = co_await where_am_i().via(other);
      CHECK(there == beck::any_io_executor(other.get_executor()));
    }
  });
  guard.reset();
  runner.join();
}

CONFORMANCE("values of local keys are seen by a task that runs elsewhere") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    const auto read = []() -> beck::task<int> {
      const int* value = co_await depth.get();
      co_return value != nullptr ? *value : -1;
    };
    const auto body = [&]() -> beck::task<int> { co_return co_await read().via(strand); };
    const int seen = co_await depth.with(3, body());
    CHECK(seen == 3);
  });
}

CONFORMANCE("a context that is destroyed takes the tasks with it that were sent there") {
  beck::io_context home(context_options());
  std::optional<beck::io_context> there(context_options());
  const auto body = [&]() -> beck::task<> {
    static_cast<void>(co_await wait_for_ever(*there).via(*there));
  };
  beck::co_spawn(home, body, beck::detached);
  home.poll();
  there->poll();
  there.reset();
  CHECK(home.run() == 0);  // nothing keeps it: nobody will answer
}

CONFORMANCE("a context is destroyed with its own tasks in its own strand") {
  beck::io_context ctx(context_options());
  auto strand = beck::make_strand(ctx);
  const auto body = [&]() -> beck::task<> {
    static_cast<void>(co_await wait_for_ever(ctx).via(strand));
  };
  beck::co_spawn(ctx, body, beck::detached);
  beck::co_spawn(ctx, body, beck::detached);
  ctx.poll();
}

CONFORMANCE("start runs a task on an executor and calls back with its end") {
  beck::io_context ctx(context_options());
  std::optional<int> got;
  bool failed = false;
  int ends = 0;
  wait_for_ever(ctx).start(ctx, [&](std::exception_ptr error, int value) {
    CHECK(error == nullptr);
    got = value;
  });
  fail_there().start(ctx, [&](std::exception_ptr error, int) { failed = error != nullptr; });
  const auto nothing = []() -> beck::task<> { co_return; };
  nothing().start(ctx, [&](std::exception_ptr error) { ends += error == nullptr; });
  nothing().start(ctx, [&] { ++ends; });
  CHECK(ends == 0);
  beck::post(ctx, [&] { nothing().start([&] { ++ends; }); });
  ctx.poll();
  CHECK_FALSE(got.has_value());
  CHECK(failed);
  CHECK(ends == 3);
}

CONFORMANCE("a callback that takes only the value leaves exceptions to the context") {
  beck::io_context ctx(context_options());
  int unhandled = 0;
  int results = 0;
  ctx.on_unhandled([](std::exception_ptr, void* count) { ++*static_cast<int*>(count); },
                   &unhandled);
  const auto transfer = []() -> beck::task<beck::io_result<std::size_t>> {
    co_return beck::io_result<std::size_t>(beck::error::eof, 3);
  };
  transfer().start(ctx, [&](beck::io_result<std::size_t> result) {
    CHECK(result.error() == beck::error::eof);
    CHECK(*result == 3);
    ++results;
  });
  fail_there().start(ctx, [&](int) { ++results; });
  ctx.run();
  CHECK(results == 1);
  CHECK(unhandled == 1);
}

CONFORMANCE("a coroutine can ask whether it was asked to end") {
  beck::io_context ctx(context_options());
  beck::stop_token after;
  run_task(ctx, [&]() -> beck::task<> {
    const auto work = [&]() -> beck::task<int> {
      auto state = co_await this_coro::cancellation_state;
      CHECK(state.cancelled() == beck::cancellation_type::none);
      auto token = co_await this_coro::stop_token;
      CHECK(token.stop_possible());
      CHECK_FALSE(token.stop_requested());
      int told = 0;
      const beck::stop_callback on_stop(token, [&] { ++told; });
      beck::steady_timer timer(ctx, 24h);
      auto waited = co_await timer.async_wait();
      CHECK(waited.error() == beck::error::timeout);
      CHECK(told == 1);
      CHECK((co_await this_coro::cancellation_state).cancelled() ==
            beck::cancellation_type::terminal);
      CHECK(state.reason() == beck::detail::stop_reason::deadline);
      auto late = co_await this_coro::stop_token;
      CHECK(late.stop_requested());
      after = late;
      co_return told;
    };
    auto result = co_await beck::timeout(work(), 1ms);
    CHECK(result.error() == beck::error::timeout);
    CHECK(*result == 1);
    auto own = co_await this_coro::stop_token;
    CHECK_FALSE(own.stop_requested());
  });
  CHECK(after.stop_requested());
}

CONFORMANCE("a token of a scope that ends without a stop can never be requested again") {
  beck::io_context ctx(context_options());
  beck::stop_token kept;
  run_task(ctx, [&]() -> beck::task<> { kept = co_await this_coro::stop_token; });
  CHECK_FALSE(kept.stop_requested());
  CHECK_FALSE(kept.stop_possible());
}

CONFORMANCE("tokens of several scopes hear of one stop, and may start what they like") {
  beck::io_context ctx(context_options());
  int told = 0;
  int posted = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto child = [&](beck::task_group& group) -> beck::task<> {
      auto token = co_await this_coro::stop_token;
      const beck::stop_callback on_stop(token, [&] {
        ++told;
        group.stop();
        beck::post(ctx, [&] { ++posted; });
      });
      beck::steady_timer timer(ctx, 24h);
      beck::ignore(co_await timer.async_wait());
    };
    const auto body = [&](beck::task_group& group) -> beck::task<> {
      for (int i = 0; i < 5; ++i) group.spawn(child(group));
      co_await beck::test::pause(ctx, 1ms);
      group.stop();
    };
    co_await beck::task_group::run(body);
  });
  CHECK(told == 5);
  CHECK(posted == 5);
}
