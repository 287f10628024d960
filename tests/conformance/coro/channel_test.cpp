// SPDX-License-Identifier: BSL-1.0
// Channels between coroutines that do I/O and wait for timers, on every backend.
#include <beck/coro/channel.hpp>
#include <beck/coro/generator.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/tcp.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::buffer;
using beck::channel;
using beck::task;
using beck::ip::tcp;
using beck::test::let_settle;
using beck::test::pause;
using beck::test::run_all;
using beck::test::stream_pair;
namespace error = beck::error;

namespace {

// Reads until the end, and passes on what came.
task<> read_into(beck::test::stream_socket& from, channel<std::string>& to) {
  char data[512];
  while (true) {
    const auto [ec, n] = co_await from.async_read_some(buffer(data));
    if (ec) break;
    const auto sent = co_await to.async_send(std::string(data, n));
    if (!sent) break;
  }
  to.close();
}

task<> write_all(beck::test::stream_socket& to, std::string text) {
  beck::ignore(co_await beck::async_write(to, buffer(text)));
  to.close();
}

task<> collect(channel<std::string>& from, std::string& text) {
  while (true) {
    auto r = co_await from.async_receive();
    if (r.error()) {
      CHECK(r.error() == error::channel_closed);
      co_return;
    }
    text += *r;
  }
}

beck::generator<std::string> lines(int count) {
  for (int i = 0; i < count; ++i) co_yield "line " + std::to_string(i) + "\n";
}

}  // namespace

CONFORMANCE("what is read from a socket goes through a channel whole and in order") {
  for (const std::size_t capacity : {0u, 1u, 16u}) {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    channel<std::string> c(capacity);
    const std::string sent = beck::test::pattern(100000);
    std::string received;
    beck::co_spawn(ctx, write_all(pair.a, sent), beck::detached);
    beck::co_spawn(ctx, read_into(pair.b, c), beck::detached);
    beck::co_spawn(ctx, collect(c, received), beck::detached);
    ctx.run();
    CHECK(received == sent);
  }
}

CONFORMANCE("a slow consumer holds its producer back at the capacity") {
  beck::io_context ctx(context_options());
  channel<int> c(4);
  int produced = 0;
  int consumed = 0;
  const auto produce = [&]() -> task<> {
    for (int i = 0; i < 30; ++i) {
      beck::ignore(co_await c.async_send(i));
      ++produced;
      CHECK(produced - consumed <= 6);  // the capacity, one in each hand
    }
    c.close();
  };
  const auto consume = [&]() -> task<> {
    while (true) {
      const auto r = co_await c.async_receive();
      if (r.error()) co_return;
      ++consumed;
      co_await pause(ctx, 50us);
    }
  };
  beck::co_spawn(ctx, produce(), beck::detached);
  beck::co_spawn(ctx, consume(), beck::detached);
  ctx.run();
  CHECK(consumed == 30);
}

CONFORMANCE("a byte cap bounds what is kept of a stream that nobody reads yet") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  channel<std::string> c(beck::unbounded, 1000, [](const std::string& s) { return s.size(); });
  const std::string sent = beck::test::pattern(20000);
  beck::co_spawn(ctx, write_all(pair.a, sent), beck::detached);
  beck::co_spawn(ctx, read_into(pair.b, c), beck::detached);
  REQUIRE(beck::test::run_until(ctx, [&] { return c.size() != 0; }));
  beck::test::tick(ctx, 2ms);  // room for more, if nothing held it back
  CHECK(c.size() <= 1000);
  std::string received;
  beck::co_spawn(ctx, collect(c, received), beck::detached);
  run_all(ctx);
  CHECK(received == sent);
}

CONFORMANCE("a receive that runs out of time takes nothing from who sends later") {
  beck::io_context ctx(context_options());
  channel<int> c(0);
  const auto receive = [&]() -> task<> {
    const auto late = co_await beck::timeout(c.async_receive(), 1ms);
    CHECK(late.error() == error::timeout);
    const auto r = co_await beck::timeout(c.async_receive(), 1h);
    CHECK_FALSE(r.error());
    CHECK(*r == 7);
  };
  const auto send = [&]() -> task<> {
    co_await pause(ctx, 3ms);
    const auto r = co_await c.async_send(7);
    CHECK_FALSE(r.error());
  };
  beck::co_spawn(ctx, receive(), beck::detached);
  beck::co_spawn(ctx, send(), beck::detached);
  ctx.run();
}

