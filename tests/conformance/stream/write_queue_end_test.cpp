// SPDX-License-Identifier: BSL-1.0
//
// How a write_queue ends: errors, cancel(), close(), destruction of queue, stream and context. What
// was sent is told exactly.
#include <beck/io/write_queue.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <beck/run/work_guard.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::kernel;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::scaled;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

constexpr std::size_t much = 4'000'000;  // more than any socket holds

beck::task<std::string> read_to_end(stream_socket& from) {
  std::string text;
  std::vector<char> room(65536);
  for (;;) {
    const auto [ec, n] = co_await from.async_read_some(beck::buffer(room));
    text.append(room.data(), n);
    if (ec) co_return text;
  }
}

beck::task<> let_it_write(beck::io_context& ctx) {
  for (int turn = 0; turn < 20; ++turn) co_await beck::test::pause(ctx, 1ms);
}

// A queue on a strand of a pool, of a stream whose context has a thread of its own.
struct queue_apart {
  beck::thread_pool pool{1};
  beck::any_io_executor home{beck::make_strand(pool.get_executor())};
  beck::io_context ctx{context_options()};
  stream_socket a{ctx, home};
  stream_socket b{ctx};
  std::unique_ptr<beck::write_queue> out;
  std::thread runs;

  queue_apart() {
    connect_pair(a, b);
    out = std::make_unique<beck::write_queue>(a, much);
  }

  // Fills the queue, then runs `work` so many turns later; 0: when the stream takes no more.
  template <class Work>
  void while_it_writes(int turns, Work work) {
    const std::string text = pattern(much);
    auto guard = beck::make_work_guard(ctx);
    auto all = [&]() -> beck::task<> {
      CHECK_FALSE(out->push(beck::buffer(text)));
      runs = std::thread([this] { ctx.run(); });
      co_await beck::post(ctx);
      if (turns == 0) co_await let_it_write(ctx);
      for (int i = 0; i < turns; ++i) co_await beck::post(home);
      co_await work();
    };
    beck::co_spawn(home, all(), beck::detached);
    pool.join();
    guard.reset();
    runs.join();
  }
};

}  // namespace

CONFORMANCE("the error of a write is told by every later call, for good") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a);
  auto work = [&]() -> beck::task<> {
    pair.b.close();
    co_await let_it_write(ctx);
    CHECK_FALSE(out.push(beck::buffer("into the void", 13)));
    CHECK((co_await out.async_drain()).error() == beck::error::broken_pipe);
    CHECK(out.push(beck::buffer("x", 1)) == beck::error::broken_pipe);
    CHECK((co_await out.async_push(beck::buffer("x", 1))).error() == beck::error::broken_pipe);
    CHECK((co_await out.async_drain()).error() == beck::error::broken_pipe);
    CHECK(out.error() == beck::error::broken_pipe);
    CHECK(out.bytes_sent() == 0);
    CHECK(out.size() == 0);
    CHECK(out.memory() == 0);
  };
  run_task(ctx, work);
}

CONFORMANCE("those who wait in a queue get its error, in their order") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, much);
  const std::string text = pattern(much);
  std::string ended;
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out.push(beck::buffer(text)));
    out.async_push(beck::buffer(text), [&](beck::error_code ec) {
      CHECK(ec);
      ended += 'p';
    });
    out.async_drain([&](beck::error_code ec) {
      CHECK(ec);
      ended += 'd';
    });
    co_await let_it_write(ctx);
    CHECK(ended.empty());
    pair.b.close();
    co_await let_it_write(ctx);
  };
  run_task(ctx, work);
  CHECK(ended == "pd");
  CHECK(out.error());
  CHECK(out.memory() == 0);
}

CONFORMANCE("after cancel() and a drain bytes_sent() is exactly what the peer gets") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, much);
  const std::string text = pattern(much);
  std::string received;
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out.push(beck::buffer(text)));
    co_await let_it_write(ctx);
    out.cancel();
    out.cancel();
    CHECK(out.push(beck::buffer("x", 1)) == beck::error::operation_aborted);
    CHECK((co_await out.async_drain()).error() == beck::error::operation_aborted);
    CHECK(out.size() == 0);
    CHECK(out.memory() == 0);
    CHECK(out.bytes_sent() < much);
    pair.a.close();
    received = co_await read_to_end(pair.b);
  };
  run_task(ctx, work);
  CHECK(received.size() == out.bytes_sent());
  CHECK(received == text.substr(0, received.size()));
}

CONFORMANCE("cancel() before anything was written drops everything") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, 100);
  std::string received;
  int ended = 0;
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out.push(beck::buffer("never", 5)));
    const std::string more(100, 'x');
    out.async_push(beck::buffer(more), [&](beck::error_code ec) {
      CHECK(ec == beck::error::operation_aborted);
      ++ended;
    });
    out.async_drain([&](beck::error_code ec) {
      CHECK(ec == beck::error::operation_aborted);
      ++ended;
    });
    out.cancel();
    CHECK(ended == 0);
    co_await let_it_write(ctx);
    CHECK(ended == 2);
    pair.a.close();
    received = co_await read_to_end(pair.b);
  };
  run_task(ctx, work);
  CHECK(received.empty());
  CHECK(out.writes() == 0);
}

