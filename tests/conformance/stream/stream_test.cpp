// SPDX-License-Identifier: BSL-1.0
//
// Reading and writing some of a stream: how much, in which order, the end of the stream, empty
// buffers, waiting without transfer. Whole buffers are in stream_whole_test.cpp.
#include <array>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::note;
using beck::test::outcome;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;
using beck::test::tcp_connection;
using beck::test::until_available;

CONFORMANCE("a read gives at least one byte, at most what was sent, and leaves the rest") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string received;
  auto work = [&]() -> beck::task<> {
    const auto sent = co_await beck::async_write(pair.a, beck::buffer("0123456789", 10));
    CHECK(sent.value() == 10);
    std::array<char, 4> small{};
    while (received.size() < 10) {
      const auto [ec, n] = co_await pair.b.async_read_some(beck::buffer(small));
      CHECK_FALSE(ec);
      CHECK(n >= 1);
      CHECK(n <= small.size());
      received.append(small.data(), n);
    }
  };
  run_task(ctx, work);
  CHECK(received == "0123456789");
}

CONFORMANCE("a read with more room than bytes does not wait for more bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::vector<char> room(100'000);
  outcome read;
  pair.b.async_read_some(beck::buffer(room), note(read));
  pair.a.async_write_some(beck::buffer("abc", 3), beck::detached);
  ctx.run();
  CHECK(read.ok());
  CHECK(read.bytes >= 1);
  CHECK(read.bytes <= 3);
  CHECK(room[0] == 'a');
}

CONFORMANCE("an empty read completes at once with 0, whether or not there are bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome single, parts, none;
  const std::array<beck::mutable_buffer, 3> empty_parts{};
  pair.a.async_read_some(beck::mutable_buffer(), note(single));
  pair.a.async_read_some(empty_parts, note(parts));
  pair.a.async_read_some(std::vector<beck::mutable_buffer>(), note(none));
  CHECK(single.calls == 0);
  CHECK(ctx.run() == 3);  // and the read of nothing does not keep run waiting for bytes
  for (const auto* each : {&single, &parts, &none}) {
    CHECK(each->ok());
    CHECK(each->bytes == 0);
  }
  CHECK(ctx.stats().attempts == 0);
}

CONFORMANCE("an empty write completes at once with 0") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome some, whole, parts;
  pair.a.async_write_some(beck::const_buffer(), note(some));
  beck::async_write(pair.a, beck::const_buffer(), note(whole));
  beck::async_write(pair.a, std::vector<beck::const_buffer>(5), note(parts));
  CHECK(ctx.run() == 3);
  for (const auto* each : {&some, &whole, &parts}) {
    CHECK(each->ok());
    CHECK(each->bytes == 0);
  }
  CHECK(ctx.stats().attempts == 0);
}

CONFORMANCE("an empty read gives 0 and not eof at the end of the stream") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    pair.b.close();
    char space[1];
    const auto end = co_await pair.a.async_read_some(beck::buffer(space));
    CHECK(end.error() == beck::error::eof);
    const auto nothing = co_await pair.a.async_read_some(beck::mutable_buffer());
    CHECK_FALSE(nothing.error());
  };
  run_task(ctx, work);
}

CONFORMANCE("the end of the stream is eof, after all bytes, and as often as it is asked for") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::string received;
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer("last", 4)));
    pair.a.close();
    char space[16];
    for (;;) {
      const auto [ec, n] = co_await pair.b.async_read_some(beck::buffer(space));
      if (ec) {
        CHECK(ec == beck::error::eof);
        CHECK(n == 0);
        break;
      }
      received.append(space, n);
    }
    for (int i = 0; i < 3; ++i) {
      const auto again = co_await pair.b.async_read_some(beck::buffer(space));
      CHECK(again.error() == beck::error::eof);
    }
  };
  run_task(ctx, work);
  CHECK(received == "last");
}