CONFORMANCE("a send that runs out of time was not sent") {
  beck::io_context ctx(context_options());
  channel<std::string> c(1);
  const auto send = [&]() -> task<> {
    beck::ignore(co_await c.async_send("first"));
    const auto late = co_await beck::timeout(c.async_send("late"), 1ms);
    CHECK(late.error() == error::timeout);
  };
  beck::co_spawn(ctx, send(), beck::detached);
  ctx.run();
  auto r = c.try_receive();
  CHECK(*r == "first");
  CHECK(c.try_receive().error() == error::would_block);
}

CONFORMANCE("a value and the time limit in one turn: the value is delivered or still there") {
  beck::io_context ctx(context_options());
  for (int i = 0; i < 10; ++i) {
    channel<int> c(1);
    int received = 0;
    const auto receive = [&]() -> task<> {
      const auto r = co_await beck::timeout(c.async_receive(), 1ms);
      if (!r.error()) received = *r;
    };
    beck::co_spawn(ctx, receive(), beck::detached);
    let_settle(ctx);
    beck::steady_timer timer(ctx, 1ms);
    timer.async_wait([&](beck::error_code) { CHECK(c.try_send(5)); });
    run_all(ctx);
    auto left = c.try_receive();
    CHECK(received + *left == 5);
  }
}

CONFORMANCE("many sockets feed one consumer") {
  beck::io_context ctx(context_options());
  std::deque<stream_pair> pairs;
  channel<std::size_t> c(3);
  int reading = 8;
  std::size_t total = 0;
  const auto read = [&](stream_pair& pair) -> task<> {
    char data[1000];
    while (true) {
      const auto [ec, n] = co_await pair.b.async_read_some(buffer(data));
      if (ec) break;
      beck::ignore(co_await c.async_send(n));
    }
    if (--reading == 0) c.close();
  };
  const auto count = [&]() -> task<> {
    while (true) {
      const auto [ec, n] = co_await c.async_receive();
      if (ec) co_return;
      total += n;
    }
  };
  for (int i = 0; i < 8; ++i) {
    pairs.emplace_back(ctx);
    beck::co_spawn(ctx, write_all(pairs.back().a, std::string(5000, 'x')), beck::detached);
    beck::co_spawn(ctx, read(pairs.back()), beck::detached);
  }
  beck::co_spawn(ctx, count(), beck::detached);
  ctx.run();
  CHECK(total == 40000);
}

CONFORMANCE("several workers share the jobs of one producer, each job once") {
  beck::io_context ctx(context_options());
  channel<int> jobs(2);
  std::vector<int> done;
  int idle_workers = 0;
  const auto work = [&](int pace) -> task<> {
    int mine = 0;
    while (true) {
      const auto r = co_await jobs.async_receive();
      if (r.error()) break;
      ++mine;
      done.push_back(*r);
      co_await pause(ctx, std::chrono::microseconds(100 * pace));
    }
    if (mine == 0) ++idle_workers;
  };
  const auto produce = [&]() -> task<> {
    for (int i = 1; i <= 40; ++i) beck::ignore(co_await jobs.async_send(i));
    jobs.close();
  };
  for (int i = 1; i <= 4; ++i) beck::co_spawn(ctx, work(i), beck::detached);
  beck::co_spawn(ctx, produce(), beck::detached);
  ctx.run();
  CHECK(done.size() == 40);
  CHECK(std::accumulate(done.begin(), done.end(), 0) == 820);
  CHECK(idle_workers == 0);
}

