// SPDX-License-Identifier: BSL-1.0
// beck::op: an operation of a user's own, as an object: ready at once, later, through every token,
// and what happens when it throws or is dropped.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/op.hpp>
#include <beck/run/redirect_error.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/handlers.hpp"
#include "support/manual_executor.hpp"
#include "support/stream_pair.hpp"

using beck::test::allocation_fault;
using beck::test::allocations;
using beck::test::allocator_counts;
using beck::test::counting_allocator;
using beck::test::handler_life;
using beck::test::large_tracked;
using beck::test::manual_queue;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;
using beck::test::tracked;

namespace {

// The example of the documentation: a line that is buffered already costs no suspension.
class read_line : public beck::op<read_line, void(beck::error_code, std::size_t)> {
 public:
  read_line(stream_socket& socket, std::string& text) : socket_(&socket), text_(&text) {}

  bool ready() {
    const auto at = text_->find('\n');
    return at != text_->npos && finish(beck::error_code(), at + 1);
  }
  void initiate(handler done) {
    beck::async_read_until(*socket_, beck::dynamic_buffer(*text_), '\n', std::move(done));
  }

 private:
  stream_socket* socket_;
  std::string* text_;
};

// A lock that is handed over in the order of the requests: operations wait in a list of their own.
class fifo_lock {
 public:
  class lock_operation : public beck::op<lock_operation, void()> {
   public:
    explicit lock_operation(fifo_lock& lock) : lock_(&lock) {}
    bool ready() { return !std::exchange(lock_->taken_, true) && finish(); }
    void initiate(handler done) {
      done_.push_back(std::move(done));
      lock_->waiting_.push_back(this);
    }

   private:
    friend class fifo_lock;
    fifo_lock* lock_;
    std::vector<handler> done_;
  };

  lock_operation acquire() { return lock_operation(*this); }
  void unlock() {
    if (waiting_.empty()) {
      taken_ = false;
      return;
    }
    lock_operation* next = waiting_.front();
    waiting_.erase(waiting_.begin());
    next->done_.front()();  // owns the lock from here on
  }

 private:
  bool taken_ = false;
  std::vector<lock_operation*> waiting_;
};

// Calls its handler inside initiate().
class done_inside : public beck::op<done_inside, void(beck::error_code, int)> {
 public:
  explicit done_inside(int n) : n_(n) {}
  void initiate(handler done) { std::move(done)(beck::error_code(), n_); }

 private:
  int n_;
};

class throwing : public beck::op<throwing, void(int)> {
 public:
  enum class where { in_ready, before, with_handler_kept };
  throwing(where place, std::vector<handler>& kept) : place_(place), kept_(&kept) {}
  bool ready() {
    if (place_ == where::in_ready) throw std::runtime_error("ready");
    return false;
  }
  void initiate(handler done) {
    if (place_ == where::with_handler_kept) kept_->push_back(std::move(done));
    throw std::runtime_error("initiate");
  }

 private:
  where place_;
  std::vector<handler>* kept_;
};

// Keeps the handler for the test to call or drop.
class kept : public beck::op<kept, void(int)> {
 public:
  explicit kept(std::vector<handler>& place, beck::any_io_executor executor = {})
      : place_(&place), executor_(std::move(executor)) {}
  void initiate(handler done) { place_->push_back(std::move(done)); }
  beck::any_io_executor get_executor() const { return executor_; }

 private:
  std::vector<handler>* place_;
  beck::any_io_executor executor_;
};

// Waits until somebody calls its handler, or until it is cancelled.
class cancellable : public beck::op<cancellable, void(beck::error_code, int)> {
 public:
  explicit cancellable(cancellable*& place) : place_(&place) {}
  void initiate(handler done) {
    done_ = std::move(done);
    *place_ = this;
  }
  void cancel() noexcept { finish_now(beck::error::operation_aborted, 0); }
  void finish_now(beck::error_code ec, int n) { std::move(done_)(ec, n); }

 private:
  cancellable** place_;
  handler done_;
};

}  // namespace

TEST_CASE("a stop calls cancel() of a waiting operation, and the reason becomes its error") {
  beck::io_context context;
  cancellable* waiting = nullptr;
  run_task(context, [&]() -> beck::task<> {
    const auto late = co_await beck::timeout(cancellable(waiting), std::chrono::milliseconds(1));
    CHECK(late.error() == beck::error::timeout);
    CHECK(*late == 0);
  });
  beck::stop_source source;
  beck::post(context, [&] { beck::post(context, [&] { source.request_stop(); }); });
  run_task(context, [&]() -> beck::task<> {
    const auto stopped = co_await beck::with_stop(source.get_token(), cancellable(waiting));
    CHECK(stopped.error() == beck::error::operation_aborted);
  });
}

