// SPDX-License-Identifier: BSL-1.0
//
// expires_after, expires_at and expires_never: one time limit for everything on a stream.
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/work_guard.hpp>
#include <chrono>
#include <future>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/settle.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::error::operation_aborted;
using beck::test::note;
using beck::test::outcome;
using beck::test::pattern;
using beck::test::run_next;
using beck::test::run_task;
using beck::test::stream_pair;

namespace {
const beck::error_code timed_out = beck::error::timeout;
}

CONFORMANCE("a read ends with timeout when the stream's time has passed, and the bytes stay") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    pair.a.expires_after(1ms);
    auto late = co_await pair.a.async_read_some(beck::buffer(data));
    CHECK(late.error() == beck::error::timeout);
    CHECK(pair.a.is_open());
    pair.a.expires_after(24h);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("abc", 3)));
    auto next = co_await pair.a.async_read_some(beck::buffer(data));
    CHECK_FALSE(next.error());
    CHECK(*next == 3);
    pair.a.expires_never();
  });
}

CONFORMANCE("what is started after the time ends at once, until there is a new limit") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    pair.a.expires_at(beck::steady_now() - 1s);
    co_await beck::test::pause(ctx, 1ms);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("abc", 3)));
    auto read = co_await pair.a.async_read_some(beck::buffer(data));
    CHECK(read.error() == beck::error::timeout);
    auto whole = co_await beck::async_read(pair.a, beck::buffer(data));
    CHECK(whole.error() == beck::error::timeout);
    CHECK(*whole == 0);
    auto written = co_await beck::async_write(pair.a, beck::buffer("x", 1));
    CHECK(written.error() == beck::error::timeout);
    auto readable = co_await pair.a.async_wait(beck::test::stream_socket::wait_read);
    CHECK(readable.error() == beck::error::timeout);
    pair.a.expires_never();
    co_await beck::test::until_available(pair.a, ctx, 3);
    read = co_await pair.a.async_read_some(beck::buffer(data));
    CHECK_FALSE(read.error());
    CHECK(*read == 3);
  });
}

CONFORMANCE("the limit ends everything under way: both directions and those that wait behind") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const std::string text = pattern(8 << 20);
  std::array<outcome, 4> ended;
  char one[4];
  char two[4];
  pair.a.async_read_some(beck::buffer(one), note(ended[0]));
  pair.a.async_read_some(beck::buffer(two), note(ended[1]));
  beck::async_write(pair.a, beck::buffer(text), note(ended[2]));
  pair.a.async_write_some(beck::buffer("x", 1), note(ended[3]));
  pair.a.expires_after(2ms);
  ctx.run();
  for (const outcome& one_of : ended) CHECK(one_of.ended_with(timed_out));
  CHECK(ended[2].bytes < text.size());
  const std::size_t sent = ended[2].bytes;
  pair.a.close();
  run_next(ctx, [&]() -> beck::task<> {
    std::string all(text.size(), ' ');
    auto got = co_await beck::async_read(pair.b, beck::buffer(all));
    CHECK(got.error() == beck::error::eof);
    CHECK(*got == sent);
    CHECK(all.compare(0, sent, text, 0, sent) == 0);
  });
}

CONFORMANCE("composed reads that the stream's limit ends say how much they have") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char first[4];
    char second[4];
    const std::array<beck::mutable_buffer, 2> parts{beck::buffer(first), beck::buffer(second)};
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("abcde", 5)));
    pair.a.expires_after(2ms);
    auto got = co_await beck::async_read(pair.a, parts);
    CHECK(got.error() == beck::error::timeout);
    CHECK(*got == 5);
    pair.a.expires_after(2ms);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("ab", 2)));
    got = co_await beck::async_read(pair.a, beck::buffer(first));
    CHECK(got.error() == beck::error::timeout);
    CHECK(*got == 2);
    std::string line;
    pair.a.expires_after(2ms);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("half", 4)));
    got = co_await beck::async_read_until(pair.a, beck::dynamic_buffer(line), '\n');
    CHECK(got.error() == beck::error::timeout);
    CHECK(line == "half");
  });
}