CONFORMANCE("closing the stream ends its queue with operation_aborted") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a, much);
  const std::string text = pattern(much);
  std::string received;
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out.push(beck::buffer(text)));
    co_await let_it_write(ctx);
    pair.a.close();
    CHECK((co_await out.async_drain()).error() == beck::error::operation_aborted);
    received = co_await read_to_end(pair.b);
  };
  run_task(ctx, work);
  CHECK(received.size() == out.bytes_sent());
  CHECK(received == text.substr(0, received.size()));
}

CONFORMANCE("a push to a closed stream is told by the next call") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::write_queue out(pair.a);
  auto work = [&]() -> beck::task<> {
    pair.a.close();
    CHECK_FALSE(out.push(beck::buffer("x", 1)));
    CHECK((co_await out.async_drain()).error() == beck::error::bad_descriptor);
    CHECK(out.push(beck::buffer("x", 1)) == beck::error::bad_descriptor);
  };
  run_task(ctx, work);
}

CONFORMANCE("a queue that goes while it writes leaves a prefix, and run() returns") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto out = std::make_unique<beck::write_queue>(pair.a, much);
  const std::string text = pattern(much);
  std::string received;
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out->push(beck::buffer(text)));
    co_await let_it_write(ctx);
    out.reset();
    co_await let_it_write(ctx);
    pair.a.close();
    received = co_await read_to_end(pair.b);
  };
  run_task(ctx, work);
  CHECK(received.size() < much);
  CHECK(received == text.substr(0, received.size()));
}

CONFORMANCE("a queue that goes gives up those who wait in it, un-run") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto out = std::make_unique<beck::write_queue>(pair.a, much);
  const std::string text = pattern(much);
  auto life = std::make_shared<int>(0);
  auto work = [&]() -> beck::task<> {
    CHECK_FALSE(out->push(beck::buffer(text)));
    co_await let_it_write(ctx);
    out->async_push(beck::buffer(text), [life](beck::error_code) { ++*life; });
    out->async_drain([life](beck::error_code) { ++*life; });
    CHECK(life.use_count() == 3);
    out.reset();
    co_await let_it_write(ctx);
  };
  run_task(ctx, work);
  CHECK(*life == 0);
  CHECK(life.use_count() == 1);
}

CONFORMANCE("a context may go before a queue that writes, and before one that is about to") {
  const std::string text = pattern(much);
  std::unique_ptr<beck::write_queue> writes, begins;
  {
    beck::io_context ctx(context_options());
    auto first = std::make_unique<stream_pair>(ctx);
    stream_pair second(ctx);
    writes = std::make_unique<beck::write_queue>(first->a, much);
    begins = std::make_unique<beck::write_queue>(second.a, much);
    CHECK_FALSE(writes->push(beck::buffer(text)));
    ctx.poll();
    CHECK_FALSE(begins->push(beck::buffer(text)));
    writes.reset();
  }
  CHECK(begins->push(beck::buffer(text)) == beck::error::operation_aborted);
  CHECK(begins->memory() == 0);
}

CONFORMANCE("a task that is destroyed with its context takes its queue along") {
  const std::string text = pattern(much);
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    beck::write_queue out(pair.a, much);
    CHECK_FALSE(out.push(beck::buffer(text)));
    beck::ignore(co_await out.async_drain());
    CHECK(false);
  };
  beck::co_spawn(ctx, work(), beck::detached);
  ctx.poll();
}

CONFORMANCE("on a shared context a strand keeps a queue and its writes together") {
  beck::io_context ctx(
      context_options({.backend = beck::test::current_backend() == beck::test::on_uring
                                      ? beck::test::on_epoll
                                      : beck::test::current_backend(),
                       .threads = 2}));
  auto strand = beck::make_strand(ctx);
  stream_socket a(strand), b(ctx);
  connect_pair(a, b);
  beck::write_queue out(a, 50'000);
  std::string received, sent;
  for (int i = 0; i < 5000; ++i) sent += std::to_string(i) + ' ';
  auto producer = [&]() -> beck::task<> {
    for (int i = 0; i < 5000; ++i) {
      const std::string word = std::to_string(i) + ' ';
      CHECK_FALSE((co_await out.async_push(beck::buffer(word))).error());
    }
    CHECK_FALSE((co_await out.async_drain()).error());
    a.close();
  };
  auto consumer = [&]() -> beck::task<> { received = co_await read_to_end(b); };
  beck::co_spawn(strand, producer(), beck::detached);
  beck::co_spawn(ctx, consumer(), beck::detached);
  if (beck::test::current_backend() == beck::test::on_sim) {
    ctx.run();
  } else {
    std::thread other([&] { ctx.run(); });
    ctx.run();
    other.join();
  }
  CHECK(received == sent);
  CHECK(out.bytes_sent() == sent.size());
}

CONFORMANCE_ON(kernel, "cancel() reaches a write of a context that another thread runs") {
  for (int round = 0; round < scaled(100); ++round) {
    queue_apart q;
    q.while_it_writes(round, [&q]() -> beck::task<> {
      q.out->cancel();
      CHECK((co_await q.out->async_drain()).error() == beck::error::operation_aborted);
      CHECK(q.out->bytes_sent() < much);
      CHECK(q.out->memory() == 0);
    });
  }
}

CONFORMANCE_ON(kernel, "a queue that goes ends its write of a context that another thread runs") {
  for (int round = 0; round < scaled(100); ++round) {
    queue_apart q;
    q.while_it_writes(round / 2, [&q, round]() -> beck::task<> {
      if (round % 2 == 1) q.out->cancel();
      q.out.reset();
      co_return;
    });
  }
}