TEST_CASE("a cancel() that comes after the handler was called changes nothing") {
  beck::io_context context;
  cancellable* waiting = nullptr;
  beck::stop_source source;
  beck::post(context, [&] {
    beck::post(context, [&] {
      source.request_stop();
      waiting->finish_now({}, 7);
    });
  });
  run_task(context, [&]() -> beck::task<> {
    const auto r = co_await beck::with_stop(source.get_token(), cancellable(waiting));
    CHECK_FALSE(r.error());
    CHECK(*r == 7);
  });
}

TEST_CASE(
    "an operation that is ready does not suspend its coroutine, start anything or need memory") {
  beck::io_context context;
  stream_pair pair(context);
  std::string text = "one\ntwo\n";
  run_task(context, [&]() -> beck::task<> {
    co_await beck::post(context);
    const auto before = context.stats();
    const auto memory = allocations();
    const auto misses = beck::detail::block_misses();
    for (int i = 0; i < 100; ++i) {
      const auto [ec, n] = co_await read_line(pair.b, text);
      CHECK_FALSE(ec);
      CHECK(n == 4);
    }
    CHECK(allocations() == memory);
    CHECK(beck::detail::block_misses() == misses);
    CHECK(context.stats().delivered == before.delivered);
    CHECK(context.stats().inline_completions == before.inline_completions + 100);
  });
}

TEST_CASE("an operation that is not ready waits for what it has initiated") {
  beck::io_context context;
  stream_pair pair(context);
  std::string text;
  run_task(context, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer("three\n", 6)));
    const auto [ec, n] = co_await read_line(pair.b, text);
    CHECK_FALSE(ec);
    CHECK(n == 6);
  });
  CHECK(text == "three\n");
}

TEST_CASE("a loop around an operation that is always ready lets others run (K4)") {
  beck::io_context context;
  stream_pair pair(context);
  std::string text = "line\n";
  bool stop = false;
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        while (!stop) beck::ignore(co_await read_line(pair.b, text));
      },
      beck::detached);
  beck::co_spawn(
      context,
      [&]() -> beck::task<> {
        while (!stop) beck::ignore(co_await done_inside(1));
      },
      beck::detached);
  beck::post(context, [&] { stop = true; });
  context.run();
  CHECK(stop);
  CHECK(context.stats().budget_stops != 0);
}

TEST_CASE("an operation takes every token") {
  beck::io_context context;
  stream_pair pair(context);
  std::string text = "one\n";
  manual_queue queue;
  run_task(context, [&]() -> beck::task<> {
    const auto [ec, n] = co_await read_line(pair.b, text)(beck::deferred);
    CHECK(n == 4);
    const std::size_t m = co_await read_line(pair.b, text)(beck::use_awaitable);
    CHECK(m == 4);
    const auto [ec2, k] = co_await read_line(pair.b, text)(beck::as_tuple);
    CHECK(k == 4);
    beck::error_code redirected = beck::error::eof;
    const std::size_t l = co_await read_line(pair.b, text)(beck::redirect_error(redirected));
    CHECK(l == 4);
    CHECK_FALSE(redirected);
    const auto bound = co_await read_line(pair.b, text)(beck::bind_executor(context));
    CHECK(*bound == 4);
  });
  run_task(context, [&]() -> beck::awaitable<> {
    const std::size_t n = co_await read_line(pair.b, text);
    CHECK(n == 4);
  });
  int calls = 0;
  read_line(pair.b, text)(
      beck::bind_executor(queue.executor(), [&](beck::error_code, std::size_t) { ++calls; }));
  CHECK(calls == 0);
  queue.run();
  CHECK(calls == 1);
  beck::post(context, [&] { read_line(pair.b, text)(beck::detached); });
  context.run();
}

TEST_CASE("a callback never runs inside the call that starts its operation") {
  beck::io_context context;
  stream_pair pair(context);
  std::string text = "one\n";
  handler_life life;
  beck::post(context, [&] {
    read_line(pair.b, text)(tracked(life, [](beck::error_code, std::size_t n) { CHECK(n == 4); }));
    done_inside(3)(tracked(life, [](beck::error_code, int n) { CHECK(n == 3); }));
    CHECK(life.calls == 0);
  });
  context.run();
  CHECK(life.calls == 2);
  CHECK(life.live == 0);
}

TEST_CASE("a callback with an immediate executor runs inside the call if the operation is ready") {
  beck::io_context context;
  stream_pair pair(context);
  std::string text = "one\n";
  std::string order;
  beck::post(context, [&] {
    read_line(pair.b, text)(beck::bind_immediate_executor(
        context, [&](beck::error_code, std::size_t) { order += 'r'; }));
    order += '-';
    done_inside(3)(
        beck::bind_immediate_executor(context, [&](beck::error_code, int) { order += 'd'; }));
    order += '-';
  });
  context.run();
  CHECK(order == "r-d-");
}

