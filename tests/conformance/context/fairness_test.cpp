// SPDX-License-Identifier: BSL-1.0
//
// Nobody starves (K4) and the stack stays bounded (K3): coroutines that never have to suspend,
// flooded sockets and endless chains of posts beside a timer and a quiet socket. Gaps are counted
// in steps of the busy side, never in time.
#include <algorithm>
#include <array>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

// What one entry may do inline, times the entries after which the kernel is asked at the latest,
// times two: the side that is kept waiting is seen in the second of two visits.
constexpr unsigned inline_reads_max =
    beck::detail::runner::budget_per_entry / beck::detail::runner::call_weight;
constexpr unsigned gap_max = 2 * 1024 * inline_reads_max;

// The largest number of steps of a busy task during which something else was due.
class gap {
 public:
  void step(bool due) {
    current_ = due ? current_ + 1 : 0;
    largest_ = std::max(largest_, current_);
  }
  unsigned largest() const { return largest_; }

 private:
  unsigned current_ = 0;
  unsigned largest_ = 0;
};

// Runs `busy`, a task that goes on until `over`, beside a timer and a message over a quiet socket;
// gives false if those did not get through.
template <class Busy>
bool others_run_beside(beck::io_context& ctx, bool& over, Busy& busy) {
  stream_pair quiet(ctx);
  bool ticked = false, arrived = false;
  auto tick = [&]() -> beck::task<> {
    beck::steady_timer timer(ctx, 200us);
    beck::ignore(co_await timer.async_wait());
    ticked = true;
    over = arrived;
  };
  auto message = [&]() -> beck::task<> {
    std::array<char, 1> letter{'x'};
    beck::ignore(co_await beck::async_write(quiet.a, beck::buffer(letter)));
    beck::ignore(co_await beck::async_read(quiet.b, beck::buffer(letter)));
    arrived = true;
    over = ticked;
  };
  beck::co_spawn(ctx, busy, beck::detached);
  beck::co_spawn(ctx, tick, beck::detached);
  beck::co_spawn(ctx, message, beck::detached);
  ctx.run();
  return ticked && arrived;
}

beck::task<int> one() { co_return 1; }

}  // namespace

CONFORMANCE("a read finishes without suspension if there are bytes, and counts as inline") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("1234", 4)));
    co_await beck::test::until_available(pair.a, ctx, 4);
    beck::ignore(co_await pair.a.async_wait(stream_socket::wait_read));
    char space[1];
    const auto before = ctx.stats();
    const auto got = co_await pair.a.async_read_some(beck::buffer(space));
    const auto after = ctx.stats();
    CHECK(*got == 1);
    CHECK(after.entries_run == before.entries_run);
    CHECK(after.inline_completions == before.inline_completions + 1);
    CHECK(after.attempts == before.attempts + 1);
  };
  run_task(ctx, work);
}

CONFORMANCE(
    "a coroutine that finds bytes each time goes on without suspension until its budget ends") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  constexpr std::size_t bytes = 1000;
  unsigned reads_in_one_entry = 0;
  auto work = [&]() -> beck::task<> {
    const std::string text = pattern(bytes);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer(text)));
    co_await beck::test::until_available(pair.a, ctx, bytes);
    beck::ignore(co_await pair.a.async_wait(stream_socket::wait_read));
    char space[1];
    unsigned here = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto before = ctx.stats().entries_run;
      beck::ignore(co_await pair.a.async_read_some(beck::buffer(space)));
      here = ctx.stats().entries_run == before ? here + 1 : 0;
      reads_in_one_entry = std::max(reads_in_one_entry, here);
    }
  };
  run_task(ctx, work);
  CHECK(reads_in_one_entry >= 2);
  CHECK(reads_in_one_entry <= inline_reads_max);
  CHECK(ctx.stats().budget_stops >= bytes / inline_reads_max / 2);
}

