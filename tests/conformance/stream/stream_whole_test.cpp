// SPDX-License-Identifier: BSL-1.0
//
// Whole buffers: async_read and async_write with their conditions, sequences of buffers, large
// transfers that the system cuts where it likes (S10, U10), and the synchronous forms.
#include <algorithm>
#include <array>
#include <beck/io/read_write.hpp>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/scale.hpp"
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

namespace {

// The bytes of `text` as parts of the given sizes, and one part with the rest.
template <class Buffer, class Text>
std::vector<Buffer> parts_of(Text& text, const std::vector<std::size_t>& sizes) {
  std::vector<Buffer> parts;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    parts.emplace_back(text.data() + at, size);
    at += size;
  }
  parts.emplace_back(text.data() + at, text.size() - at);
  return parts;
}

// Sends `total` bytes in writes of `chunk`, so that a position tells what byte is there.
template <class Socket>
beck::task<> send_counted(Socket& socket, std::size_t total, std::size_t chunk) {
  const std::string text = pattern(91 * 1000 + chunk);
  for (std::size_t sent = 0; sent < total;) {
    const std::size_t bytes = std::min(chunk, total - sent);
    const auto [ec, n] = co_await beck::async_write(socket, beck::buffer(&text[sent % 91], bytes));
    CHECK_FALSE(ec);
    if (n != bytes) co_return;
    sent += n;
  }
  socket.shutdown(stream_socket::shutdown_send);
}

// Receives until the end in reads of `chunk`; gives how many bytes were right.
template <class Socket>
beck::task<> receive_counted(Socket& socket, std::size_t chunk, std::size_t& right) {
  std::vector<char> space(chunk);
  for (std::size_t at = 0;;) {
    const auto [ec, n] = co_await socket.async_read_some(beck::buffer(space));
    if (ec) {
      CHECK(ec == beck::error::eof);
      co_return;
    }
    for (std::size_t i = 0; i < n; ++i, ++at) {
      if (space[i] == static_cast<char>('!' + at % 91)) ++right;
    }
  }
}

}  // namespace

CONFORMANCE("twenty megabytes arrive unchanged through buffers of 64 bytes to 64 KiB") {
  beck::io_context ctx(context_options());
  for (const std::size_t chunk : {64u, 1000u, 4096u, 65536u}) {
    stream_pair pair(ctx);
    const std::size_t total = static_cast<std::size_t>(beck::test::scaled(5'000'000)) + 13;
    std::size_t right = 0;
    beck::co_spawn(ctx, send_counted(pair.a, total, chunk), beck::detached);
    beck::co_spawn(ctx, receive_counted(pair.b, chunk, right), beck::detached);
    ctx.run();
    ctx.restart();
    CHECK(right == total);
  }
}