CONFORMANCE("after a half-close the peer reads eof, and both can still use the other direction") {
  beck::io_context ctx(context_options());  // S3
  stream_pair pair(ctx);
  std::string answer(5, '\0');
  auto client = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer("ask", 3)));
    pair.a.shutdown(stream_socket::shutdown_send);
    const auto got = co_await beck::async_read(pair.a, beck::buffer(answer));
    CHECK_FALSE(got.error());
    const auto refused = co_await pair.a.async_write_some(beck::buffer("x", 1));
    CHECK(refused.error() == beck::error::broken_pipe);
  };
  auto server = [&]() -> beck::task<> {
    char space[8];
    const auto got = co_await beck::async_read(pair.b, beck::buffer(space));
    CHECK(got.error() == beck::error::eof);
    CHECK(*got == 3);
    const auto sent = co_await beck::async_write(pair.b, beck::buffer("reply", 5));
    CHECK_FALSE(sent.error());
  };
  beck::co_spawn(ctx, client, beck::detached);
  beck::co_spawn(ctx, server, beck::detached);
  ctx.run();
  CHECK(answer == "reply");
}

CONFORMANCE("writing to a peer that is gone gives broken_pipe and raises no signal") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    pair.b.close();
    char space[1];
    beck::ignore(co_await pair.a.async_read_some(beck::buffer(space)));  // the news has arrived
    const auto some = co_await pair.a.async_write_some(beck::buffer("x", 1));
    CHECK(some.error() == beck::error::broken_pipe);
    CHECK(*some == 0);
    const std::array parts{beck::const_buffer("a", 1), beck::const_buffer("b", 1)};
    const auto vector = co_await pair.a.async_write_some(parts);
    CHECK(vector.error() == beck::error::broken_pipe);
  };
  run_task(ctx, work);
  beck::error_code ec;
  CHECK(pair.a.write_some(beck::buffer("x", 1), ec) == 0);
  CHECK(ec == beck::error::broken_pipe);
}

CONFORMANCE("two reads started on one socket get the bytes in the order of their start") {
  // Regression (b): a receive that is started later may overtake one that waits in the kernel.
  beck::io_context ctx(context_options());
  for (int round = 0; round < 50; ++round) {
    stream_pair pair(ctx);
    std::array<char, 2> first{}, second{};
    std::vector<int> order;
    auto work = [&]() -> beck::task<> {
      pair.a.async_read_some(beck::buffer(first, 1), [&](beck::error_code ec, std::size_t) {
        CHECK_FALSE(ec);
        order.push_back(1);
      });
      if (round % 2 == 0) {  // let the first one reach the kernel
        beck::steady_timer pause(ctx, 10us);
        beck::ignore(co_await pause.async_wait());
      }
      pair.a.async_read_some(beck::buffer(second, 1), [&](beck::error_code ec, std::size_t) {
        CHECK_FALSE(ec);
        order.push_back(2);
      });
      beck::ignore(co_await beck::async_write(pair.b, beck::buffer("12", 2)));
    };
    run_task(ctx, work);
    REQUIRE(order == std::vector{1, 2});
    REQUIRE(first[0] == '1');
    REQUIRE(second[0] == '2');
  }
}

CONFORMANCE("reads of every form take their turn: small, large, scattered, whole") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 3> small{}, left{}, right{};
  std::vector<char> large(10'000);
  const std::array parts{beck::buffer(left), beck::buffer(right)};
  std::vector<int> order;
  std::string received;
  const auto take = [&](int who, const char* data) {
    return [&, who, data](beck::error_code ec, std::size_t n) {
      CHECK_FALSE(ec);
      order.push_back(who);
      received.append(data, n);
    };
  };
  beck::async_read(pair.a, beck::buffer(small), take(1, small.data()));
  beck::async_read(pair.a, beck::buffer(large), take(2, large.data()));
  beck::async_read(pair.a, parts, [&](beck::error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    CHECK(n == 6);
    order.push_back(3);
    received.append(left.data(), 3).append(right.data(), 3);
  });
  const std::string text = pattern(3 + 10'000 + 6);
  beck::async_write(pair.b, beck::buffer(text), beck::detached);
  ctx.run();
  CHECK(order == std::vector{1, 2, 3});
  CHECK(received == text);
}

CONFORMANCE("several writes go out in the order of their start") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  constexpr std::size_t writes = 12, bytes = 100'000;  // more than the socket takes at once
  std::vector<std::string> texts;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < writes; ++i) texts.emplace_back(bytes, static_cast<char>('a' + i));
  for (std::size_t i = 0; i < writes; ++i) {
    beck::async_write(pair.a, beck::buffer(texts[i]), [&, i](beck::error_code ec, std::size_t n) {
      CHECK_FALSE(ec);
      CHECK(n == bytes);
      order.push_back(i);
    });
  }
  std::string received(writes * bytes, '\0');
  beck::async_read(pair.b, beck::buffer(received), beck::detached);
  ctx.run();
  REQUIRE(order.size() == writes);
  for (std::size_t i = 0; i < writes; ++i) {
    CHECK(order[i] == i);
    CHECK(received.compare(i * bytes, bytes, texts[i]) == 0);
  }
}