CONFORMANCE("an acceptor hands its sockets to workers through a channel") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, beck::test::loopback_v4());
  channel<std::optional<tcp::socket>> accepted(1);
  int served = 0;
  const auto accept = [&]() -> task<> {
    for (int i = 0; i < 6; ++i) {
      auto r = co_await acceptor.async_accept();
      beck::ignore(co_await accepted.async_send(std::move(r).value()));
    }
    accepted.close();
  };
  const auto work = [&]() -> task<> {
    while (true) {
      auto r = co_await accepted.async_receive();
      if (r.error()) co_return;
      tcp::socket socket = *std::move(r).value();
      beck::ignore(co_await beck::async_write(socket, buffer("hello", 5)));
      ++served;
    }
  };
  const auto connect = [&]() -> task<> {
    tcp::socket socket(ctx);
    beck::ignore(co_await socket.async_connect(acceptor.local_endpoint()));
    char data[5];
    const auto [ec, n] = co_await beck::async_read(socket, buffer(data));
    CHECK_FALSE(ec);
    CHECK(n == 5);
  };
  beck::co_spawn(ctx, accept(), beck::detached);
  for (int i = 0; i < 2; ++i) beck::co_spawn(ctx, work(), beck::detached);
  for (int i = 0; i < 6; ++i) beck::co_spawn(ctx, connect(), beck::detached);
  ctx.run();
  CHECK(served == 6);
}

CONFORMANCE("a read's handler sends without waiting, and says when there was no room") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  channel<char> c(2);
  int refused = 0;
  char byte = 0;
  std::string received;
  const auto on_read = [&](auto& self) -> void {
    pair.b.async_read_some(buffer(&byte, 1), [&](beck::error_code ec, std::size_t) {
      if (ec) return c.close();
      if (!c.try_send(byte)) ++refused;
      self(self);
    });
  };
  on_read(on_read);
  beck::co_spawn(ctx, write_all(pair.a, "abcde"), beck::detached);
  run_all(ctx);
  const auto receive = [&]() -> task<> {
    while (true) {
      const auto r = co_await c.async_receive();
      if (r.error()) co_return;
      received += *r;
    }
  };
  beck::co_spawn(ctx, receive(), beck::detached);
  run_all(ctx);
  CHECK(received == "ab");
  CHECK(refused == 3);
}

CONFORMANCE("handlers pass values back and forth without coroutines") {
  beck::io_context ctx(context_options());
  channel<int> there(0);
  channel<int> back(0);
  int rounds = 0;
  const auto serve = [&](auto& self) -> void {
    there.async_receive([&](beck::error_code ec, int value) {
      if (ec) return back.close();
      back.async_send(value + 1, [&](beck::error_code) { self(self); });
    });
  };
  const auto ask = [&](auto& self, int value) -> void {
    there.async_send(value, [&](beck::error_code) {
      back.async_receive([&](beck::error_code, int answer) {
        if (++rounds == 100) return there.close();
        self(self, answer);
      });
    });
  };
  beck::post(ctx, [&] {
    serve(serve);
    ask(ask, 0);
  });
  ctx.run();
  CHECK(rounds == 100);
  CHECK_FALSE(back.is_open());
}

CONFORMANCE("a timer closes a channel under those who send and receive") {
  beck::io_context ctx(context_options());
  channel<int> full(1);
  channel<int> empty(1);
  int closed = 0;
  CHECK(full.try_send(0));
  const auto send = [&]() -> task<> {
    const auto r = co_await beck::timeout(full.async_send(1), 1h);
    if (r.error() == error::channel_closed) ++closed;
  };
  const auto receive = [&]() -> task<> {
    const auto r = co_await beck::timeout(empty.async_receive(), 1h);
    if (r.error() == error::channel_closed) ++closed;
  };
  for (int i = 0; i < 3; ++i) {
    beck::co_spawn(ctx, send(), beck::detached);
    beck::co_spawn(ctx, receive(), beck::detached);
  }
  beck::steady_timer timer(ctx, 1ms);
  timer.async_wait([&](beck::error_code) {
    full.close();
    empty.close();
    CHECK(closed == 0);
  });
  ctx.run();
  CHECK(closed == 6);
  auto kept = full.try_receive();
  CHECK_FALSE(kept.error());
}

