// SPDX-License-Identifier: BSL-1.0
//
// The end of a context (U20): with work in every kind and state, from any place, nothing runs any
// more, and everything is freed once. Leaks and double frees are the sanitizers' to find; here the
// handlers are counted.
#include <array>
#include <beck/io/read_until.hpp>
#include <beck/net/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::ip::tcp;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

// Counts the handlers that exist, and fails if one is called.
class lives {
 public:
  class handler {
   public:
    explicit handler(std::shared_ptr<int> token) : token_(std::move(token)) {}
    template <class... Args>
    void operator()(Args&&...) const {
      FAIL("a handler ran although its context was destroyed");
    }

   private:
    std::shared_ptr<int> token_;
  };

  handler make() const { return handler(token_); }
  long count() const { return token_.use_count() - 1; }

 private:
  std::shared_ptr<int> token_ = std::make_shared<int>(0);
};

// One operation of each kind, none of which can complete; gives how many.
struct pending_kinds {
  explicit pending_kinds(beck::io_context& ctx)
      : buffers{beck::buffer(space[2]), beck::buffer(space[3])},
        reading(ctx),
        waiting(ctx),
        full(ctx),
        acceptor(ctx, tcp::endpoint(tcp::v4(), 0)),
        timer(ctx, 1h),
        idle(ctx) {}

  int start(const lives& live) {
    reading.a.async_read_some(beck::buffer(space[0]), live.make());
    reading.a.async_read_some(beck::buffer(space[1]), live.make());  // waits behind the first
    reading.b.async_read_some(buffers, live.make());
    waiting.a.async_wait(stream_socket::wait_read, live.make());
    waiting.a.async_wait(stream_socket::wait_error, live.make());
    beck::async_write(full.a, beck::buffer(large), live.make());
    full.a.async_wait(stream_socket::wait_write, live.make());  // waits behind the write
    beck::async_read(full.a, beck::buffer(space[4]), live.make());
    beck::async_read_until(idle.a, beck::dynamic_buffer(text), '\n', live.make());
    beck::async_read(idle.b, buffers, beck::transfer_at_least(3), live.make());
    acceptor.async_accept(live.make());
    timer.async_wait(live.make());
    timer.async_wait(live.make());
    return 13;
  }

  // What the operations use comes first: it must outlive the objects that end them.
  char space[5][64];
  std::array<beck::mutable_buffer, 2> buffers;
  std::string large = std::string(8 << 20, 'x');
  std::string text;
  stream_pair reading, waiting, full;
  tcp::acceptor acceptor;
  beck::steady_timer timer;
  stream_pair idle;
};

}  // namespace

CONFORMANCE("posted functions are destroyed un-run with their context") {
  const lives live;
  {
    beck::io_context ctx(context_options());
    beck::post(ctx, live.make());
    beck::dispatch(ctx, live.make());
    beck::defer(ctx, live.make());
    CHECK(live.count() == 3);
  }
  CHECK(live.count() == 0);
}

CONFORMANCE("operations of every kind that the loop never saw end with their context") {
  const lives live;
  {
    beck::io_context ctx(context_options());
    pending_kinds pending(ctx);
    const int started = pending.start(live);
    CHECK(live.count() == started);
  }
  CHECK(live.count() == 0);
}

CONFORMANCE("operations of every kind that are in flight end with their context") {
  const lives live;
  auto ctx = std::make_unique<beck::io_context>(context_options());
  auto pending = std::make_shared<pending_kinds>(*ctx);
  const int started = pending->start(live);
  CHECK(ctx->run_for(2ms) == 0);
  CHECK(ctx->stats().outstanding == static_cast<std::uint64_t>(started));
  CHECK(live.count() == started);
  beck::post(*ctx, [objects = std::move(pending)] {});
  ctx.reset();  // the objects go while their operations are being ended
  CHECK(live.count() == 0);
}

CONFORMANCE("operations that a handler has just started end with their context") {
  const lives live;
  auto ctx = std::make_unique<beck::io_context>(context_options());
  auto pending = std::make_shared<pending_kinds>(*ctx);
  int started = 0;
  beck::post(*ctx, [&] { started = pending->start(live); });
  CHECK(ctx->run_one() == 1);
  CHECK(live.count() == started);
  beck::post(*ctx, [kept = std::move(pending)] {});
  ctx.reset();
  CHECK(live.count() == 0);
}

CONFORMANCE("operations that have finished but were not delivered end with their context") {
  const lives live;
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    beck::steady_timer timer(ctx);
    beck::post(ctx, [&] {
      pair.a.async_read_some(beck::mutable_buffer(), live.make());  // done at once: in the queue
      pair.a.async_write_some(beck::buffer("x", 1), live.make());
      stream_socket closed(ctx);
      closed.async_read_some(beck::mutable_buffer(), live.make());
      timer.async_wait(live.make());
      timer.cancel();
      ctx.stop();
    });
    CHECK(ctx.run() == 1);
    CHECK(live.count() == 4);
  }
  CHECK(live.count() == 0);
}