CONFORMANCE("a single write of megabytes goes out in as many pieces as it takes") {
  beck::io_context ctx(context_options());  // U10, S10
  tcp_connection connection(ctx);
  connection.client.set_option(beck::ip::tcp::socket::send_buffer_size(8192));
  const std::string text = pattern(static_cast<std::size_t>(beck::test::scaled(600'000)) + 7);
  outcome sent;
  const note noted(sent);
  std::size_t right = 0;
  beck::async_write(connection.client, beck::buffer(text), [&](beck::error_code ec, std::size_t n) {
    noted(ec, n);
    connection.client.shutdown(stream_socket::shutdown_send);
  });
  beck::co_spawn(ctx, receive_counted(connection.server, 10'000, right), beck::detached);
  ctx.run();
  CHECK(sent.ok());
  CHECK(sent.bytes == text.size());
  CHECK(right == text.size());
}

CONFORMANCE("a write that fails in the middle reports what went before") {
  beck::io_context ctx(context_options());  // U10
  stream_pair pair(ctx);
  const std::string text = pattern(8'000'000);
  outcome sent;
  std::size_t received = 0;
  beck::async_write(pair.a, beck::buffer(text), note(sent));
  auto reader = [&]() -> beck::task<> {
    std::vector<char> space(50'000);
    const auto got = co_await beck::async_read(pair.b, beck::buffer(space));
    received = *got;
    pair.b.close();
  };
  run_task(ctx, reader);
  CHECK(sent.calls == 1);
  CHECK((sent.ec == beck::error::broken_pipe || sent.ec == beck::error::connection_reset));
  CHECK(sent.bytes >= received);
  CHECK(sent.bytes < text.size());
}

CONFORMANCE("async_read waits until its buffer is full, however the bytes come") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const std::string text = pattern(1000);
  std::string received(1000, '\0');
  outcome read;
  beck::async_read(pair.b, beck::buffer(received), note(read));
  auto writer = [&]() -> beck::task<> {
    for (std::size_t at = 0; at < text.size(); at += 100) {
      beck::ignore(co_await beck::async_write(pair.a, beck::buffer(&text[at], 100)));
      CHECK(read.done() == false);
      beck::steady_timer pause(ctx, 10us);
      beck::ignore(co_await pause.async_wait());
    }
  };
  run_task(ctx, writer);
  CHECK(read.ok());
  CHECK(read.bytes == 1000);
  CHECK(received == text);
}

CONFORMANCE("async_read at the end of the stream gives eof and what came before") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 16> space{}, left{}, right{};
  outcome whole, scattered;
  beck::async_write(pair.a, beck::buffer("abc", 3),
                    [&](beck::error_code, std::size_t) { pair.a.close(); });
  beck::async_read(pair.b, beck::buffer(space), note(whole));
  const std::array parts{beck::buffer(left), beck::buffer(right)};
  beck::async_read(pair.b, parts, note(scattered));
  ctx.run();
  CHECK(whole.ended_with(beck::error::eof));
  CHECK(whole.bytes == 3);
  CHECK(std::string(space.data(), 3) == "abc");
  CHECK(scattered.ended_with(beck::error::eof));
  CHECK(scattered.bytes == 0);
}

CONFORMANCE("a read of parts fills each before the next, and leaves out the empty ones") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const std::string text = pattern(60);
  auto work = [&]() -> beck::task<> {
    for (const std::vector<std::size_t>& sizes :
         std::vector<std::vector<std::size_t>>{{}, {0}, {1}, {7, 0, 0, 5, 1}, {0, 0, 60}}) {
      std::string received(60, '\0');
      const auto parts = parts_of<beck::mutable_buffer>(received, sizes);
      beck::ignore(co_await beck::async_write(pair.a, beck::buffer(text)));
      const auto got = co_await beck::async_read(pair.b, parts);
      CHECK_FALSE(got.error());
      CHECK(*got == 60);
      CHECK(received == text);
    }
  };
  run_task(ctx, work);
}

CONFORMANCE("sequences of one to forty parts go and come whole") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    for (std::size_t count = 1; count <= 40; ++count) {
      const std::string text = pattern(count * 11);
      const std::vector<std::size_t> sizes(count - 1, 11);
      std::string received(text.size(), '\0');
      const auto from = parts_of<beck::const_buffer>(text, sizes);
      const auto to = parts_of<beck::mutable_buffer>(received, sizes);
      const auto sent = co_await beck::async_write(pair.a, from);
      CHECK_FALSE(sent.error());
      CHECK(*sent == text.size());
      const auto got = co_await beck::async_read(pair.b, to);
      CHECK_FALSE(got.error());
      CHECK(*got == text.size());
      CHECK(received == text);
    }
  };
  run_task(ctx, work);
}

CONFORMANCE("one scattered read and one gathered write move at least a byte, of forty parts too") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  auto work = [&]() -> beck::task<> {
    const std::string text = pattern(40);
    const auto from = parts_of<beck::const_buffer>(text, std::vector<std::size_t>(39, 1));
    const auto [ec, sent] = co_await pair.a.async_write_some(from);
    CHECK_FALSE(ec);
    CHECK(sent >= 1);
    CHECK(sent <= 40);
    std::string received(40, '\0');
    const auto to = parts_of<beck::mutable_buffer>(received, std::vector<std::size_t>(39, 1));
    const auto [read_ec, got] = co_await pair.b.async_read_some(to);
    CHECK_FALSE(read_ec);
    CHECK(got >= 1);
    CHECK(got <= sent);
    CHECK(received.compare(0, got, text, 0, got) == 0);
  };
  run_task(ctx, work);
}