CONFORMANCE("a flooded socket lets a timer and a second socket through") {
  beck::io_context ctx(context_options());
  stream_pair flooded(ctx), quiet(ctx);
  bool over = false;
  int ticks = 0, messages = 0;
  gap of_timer, of_socket;
  beck::steady_timer timer(ctx, 1ms);
  // What is read is written again at once, so that the socket never runs empty by itself; the
  // bound ends a drain that nothing interrupts.
  auto drain = [&]() -> beck::task<> {
    char space[64];
    const std::string first = pattern(10'000);
    beck::error_code full;
    flooded.b.non_blocking(true);
    flooded.b.write_some(beck::buffer(first), full);
    for (unsigned steps = 0; !over && steps < 4 * gap_max; ++steps) {
      const auto got = co_await flooded.a.async_read_some(beck::buffer(space));
      if (got.error()) co_return;
      flooded.b.write_some(beck::buffer(space, *got), full);
      of_timer.step(beck::steady_now() >= timer.expiry());
      of_socket.step(quiet.a.available() != 0);
    }
  };
  auto tick = [&]() -> beck::task<> {
    for (; ticks < 10; ++ticks) {
      beck::ignore(co_await timer.async_wait());
      timer.expires_after(1ms);
      beck::ignore(co_await beck::async_write(quiet.b, beck::buffer("x", 1)));
    }
  };
  auto read = [&]() -> beck::task<> {
    char space[1];
    for (; messages < 10; ++messages) {
      beck::ignore(co_await quiet.a.async_read_some(beck::buffer(space)));
    }
    over = true;
  };
  beck::co_spawn(ctx, drain, beck::detached);
  beck::co_spawn(ctx, tick, beck::detached);
  beck::co_spawn(ctx, read, beck::detached);
  ctx.run();
  CHECK(ticks == 10);
  CHECK(messages == 10);
  CHECK(of_timer.largest() <= gap_max);
  CHECK(of_socket.largest() <= gap_max);
}

CONFORMANCE("sockets that are ready each time the loop looks let the wait of another one begin") {
  beck::io_context ctx(context_options());
  stream_pair busy(ctx);
  stream_pair quiet(ctx);
  unsigned steps = 0;
  bool over = false;
  auto answer = [&](stream_socket& socket) -> beck::task<> {
    char letter[1] = {'x'};
    while (!over && steps < gap_max) {
      ++steps;
      beck::ignore(co_await socket.async_wait(stream_socket::wait_read));
      socket.read_some(beck::buffer(letter));
      socket.write_some(beck::buffer(letter));
    }
    over = true;
    socket.write_some(beck::buffer(letter));  // wakes the other end
  };
  auto read = [&]() -> beck::task<> {
    std::string space(64 * 1024, '\0');
    while (steps < 100) co_await beck::post(ctx);
    quiet.b.write_some(beck::buffer("y", 1));
    const auto got = co_await quiet.a.async_read_some(beck::buffer(space));
    CHECK(*got == 1);
    over = true;
  };
  busy.b.write_some(beck::buffer("x", 1));
  beck::co_spawn(ctx, answer(busy.a), beck::detached);
  beck::co_spawn(ctx, answer(busy.b), beck::detached);
  beck::co_spawn(ctx, read, beck::detached);
  ctx.run();
  CHECK(steps < gap_max);
}

CONFORMANCE("an endless chain of posts lets a timer and a socket through") {
  beck::io_context ctx(context_options());
  bool over = false;
  struct chain {
    beck::io_context& ctx;
    bool& over;
    void operator()() const {
      if (!over) beck::post(ctx, *this);
    }
  };
  auto busy = [&]() -> beck::task<> {
    beck::post(ctx, chain{ctx, over});
    co_return;
  };
  CHECK(others_run_beside(ctx, over, busy));
}

CONFORMANCE("a coroutine that finds every line in its buffer lets others through") {
  beck::io_context ctx(context_options());
  stream_pair unused(ctx);
  bool over = false;
  auto busy = [&]() -> beck::task<> {
    std::string text = "a line\n";
    std::size_t found = 7;
    while (!over && found == 7) {
      const auto line = co_await beck::async_read_until(unused.a, beck::dynamic_buffer(text), '\n');
      found = *line;
    }
    CHECK(found == 7);
  };
  CHECK(others_run_beside(ctx, over, busy));
  CHECK(ctx.stats().budget_stops > 0);
}

CONFORMANCE("a coroutine that awaits empty reads for ever lets others through") {
  beck::io_context ctx(context_options());
  stream_pair unused(ctx);
  bool over = false;
  auto busy = [&]() -> beck::task<> {
    while (!over) beck::ignore(co_await unused.a.async_read_some(beck::mutable_buffer()));
  };
  CHECK(others_run_beside(ctx, over, busy));
}

CONFORMANCE(
    "a coroutine that awaits empty writes of whole sequences for ever lets others through") {
  beck::io_context ctx(context_options());
  stream_pair unused(ctx);
  bool over = false;
  auto busy = [&]() -> beck::task<> {
    const std::array<beck::const_buffer, 2> nothing{};
    while (!over) beck::ignore(co_await beck::async_write(unused.a, nothing));
  };
  CHECK(others_run_beside(ctx, over, busy));
}

CONFORMANCE("a coroutine whose connects fail at once for ever lets others through") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  bool over = false;
  const auto where_it_is = c.server.local_endpoint();
  auto busy = [&]() -> beck::task<> {
    beck::error_code ec = beck::error::already_connected;
    while (!over && ec == beck::error::already_connected) {
      const auto failed = co_await c.client.async_connect(where_it_is);
      ec = failed.error();
    }
    CHECK(ec == beck::error::already_connected);
  };
  CHECK(others_run_beside(ctx, over, busy));
}