CONFORMANCE("operations that were cancelled but not delivered end with their context") {
  const lives live;
  {
    beck::io_context ctx(context_options());
    pending_kinds pending(ctx);
    pending.start(live);
    ctx.run_for(1ms);
    beck::post(ctx, [&] {
      pending.reading.a.cancel();
      pending.full.a.cancel();
      pending.waiting.a.close();
      pending.acceptor.close();
      ctx.stop();
    });
    ctx.restart();
    CHECK(ctx.run() == 1);
  }
  CHECK(live.count() == 0);
}

CONFORMANCE("a handler that is destroyed with its context may destroy objects and post") {
  // What a captured connection does when it goes: its destructor runs while the loop is ending.
  struct connection {
    explicit connection(beck::io_context& c, int& count)
        : ctx(c), ended(count), pair(c), timer(c, 1h) {}
    ~connection() {
      ++ended;
      pair.a.close();
      timer.cancel();
      beck::post(ctx, [] { FAIL("ran in a context that is being destroyed"); });
      pair.b.async_write_some(beck::buffer("x", 1), [](beck::error_code, std::size_t) {
        FAIL("completed in a context that is being destroyed");
      });
    }
    beck::io_context& ctx;
    int& ended;
    stream_pair pair;
    beck::steady_timer timer;
    char space[16];
  };
  int ended = 0;
  {
    beck::io_context ctx(context_options());
    for (int i = 0; i < 3; ++i) {
      auto held = std::make_shared<connection>(ctx, ended);
      held->timer.async_wait([held](beck::error_code) {});
      held->pair.a.async_read_some(beck::buffer(held->space),
                                   [held](beck::error_code, std::size_t) {});
    }
    CHECK(ctx.run_for(1ms) == 0);
    CHECK(ended == 0);
  }
  CHECK(ended == 3);
}

CONFORMANCE("a context that never ran, and one without objects, can be destroyed") {
  { const beck::io_context never_ran(context_options()); }
  beck::io_context ctx(context_options());
  CHECK(ctx.run() == 0);
}

CONFORMANCE("what stop left in the queue is destroyed with the context") {
  const lives live;
  {
    beck::io_context ctx(context_options());
    beck::post(ctx, [&] { ctx.stop(); });
    beck::post(ctx, live.make());
    CHECK(ctx.run() == 1);
    CHECK(live.count() == 1);
  }
  CHECK(live.count() == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a context run by one thread is destroyed by another") {
  const lives live;
  for (int round = 0; round < 20; ++round) {
    auto ctx = std::make_unique<beck::io_context>(context_options());
    auto pending = std::make_shared<pending_kinds>(*ctx);
    std::thread([&] {
      pending->start(live);
      ctx->run_for(1ms);
      beck::post(*ctx, [kept = std::move(pending)] {});
    }).join();  // what it submitted to the kernel is still there
    ctx.reset();
    REQUIRE(live.count() == 0);
  }
}

CONFORMANCE_ON(
    beck::test::kernel,
    "a stop or the end of work from another thread may race with the end of the context") {
  // The last touch of the loop may come after run() has returned because of it.
  using guard_type = beck::executor_work_guard<beck::io_context::executor_type>;
  for (int round = 0; round < 200; ++round) {
    auto ctx = std::make_unique<beck::io_context>(context_options());
    std::optional<guard_type> guard(ctx->get_executor());
    std::thread other;
    if (round % 2 == 0) {
      other = std::thread([&target = *ctx] { target.stop(); });
    } else {
      other = std::thread([own = *std::exchange(guard, std::nullopt)]() mutable { own.reset(); });
    }
    ctx->run();
    guard.reset();
    ctx.reset();
    other.join();
  }
}

CONFORMANCE("a context may go while composed reads wait whose handlers own their socket") {
  for (const int reads : {1, 2}) {
    const auto life = std::make_shared<int>();
    {
      beck::io_context ctx(context_options());
      auto pair = std::make_shared<stream_pair>(ctx);
      const auto lines = std::make_shared<std::array<std::string, 2>>();
      for (int i = 0; i < reads; ++i) {
        beck::async_read_until(
            pair->a, beck::dynamic_buffer((*lines)[static_cast<std::size_t>(i)]), '\n',
            [pair, lines, life](beck::error_code, std::size_t) { FAIL("called"); });
      }
      pair.reset();
      for (int i = 0; i < 5; ++i) ctx.poll();
    }
    CHECK(life.use_count() == 1);
  }
}

CONFORMANCE("a context may go while a composed read waits on a socket of a task") {
  beck::io_context ctx(context_options());
  std::string bytes(100, ' ');
  const auto owner = [&ctx, &bytes]() -> beck::task<> {
    stream_pair pair(ctx);
    beck::async_read(pair.a, beck::buffer(bytes), beck::transfer_at_least(10),
                     [](beck::error_code, std::size_t) { FAIL("called"); });
    beck::steady_timer timer(ctx, 1h);
    beck::ignore(co_await timer.async_wait());
  };
  beck::co_spawn(ctx, owner, beck::detached);
  for (int i = 0; i < 5; ++i) ctx.poll();
}