CONFORMANCE("cancel from a timer ends who waits, and the channel works on") {
  beck::io_context ctx(context_options());
  channel<int> c(0);
  std::vector<beck::error_code> ends;
  const auto receive = [&]() -> task<> {
    const auto r = co_await c.async_receive();
    ends.push_back(r.error());
  };
  for (int i = 0; i < 3; ++i) beck::co_spawn(ctx, receive(), beck::detached);
  beck::steady_timer timer(ctx, 1ms);
  timer.async_wait([&](beck::error_code) {
    c.cancel();
    beck::co_spawn(ctx, receive(), beck::detached);
    c.async_send(1, beck::detached);
  });
  ctx.run();
  REQUIRE(ends.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) CHECK(ends[i] == error::operation_aborted);
  CHECK_FALSE(ends[3]);
}

CONFORMANCE("the stop of a pipeline ends its reader, its channel's users and nobody else") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  channel<std::string> c(0);
  beck::stop_source source;
  int ended = 0;
  bool bystander = false;
  const auto read = [&]() -> task<> {
    co_await read_into(pair.b, c);
    ++ended;
  };
  const auto receive = [&]() -> task<> {
    const auto r = co_await c.async_receive();
    CHECK(r.error() == error::operation_aborted);
    ++ended;
  };
  const auto stopped = [&](auto work) -> task<> {
    beck::ignore(co_await beck::with_stop(source.get_token(), work()));
  };
  const auto by = [&]() -> task<> {
    co_await pause(ctx, 2ms);
    bystander = true;
  };
  beck::co_spawn(ctx, stopped(receive), beck::detached);
  beck::co_spawn(ctx, stopped(read), beck::detached);
  beck::co_spawn(ctx, by(), beck::detached);
  let_settle(ctx);
  source.request_stop();
  run_all(ctx);
  CHECK(ended == 2);
  CHECK(bystander);
  CHECK_FALSE(c.is_open());
}

CONFORMANCE("two coroutines that only pass values let I/O and timers go on") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  channel<int> there(0);
  channel<int> back(4);
  bool over = false;
  const auto left = [&]() -> task<> {
    while (!over) {
      beck::ignore(co_await there.async_send(1));
      beck::ignore(co_await back.async_receive());
    }
    there.close();
  };
  const auto right = [&]() -> task<> {
    while (true) {
      const auto r = co_await there.async_receive();
      if (r.error()) co_return;
      beck::ignore(co_await back.async_send(*r));
    }
  };
  const auto read = [&]() -> task<> {
    char byte = 0;
    beck::ignore(co_await beck::async_read(pair.b, buffer(&byte, 1)));
    over = true;
  };
  const auto write = [&]() -> task<> {
    co_await pause(ctx, 1ms);
    beck::ignore(co_await beck::async_write(pair.a, buffer("x", 1)));
  };
  beck::co_spawn(ctx, left(), beck::detached);
  beck::co_spawn(ctx, right(), beck::detached);
  beck::co_spawn(ctx, read(), beck::detached);
  beck::co_spawn(ctx, write(), beck::detached);
  ctx.run();
  CHECK(over);
}

CONFORMANCE("a channel with values and waiters outlives its context") {
  channel<std::shared_ptr<int>> c(1);
  const auto witness = std::make_shared<int>(0);
  {
    beck::io_context ctx(context_options());
    const auto send = [&]() -> task<> {
      beck::ignore(co_await c.async_send(witness));
      beck::ignore(co_await beck::timeout(c.async_send(witness), 1h));
    };
    beck::co_spawn(ctx, send(), beck::detached);
    let_settle(ctx);
    CHECK(witness.use_count() == 3);
  }
  CHECK(witness.use_count() == 2);
  CHECK(c.size() == 1);
  beck::ignore(c.try_receive());
  CHECK(c.try_receive().error() == error::would_block);
  CHECK(witness.use_count() == 1);
}

CONFORMANCE("what a generator yields is written and arrives") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string expected;
  for (auto&& line : lines(200)) expected += line;
  std::string received;
  channel<std::string> c(2);
  const auto write = [&]() -> task<> {
    for (auto&& line : lines(200)) {
      beck::ignore(co_await beck::async_write(pair.a, buffer(line)));
    }
    pair.a.close();
  };
  beck::co_spawn(ctx, write(), beck::detached);
  beck::co_spawn(ctx, read_into(pair.b, c), beck::detached);
  beck::co_spawn(ctx, collect(c, received), beck::detached);
  ctx.run();
  CHECK(received == expected);
}