CONFORMANCE("a transfer of megabytes in one operation lets others through") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  bool over = false;
  const std::string text = pattern(1 << 20);
  std::string received(text.size(), '\0');
  auto busy = [&]() -> beck::task<> {
    while (!over) {
      beck::async_write(pair.a, beck::buffer(text), beck::detached);
      const auto got = co_await beck::async_read(pair.b, beck::buffer(received));
      CHECK_FALSE(got.error());
    }
  };
  CHECK(others_run_beside(ctx, over, busy));
  CHECK(received == text);
}

CONFORMANCE("a million awaits of tasks that finish at once need a bounded stack") {
  beck::io_context ctx(context_options());
  const int awaits = beck::test::scaled(1'000'000);
  int sum = 0;
  auto work = [&]() -> beck::task<> {
    for (int i = 0; i < awaits; ++i) sum += co_await one();
  };
  run_task(ctx, work);
  CHECK(sum == awaits);
  CHECK(ctx.stats().depth_max <= beck::detail::runner::depth_max);
}

CONFORMANCE("tasks that await one another to any depth need a bounded stack") {
  beck::io_context ctx(context_options());
  struct nested {
    static beck::task<int> at(int depth) {
      if (depth == 0) co_return 0;
      const int below = co_await at(depth - 1);
      co_return below + 1;
    }
  };
  int depth = 0;
  auto work = [&]() -> beck::task<> { depth = co_await nested::at(100'000); };
  run_task(ctx, work);
  CHECK(depth == 100'000);
  CHECK(ctx.stats().depth_max == beck::detail::runner::depth_max);
}

CONFORMANCE("a million reads that find their byte at once need a bounded stack") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const auto bytes = static_cast<std::size_t>(beck::test::scaled(1'000'000));
  std::size_t read = 0;
  auto writer = [&]() -> beck::task<> {
    const std::string text = pattern(bytes);
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer(text)));
    pair.b.close();
  };
  struct chain {  // each callback starts the next read
    stream_socket& socket;
    std::size_t& read;
    std::array<char, 1> space{};
    void next() {
      socket.async_read_some(beck::buffer(space), [this](beck::error_code ec, std::size_t n) {
        read += n;
        if (!ec) next();
      });
    }
  };
  chain callbacks{pair.a, read};
  callbacks.next();
  beck::co_spawn(ctx, writer, beck::detached);
  ctx.run();
  CHECK(read == bytes);
}