CONFORMANCE("a wait for reading ends when there are bytes and takes none of them") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    for (int round = 0; round < 4; ++round) {
      beck::ignore(co_await beck::async_write(pair.b, beck::buffer("x", 1)));
      const auto ready = co_await pair.a.async_wait(stream_socket::wait_read);
      CHECK_FALSE(ready.error());
      CHECK(pair.a.available() == 1);
      const auto again = co_await pair.a.async_wait(stream_socket::wait_read);
      CHECK_FALSE(again.error());
      char space[4];
      const auto got = co_await pair.a.async_read_some(beck::buffer(space));
      CHECK(*got == 1);
      CHECK(pair.a.available() == 0);
    }
  };
  run_task(ctx, work);
}

CONFORMANCE("a wait for reading does not end before there are bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome waited;
  pair.a.async_wait(stream_socket::wait_read, note(waited));
  ctx.poll();
  CHECK_FALSE(waited.done());
  ctx.run_for(2ms);
  CHECK_FALSE(waited.done());
  beck::async_write(pair.b, beck::buffer("x", 1), beck::detached);
  ctx.run();
  CHECK(waited.ok());
}

CONFORMANCE("waits and reads of one socket take turns in the order of their start") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::vector<int> order;
  std::array<char, 1> first{}, second{};
  pair.a.async_wait(stream_socket::wait_read, [&](beck::error_code) { order.push_back(1); });
  pair.a.async_read_some(beck::buffer(first),
                         [&](beck::error_code, std::size_t) { order.push_back(2); });
  pair.a.async_wait(stream_socket::wait_read, [&](beck::error_code) { order.push_back(3); });
  pair.a.async_read_some(beck::buffer(second),
                         [&](beck::error_code, std::size_t) { order.push_back(4); });
  beck::async_write(pair.b, beck::buffer("ab", 2), beck::detached);
  ctx.run();
  CHECK(order == std::vector{1, 2, 3, 4});
  CHECK(first[0] == 'a');
  CHECK(second[0] == 'b');
}

CONFORMANCE("a wait for reading ends at the end of the stream") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome waited;
  pair.a.async_wait(stream_socket::wait_read, note(waited));
  beck::post(ctx, [&] { pair.b.close(); });
  ctx.run();
  CHECK(waited.ok());
  beck::error_code ec;
  char space[1];
  CHECK(pair.a.read_some(beck::buffer(space), ec) == 0);
  CHECK(ec == beck::error::eof);
}

CONFORMANCE("a wait for writing ends at once if there is room, else when the peer has read") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::size_t filled = 0;
  bool writable = false;
  auto writer = [&]() -> beck::task<> {
    const auto idle = co_await pair.a.async_wait(stream_socket::wait_write);
    CHECK_FALSE(idle.error());
    filled = beck::test::fill(pair.a);
    const auto full = co_await pair.a.async_wait(stream_socket::wait_write);
    CHECK_FALSE(full.error());
    writable = true;
  };
  beck::co_spawn(ctx, writer, beck::detached);
  while (filled == 0) REQUIRE(ctx.run_one() == 1);
  ctx.run_for(2ms);
  CHECK_FALSE(writable);
  std::string received(filled, '\0');
  beck::async_read(pair.b, beck::buffer(received), beck::detached);
  ctx.run();
  CHECK(writable);
}

CONFORMANCE("a callback never runs inside the function that started its operation") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  int ran = 0;
  bool inside = false;
  const auto check = [&](beck::error_code, std::size_t = 0) {
    CHECK_FALSE(inside);
    ++ran;
  };
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.b, beck::buffer("1234567", 7)));
    co_await until_available(pair.a, ctx, 7);
    beck::ignore(co_await pair.a.async_wait(stream_socket::wait_read));
    static char space[4];
    static std::string text = "x\n";
    const std::array parts{beck::buffer(space, 1), beck::buffer(space + 1, 1)};
    inside = true;  // all of these can finish at once
    pair.a.async_read_some(beck::buffer(space, 1), check);
    pair.a.async_read_some(parts, check);
    pair.a.async_write_some(beck::buffer("x", 1), check);
    beck::async_write(pair.a, beck::buffer("x", 1), check);
    beck::async_read(pair.a, beck::buffer(space, 2), check);
    beck::async_read_until(pair.a, beck::dynamic_buffer(text), '\n', check);
    pair.a.async_wait(stream_socket::wait_read, check);
    pair.a.async_wait(stream_socket::wait_write, check);
    beck::steady_timer(ctx).async_wait(check);
    inside = false;
  };
  run_task(ctx, work);
  CHECK(ran == 9);
}