CONFORMANCE("a new limit replaces the old one, and cancel still says operation_aborted") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome read;
  char data[4];
  pair.a.expires_after(1ms);
  pair.a.expires_after(24h);
  pair.a.async_read_some(beck::buffer(data), note(read));
  run_task(ctx, [&]() -> beck::task<> {
    co_await beck::test::pause(ctx, 5ms);
    CHECK(read.calls == 0);
    pair.a.cancel();
  });
  CHECK(read.aborted());
}

CONFORMANCE("a limit of a stream keeps no run from returning") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  pair.a.expires_after(24h);
  ctx.run();
  CHECK(ctx.stopped());
}

CONFORMANCE("a closed socket takes a limit for its connect; close forgets it") {
  beck::io_context ctx(context_options());
  beck::ip::tcp::acceptor acceptor(ctx, beck::ip::tcp::endpoint(beck::ip::tcp::v4(), 0));
  const beck::ip::tcp::endpoint there(beck::ip::make_address("127.0.0.1"),
                                      acceptor.local_endpoint().port());
  run_task(ctx, [&]() -> beck::task<> {
    beck::ip::tcp::socket socket(ctx);
    socket.expires_at(beck::steady_now() - 1s);
    co_await beck::test::pause(ctx, 1ms);
    auto connected = co_await socket.async_connect(there);
    CHECK(connected.error() == beck::error::timeout);
    socket.close();
    connected = co_await socket.async_connect(there);
    CHECK_FALSE(connected.error());
    socket.expires_after(1ms);
    socket.close();
    auto again = co_await socket.async_connect(there);
    CHECK_FALSE(again.error());
    char data[4];
    auto read = co_await beck::timeout(socket.async_read_some(beck::buffer(data)), 10ms);
    CHECK(read.error() == beck::error::timeout);
    socket.expires_after(24h);  // would throw if the slot were still in the queue
  });
}

CONFORMANCE("a limit goes with the socket that is moved, and not to who takes its slot") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome read;
  char data[4];
  pair.a.expires_after(1ms);
  beck::test::stream_socket moved(std::move(pair.a));
  pair.a.expires_after(1ms);  // a moved-from object
  moved.async_read_some(beck::buffer(data), note(read));
  ctx.run();
  CHECK(read.ended_with(timed_out));
  {
    stream_pair gone(ctx);
    gone.a.expires_after(2ms);
    gone.b.expires_after(2ms);
  }
  stream_pair next(ctx);
  outcome other;
  next.a.async_read_some(beck::buffer(data), note(other));
  beck::test::tick(ctx, 5ms);
  CHECK(other.calls == 0);
  next.a.close();
  beck::test::run_all(ctx);
  CHECK(other.aborted());
}

CONFORMANCE("a context may be destroyed with limits on its streams") {
  outcome read;
  char data[4];
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    pair.a.expires_after(24h);
    pair.a.async_read_some(beck::buffer(data), note(read));
    ctx.poll();
  }
  CHECK(read.calls == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a limit may be set while another thread runs the context") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto guard = beck::make_work_guard(ctx);
  std::thread runner([&] { ctx.run(); });
  char data[4];
  pair.a.expires_after(1ms);
  std::promise<beck::error_code> late;
  pair.a.async_read_some(beck::buffer(data),
                         [&](beck::error_code ec, std::size_t) { late.set_value(ec); });
  CHECK(late.get_future().get() == timed_out);
  guard.reset();
  runner.join();
}

CONFORMANCE("setting and forgetting a limit allocates nothing and arms nothing in the kernel") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::uint64_t allocated = 0;
  beck::context_stats before;
  run_task(ctx, [&]() -> beck::task<> {
    char data[4];
    for (int i = 0; i < 20; ++i) {
      if (i == 10) {
        allocated = beck::test::allocations();
        before = ctx.stats();
      }
      pair.a.expires_after(10s);
      beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
      beck::ignore(co_await pair.a.async_read_some(beck::buffer(data)));
    }
    for (int i = 0; i < 100; ++i) pair.a.expires_after(10s);
  });
  CHECK(ctx.stats().block_misses == before.block_misses);
  if (where != beck::test::on_sim) CHECK(beck::test::allocations() == allocated);
}
