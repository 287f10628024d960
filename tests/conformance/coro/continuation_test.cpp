// SPDX-License-Identifier: BSL-1.0
//
// Every awaitable serves a waiter that is no coroutine: it is called where a coroutine would be
// resumed, once, with the result in place, and a stop of its scope ends its wait.
#include <array>
#include <beck/coro/channel.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/via.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/thread_pool.hpp>
#include <chrono>
#include <utility>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::stream_pair;

namespace {

/// Waits for one awaitable. Made and started inside a context.
template <class A>
class object : beck::detail::resumable {
 public:
  using result = decltype(std::declval<A&>().await_resume());

  object(beck::io_context& ctx, A awaitable)
      : resumable(&resumed), scope(ctx.get_executor()), awaitable_(std::move(awaitable)) {}

  /// Starts the wait. Returns whether it was over without one.
  bool start() {
    if constexpr (requires { awaitable_.await_ready(); }) {
      if (awaitable_.await_ready()) return true;
    }
    return !beck::detail::suspend_inside(awaitable_, *this, scope);
  }
  decltype(auto) take() { return awaitable_.await_resume(); }

  beck::detail::scope scope;
  int resumptions = 0;

 private:
  static void resumed(resumable& self) { ++static_cast<object&>(self).resumptions; }

  A awaitable_;
};

/// Starts `waiting` inside the context and runs it until there is nothing more to do.
template <class A>
void start_and_run(beck::io_context& ctx, object<A>& waiting) {
  beck::post(ctx, [&] { CHECK_FALSE(waiting.start()); });
  ctx.run();
  ctx.restart();
  CHECK(waiting.resumptions == 1);
}

beck::task<int> task_that_waits(beck::io_context& ctx) {
  co_await beck::post(ctx);
  co_return 7;
}

}  // namespace

CONFORMANCE("an object waits for a read, a timer and an event of another coroutine") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  object read(ctx, pair.b.async_read_some(beck::buffer(space)));
  beck::post(ctx, [&] { CHECK_FALSE(read.start()); });
  beck::post(ctx, [&] { beck::async_write(pair.a, beck::buffer("four", 4), beck::detached); });
  ctx.run();
  ctx.restart();
  CHECK(read.resumptions == 1);
  CHECK(read.take().value() == 4);

  beck::steady_timer timer(ctx, 1ms);
  object pause(ctx, timer.async_wait());
  start_and_run(ctx, pause);
  CHECK_FALSE(pause.take().error());

  beck::channel<int> values(1);
  object receive(ctx, values.async_receive());
  beck::post(ctx, [&] { CHECK_FALSE(receive.start()); });
  beck::post(ctx, [&] { CHECK(values.try_send(9)); });
  ctx.run();
  ctx.restart();
  CHECK(receive.resumptions == 1);
  CHECK(receive.take().value() == 9);
}

CONFORMANCE("an object waits for tasks, which may end at once, and for what is made of them") {
  beck::io_context ctx(context_options());
  object slow(ctx, task_that_waits(ctx));
  start_and_run(ctx, slow);
  CHECK(slow.take() == 7);

  object fast(ctx, []() -> beck::task<int> { co_return 8; }());
  beck::post(ctx, [&] { CHECK(fast.start()); });
  ctx.run();
  ctx.restart();
  CHECK(fast.resumptions == 0);
  CHECK(fast.take() == 8);

  object both(ctx, beck::when_all(task_that_waits(ctx), task_that_waits(ctx)));
  start_and_run(ctx, both);

  object reschedule(ctx, beck::post(ctx, beck::deferred));
  start_and_run(ctx, reschedule);
  reschedule.take();
}

CONFORMANCE_ON(beck::test::kernel, "an object waits for a task on another executor") {
  beck::io_context ctx(context_options());
  beck::thread_pool pool(1);
  object away(ctx,
              [](beck::thread_pool& there) -> beck::task<bool> {
                co_return there.get_executor().running_in_this_thread();
              }(pool)
                                                  .via(pool));
  start_and_run(ctx, away);
  CHECK(away.take());
}

CONFORMANCE("a stop and a time limit end the wait of an object") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 8> space{};
  object read(ctx, pair.b.async_read_some(beck::buffer(space)));
  beck::post(ctx, [&] { CHECK_FALSE(read.start()); });
  beck::post(ctx, [&] { CHECK(read.scope.stop()); });
  ctx.run();
  ctx.restart();
  CHECK(read.resumptions == 1);
  CHECK(read.take().error() == beck::error::operation_aborted);
  CHECK(read.scope.interrupted());

  object late(ctx, pair.b.async_read_some(beck::buffer(space)));
  beck::post(ctx, [&] {
    late.scope.stop();
    CHECK_FALSE(late.start());
  });
  ctx.run();
  ctx.restart();
  CHECK(late.resumptions == 1);
  CHECK(late.take().error() == beck::error::operation_aborted);

  object limited(ctx, beck::timeout(pair.b.async_read_some(beck::buffer(space)), 1ms));
  start_and_run(ctx, limited);
  CHECK(limited.take().error() == beck::error::timeout);
}