CONFORMANCE("both directions of a socket work at the same time") {
  beck::io_context ctx(context_options());
  tcp_connection connection(ctx);
  const std::string up = pattern(300'000), down = pattern(400'001);
  std::string at_server(up.size(), '\0'), at_client(down.size(), '\0');
  outcome outcomes[4];
  beck::async_write(connection.client, beck::buffer(up), note(outcomes[0]));
  beck::async_write(connection.server, beck::buffer(down), note(outcomes[1]));
  beck::async_read(connection.client, beck::buffer(at_client), note(outcomes[2]));
  beck::async_read(connection.server, beck::buffer(at_server), note(outcomes[3]));
  ctx.run();
  for (const auto& each : outcomes) CHECK(each.ok());
  CHECK(at_server == up);
  CHECK(at_client == down);
}

CONFORMANCE("an idle socket whose peer is gone makes the loop spin neither waiting nor reading") {
  beck::io_context ctx(context_options());  // S4
  stream_pair gone(ctx), other(ctx);
  char space[1];
  outcome first;
  gone.a.async_read_some(beck::buffer(space), note(first));  // so that it is watched
  beck::post(ctx, [&] { gone.b.close(); });
  ctx.run();
  ctx.restart();
  CHECK(first.ended_with(beck::error::eof));
  const auto before = ctx.stats();
  other.a.async_read_some(beck::buffer(space), beck::detached);
  ctx.run_for(3ms);
  const auto after = ctx.stats();
  // A loop that spins makes thousands of turns in this time; a busy machine makes a few.
  CHECK(after.iterations - before.iterations <= 100);
  CHECK(after.completions - before.completions <= 10);
}

CONFORMANCE(
    "a wait for reading behind reads that filled their buffers sleeps until there is data") {
  const std::vector<char> sent(8192, 'x');
  // The number of reads decides what the library guesses of the next one when the wait starts.
  for (int rounds = 1; rounds <= 6; ++rounds) {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    bool waited = false;
    auto reader = [&]() -> beck::task<> {
      std::vector<char> room(sent.size());
      for (int i = 0; i < rounds; ++i) {
        const auto whole = co_await beck::async_read(pair.b, beck::buffer(room));
        CHECK(whole.error() == beck::error_code());
        const auto answered = co_await beck::async_write(pair.b, beck::buffer("k", 1));
        CHECK(answered.error() == beck::error_code());
      }
      const auto ready = co_await pair.b.async_wait(stream_socket::wait_read);
      CHECK(ready.error() == beck::error_code());
      waited = true;
    };
    auto writer = [&]() -> beck::task<> {
      for (int i = 0; i < rounds; ++i) {
        beck::steady_timer pause(ctx, 1ms);  // lets the read wait for its event
        const auto paused = co_await pause.async_wait();
        CHECK(paused.error() == beck::error_code());
        const auto whole = co_await beck::async_write(pair.a, beck::buffer(sent));
        CHECK(whole.error() == beck::error_code());
        char answer = 0;
        const auto got = co_await beck::async_read(pair.a, beck::buffer(&answer, 1));
        CHECK(got.error() == beck::error_code());
      }
      beck::steady_timer pause(ctx, 1ms);
      const auto paused = co_await pause.async_wait();
      CHECK(paused.error() == beck::error_code());
      const auto last = co_await beck::async_write(pair.a, beck::buffer("!", 1));
      CHECK(last.error() == beck::error_code());
    };
    beck::co_spawn(ctx, reader, beck::detached);
    beck::co_spawn(ctx, writer, beck::detached);
    ctx.run_for(5s);
    CHECK(waited);
    CHECK(ctx.stats().entries_run < 500);  // it waits for an event; it is not queued over and over
  }
}