CONFORMANCE("scattered reads that are always filled go on as long as the bytes do") {
  // Each fills its parts, so nothing ever says that there are no more bytes; each finds none.
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  int rounds = 0;
  auto ask = [&]() -> beck::task<> {
    std::array<char, 2> left{}, right{};
    const std::array parts{beck::buffer(left), beck::buffer(right)};
    for (; rounds < 200; ++rounds) {
      beck::ignore(co_await beck::async_write(pair.a, beck::buffer("ping", 4)));
      const auto got = co_await beck::async_read(pair.a, parts);
      if (got.error() || *got != 4) break;
    }
    pair.a.close();
  };
  auto answer = [&]() -> beck::task<> {
    std::array<char, 1> left{};
    std::array<char, 3> right{};
    const std::array parts{beck::buffer(left), beck::buffer(right)};
    for (;;) {
      const auto got = co_await beck::async_read(pair.b, parts);
      if (got.error()) co_return;
      beck::ignore(co_await beck::async_write(pair.b, beck::buffer("pong", 4)));
    }
  };
  beck::co_spawn(ctx, ask, beck::detached);
  beck::co_spawn(ctx, answer, beck::detached);
  ctx.run();
  CHECK(rounds == 200);
}

CONFORMANCE("transfer_at_least ends a read with that many bytes or more") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 100> space{};
  auto work = [&]() -> beck::task<> {
    const std::string text = pattern(30);
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer(text)));
    const auto [ec, n] =
        co_await beck::async_read(pair.b, beck::buffer(space), beck::transfer_at_least(20));
    CHECK_FALSE(ec);
    CHECK(n >= 20);
    CHECK(n <= 30);
    const auto [nothing_ec, nothing] =
        co_await beck::async_read(pair.b, beck::buffer(space), beck::transfer_at_least(0));
    CHECK_FALSE(nothing_ec);
    CHECK(nothing == 0);
  };
  run_task(ctx, work);
}

CONFORMANCE("transfer_exactly takes that many bytes and leaves the others") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 100> space{};
  auto work = [&]() -> beck::task<> {
    const std::string text = pattern(30);
    const auto sent =
        co_await beck::async_write(pair.a, beck::buffer(text), beck::transfer_exactly(25));
    CHECK(*sent == 25);
    const auto got =
        co_await beck::async_read(pair.b, beck::buffer(space), beck::transfer_exactly(20));
    CHECK_FALSE(got.error());
    CHECK(*got == 20);
    CHECK(std::string(space.data(), 20) == text.substr(0, 20));
    const auto rest =
        co_await beck::async_read(pair.b, beck::buffer(space), beck::transfer_exactly(5));
    CHECK(*rest == 5);
    CHECK(std::string(space.data(), 5) == text.substr(20, 5));
    CHECK(pair.b.available() == 0);
  };
  run_task(ctx, work);
}

CONFORMANCE("a condition of the user's sees what was moved and says how much more") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::vector<std::size_t> seen;
  std::array<char, 100> space{};
  auto work = [&]() -> beck::task<> {
    const std::string text = pattern(50);
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer(text)));
    co_await until_available(pair.b, ctx, 50);
    auto three_at_a_time = [&](const beck::error_code&, std::size_t moved) -> std::size_t {
      seen.push_back(moved);
      return moved >= 12 ? 0 : 3;
    };
    const auto [ec, n] = co_await beck::async_read(pair.b, beck::buffer(space), three_at_a_time);
    CHECK_FALSE(ec);
    CHECK(n >= 12);
    CHECK(n <= 14);
    CHECK(pair.b.available() == 50 - n);
  };
  run_task(ctx, work);
  REQUIRE(seen.size() >= 2);
  CHECK(seen.front() == 0);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  // Once for each step: a condition may count.
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

CONFORMANCE("a condition is asked after an error too, and cannot hide it") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  beck::error_code seen;
  std::array<char, 8> space{};
  outcome read;
  pair.b.close();
  beck::async_read(
      pair.a, beck::buffer(space),
      [&](const beck::error_code& ec, std::size_t) -> std::size_t {
        if (ec) seen = ec;
        return 8;
      },
      note(read));
  ctx.run();
  CHECK(read.ended_with(beck::error::eof));
  CHECK(seen == beck::error::eof);
}