TEST_CASE("calling the handler of a waiting operation never runs what waits inside the call") {
  beck::io_context context;
  fifo_lock lock;
  std::string order;
  const auto critical = [&](char name) -> beck::task<> {
    co_await lock.acquire();
    order += name;
    co_await beck::post(context);
    order += name;
    lock.unlock();
    order += '.';
  };
  for (const char name : {'a', 'b', 'c'}) beck::co_spawn(context, critical(name), beck::detached);
  lock.acquire()(beck::bind_executor(context, [&] {
    order += 'd';
    lock.unlock();
  }));
  context.run();
  CHECK(order == "daa.bb.cc.");
}

TEST_CASE("operations that still wait when their context goes are destroyed with it") {
  fifo_lock lock;
  auto witness = std::make_shared<int>(0);
  {
    beck::io_context context;
    run_task(context, [&]() -> beck::task<> { co_await lock.acquire(); });
    beck::co_spawn(
        context, [&, witness]() -> beck::task<> { co_await lock.acquire(); }, beck::detached);
    context.poll();
    CHECK(witness.use_count() == 2);
  }
  CHECK(witness.use_count() == 1);
}

TEST_CASE(
    "an exception of ready() or initiate() goes to the one who starts, and nothing stays (K9)") {
  beck::io_context context;
  for (const auto where :
       {throwing::where::in_ready, throwing::where::before, throwing::where::with_handler_kept}) {
    std::vector<throwing::handler> handlers;
    handler_life life;
    bool caught = false;
    run_task(context, [&]() -> beck::task<> {
      try {
        co_await throwing(where, handlers);
      } catch (const std::runtime_error&) {
        caught = true;
      }
    });
    CHECK(caught);
    CHECK_THROWS_AS(
        throwing(where, handlers)(beck::bind_executor(context, tracked(life, [](int) {}))),
        std::runtime_error);
    CHECK(life.calls == 0);
    CHECK(life.live == 0);
    for (auto& handler : handlers) std::move(handler)(1);  // nobody is there any more
    CHECK(context.run() == 0);
    context.restart();
  }
}

TEST_CASE(
    "without memory for its block an operation is an exception, and its handler is destroyed "
    "(K9)") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context context;
  std::vector<kept::handler> handlers;
  handler_life life;
  handlers.reserve(4);
  {
    const allocation_fault fault(1);
    CHECK_THROWS_AS(kept(handlers, context.get_executor())(large_tracked(life, [](int) {})),
                    std::bad_alloc);
  }
  CHECK(handlers.empty());
  CHECK(life.live == 0);
  kept(handlers, context.get_executor())(large_tracked(life, [](int) {}));
  {
    const allocation_fault fault(1);
    std::move(handlers.back())(1);  // completing never allocates
    context.run();
    CHECK_FALSE(fault.fired());
  }
  CHECK(life.calls == 1);
  CHECK(life.live == 0);
}

TEST_CASE(
    "an operation without a handler's executor completes on its own, and counts as work there") {
  manual_queue queue;
  std::vector<kept::handler> handlers;
  handler_life life;
  kept(handlers, queue.executor())(tracked(life, [](int n) { CHECK(n == 5); }));
  CHECK(queue.work() == 1);
  CHECK(handlers.back().get_executor() == beck::any_io_executor(queue.executor()));
  std::move(handlers.back())(5);
  CHECK(life.calls == 0);
  CHECK(queue.run() == 1);
  CHECK(life.calls == 1);
  CHECK(queue.work() == 0);
}

TEST_CASE("a dropped handler destroys what waits un-run and ends its work") {
  manual_queue queue;
  std::vector<kept::handler> handlers;
  handler_life life;
  kept(handlers, queue.executor())(tracked(life, [](int) {}));
  CHECK(life.live == 1);
  handlers.clear();
  CHECK(life.live == 0);
  CHECK(life.calls == 0);
  CHECK(queue.work() == 0);
}

TEST_CASE(
    "the block of an operation comes from its handler's allocator and is free before the call") {
  beck::io_context context;
  std::vector<kept::handler> handlers;
  allocator_counts counts;
  bool free_before_the_call = false;
  kept(handlers, context.get_executor())(beck::bind_allocator(
      counting_allocator<>(counts), [&](int) { free_before_the_call = counts.live == 0; }));
  CHECK(counts.live == 1);
  std::move(handlers.back())(1);
  context.run();
  CHECK(free_before_the_call);
}