CONFORMANCE("the synchronous forms read and write, some and whole") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const std::string text = pattern(200);
  CHECK(pair.a.write_some(beck::buffer(text, 10)) == 10);
  CHECK(beck::write(pair.a, beck::buffer(&text[10], 190)) == 190);
  run_task(ctx, until_available(pair.b, ctx, 200));
  std::string received(200, '\0');
  const std::size_t some = pair.b.read_some(beck::buffer(received));
  CHECK(some >= 1);
  const auto parts = parts_of<beck::mutable_buffer>(received, {some, 3, 0, 40});
  const std::vector<beck::mutable_buffer> rest(parts.begin() + 1, parts.end());
  beck::error_code ec;
  CHECK(beck::read(pair.b, rest, ec) == 200 - some);
  CHECK_FALSE(ec);
  CHECK(received == text);
}

CONFORMANCE("a synchronous call that fails throws an io_error that carries the byte count") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  CHECK(beck::write(pair.a, beck::buffer("abc", 3)) == 3);
  pair.a.close();
  run_task(ctx, until_available(pair.b, ctx, 3));
  run_task(ctx, [&]() -> beck::task<> {
    // The end may arrive later than the bytes: an operation waits for both.
    beck::steady_timer timer(ctx, 5ms);
    beck::ignore(co_await timer.async_wait());
  });
  std::array<char, 8> space{};
  try {
    beck::read(pair.b, beck::buffer(space));
    FAIL("read eight bytes of three");
  } catch (const beck::io_error& error) {
    CHECK(error.code() == beck::error::eof);
    CHECK(error.transferred() == 3);
    CHECK(std::string(error.operation()) == "read");
  }
  CHECK_THROWS_AS(pair.b.read_some(beck::buffer(space)), beck::io_error);
}

CONFORMANCE("a non-blocking socket gives would_block where it would wait, asynchronous ones wait") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  CHECK_FALSE(pair.a.non_blocking());
  pair.a.non_blocking(true);
  CHECK(pair.a.non_blocking());
  std::array<char, 4> space{};
  beck::error_code ec;
  CHECK(pair.a.read_some(beck::buffer(space), ec) == 0);
  CHECK(ec == beck::error::would_block);
  pair.a.wait(stream_socket::wait_read, ec);
  CHECK(ec == beck::error::would_block);
  CHECK(beck::test::fill(pair.b) > 0);
  pair.b.non_blocking(true);
  CHECK(pair.b.write_some(beck::buffer("x", 1), ec) == 0);
  CHECK(ec == beck::error::would_block);
  outcome read;
  beck::async_read(pair.a, beck::buffer(space), note(read));
  ctx.run();
  CHECK(read.ok());
}

CONFORMANCE("available tells how many bytes can be read without waiting") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  CHECK(pair.b.available() == 0);
  auto work = [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(pair.a, beck::buffer("12345", 5)));
    co_await until_available(pair.b, ctx, 5);
    CHECK(pair.b.available() == 5);
    char space[2];
    beck::ignore(co_await beck::async_read(pair.b, beck::buffer(space)));
    CHECK(pair.b.available() == 3);
  };
  run_task(ctx, work);
  pair.b.close();
  beck::error_code ec;
  CHECK(pair.b.available(ec) == 0);
  CHECK(ec == beck::error::bad_descriptor);
}

CONFORMANCE("release() ends a whole read, and its slot can be opened at once") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  std::string bytes(100, ' ');
  beck::error_code ended;
  beck::async_read(pair.a, beck::buffer(bytes), beck::transfer_at_least(10),
                   [&](beck::error_code ec, std::size_t) { ended = ec; });
  for (int i = 0; i < 5; ++i) ctx.poll();  // it waits by now
  pair.a.assign(beck::local::stream_protocol(), pair.a.release());
  ctx.restart();
  ctx.run();
  CHECK(ended == beck::error::operation_aborted);
  CHECK(pair.b.write_some(beck::buffer("x", 1)) == 1);
  ctx.restart();
  beck::test::run_task(ctx, beck::test::read_byte(pair.a));
}
