// SPDX-License-Identifier: BSL-1.0
// Closing in every situation: operations end with operation_aborted in their own time, the
// descriptor and its port are free when close returns, the peer sees the end at once, nothing
// reaches the next owner of a number.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::local_connection;
using beck::test::loopback_v4;
using beck::test::note;
using beck::test::outcome;
using beck::test::tcp_connection;
namespace error = beck::error;

namespace {
using stream = beck::local::stream_protocol::socket;
}

CONFORMANCE("closing ends a pending read with operation_aborted, not inside close") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  for (const std::size_t room :
       {1u, 16384u}) {  // on io_uring: in the kernel, and waiting for readiness
    std::vector<char> data(room);
    outcome received;
    local_connection pair(ctx);
    pair.a.async_read_some(buffer(data), note(received));
    beck::test::let_settle(ctx);
    pair.a.close();
    CHECK(received.calls == 0);
    beck::test::run_all(ctx);
    CHECK(received.aborted());
    CHECK(received.bytes == 0);
  }
}

CONFORMANCE("closing ends a pending write with operation_aborted and the bytes that went out") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  const std::vector<char> data(4 << 20, 'w');
  outcome sent;
  async_write(c.a, buffer(data), note(sent));
  beck::test::let_settle(ctx);
  CHECK(sent.calls == 0);
  c.a.close();
  beck::test::run_all(ctx);
  CHECK(sent.aborted());
  CHECK(sent.bytes > 0);
  CHECK(sent.bytes < data.size());
  std::size_t received = 0;
  CHECK(beck::test::drain(ctx, c.b, received) == error::eof);
  CHECK(received == sent.bytes);
}

CONFORMANCE("closing an acceptor ends its pending accepts with operation_aborted") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  int aborted = 0;
  for (int i = 0; i < 3; ++i) {
    acceptor.async_accept([&aborted](const error_code& ec, const tcp::socket& socket) {
      CHECK(ec == error::operation_aborted);
      CHECK_FALSE(socket.is_open());
      ++aborted;
    });
  }
  beck::test::let_settle(ctx);
  acceptor.close();
  CHECK(aborted == 0);
  beck::test::run_all(ctx);
  CHECK(aborted == 3);
}

CONFORMANCE("closing ends pending waits of every kind") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  beck::test::fill(c.a);  // not writable any more
  outcome all[3];
  c.a.async_wait(stream::wait_read, note(all[0]));
  c.a.async_wait(stream::wait_write, note(all[1]));
  c.a.async_wait(stream::wait_error, note(all[2]));
  beck::test::let_settle(ctx);
  for (const outcome& one : all) CHECK(one.calls == 0);
  c.a.close();
  beck::test::run_all(ctx);
  for (const outcome& one : all) CHECK(one.aborted());
}

CONFORMANCE("closing ends a read_until with operation_aborted and keeps what it has read") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::string text;
  outcome line;
  async_read_until(c.a, beck::dynamic_buffer(text), '\n', note(line));
  outcome sent;
  async_write(c.b, buffer("no end", 6), note(sent));
  REQUIRE(beck::test::run_until(ctx, sent));
  beck::test::let_arrive(ctx);
  while (c.a.available() != 0) beck::test::tick(ctx);
  beck::test::let_settle(ctx);
  CHECK(line.calls == 0);
  c.a.close();
  beck::test::run_all(ctx);
  CHECK(line.aborted());
  CHECK(text == "no end");
}

CONFORMANCE("closing ends all queued operations of both directions, in the order of their start") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  beck::test::fill(c.a);
  std::vector<int> reads;
  std::vector<int> writes;
  char byte = 0;
  for (int i = 0; i < 4; ++i) {
    c.a.async_read_some(buffer(&byte, 1), [&reads, i](const error_code& ec, std::size_t) {
      CHECK(ec == error::operation_aborted);
      reads.push_back(i);
    });
    c.a.async_write_some(buffer("y", 1), [&writes, i](const error_code& ec, std::size_t) {
      CHECK(ec == error::operation_aborted);
      writes.push_back(i);
    });
  }
  beck::test::let_settle(ctx);
  c.a.close();
  beck::test::run_all(ctx);
  CHECK(reads == std::vector<int>{0, 1, 2, 3});
  CHECK(writes == std::vector<int>{0, 1, 2, 3});
}

CONFORMANCE("a socket may close itself in its own callback") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  outcome second;
  char bytes[2] = {};
  bool closed = false;
  c.a.async_read_some(buffer(bytes, 1), [&](const error_code& ec, std::size_t) {
    CHECK(!ec);
    c.a.close();
    closed = true;
  });
  c.a.async_read_some(buffer(bytes + 1, 1), note(second));
  outcome sent;
  async_write(c.b, buffer("12", 2), note(sent));
  beck::test::run_all(ctx);
  CHECK(closed);
  CHECK(second.aborted());
  CHECK_FALSE(c.a.is_open());
}

CONFORMANCE("a callback may destroy the socket that it belongs to") {
  beck::io_context ctx(context_options());
  stream peer(ctx);
  auto socket = std::make_unique<stream>(ctx);
  connect_pair(*socket, peer);
  outcome behind;
  char bytes[2] = {};
  socket->async_read_some(buffer(bytes, 1),
                          [&](const error_code&, std::size_t) { socket.reset(); });
  socket->async_read_some(buffer(bytes + 1, 1), note(behind));
  outcome sent;
  async_write(peer, buffer("1", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(socket == nullptr);
  CHECK(behind.aborted());
}

CONFORMANCE("closing one socket in the callback of another whose event came in the same batch") {
  beck::io_context ctx(context_options());
  std::vector<std::unique_ptr<local_connection>> pairs;
  std::vector<outcome> got(8);
  std::vector<char> bytes(8);
  for (std::size_t i = 0; i < 8; ++i) pairs.push_back(std::make_unique<local_connection>(ctx));
  std::size_t first = 8;
  for (std::size_t i = 0; i < 8; ++i) {
    pairs[i]->a.async_read_some(buffer(&bytes[i], 1), [&, i](const error_code& ec, std::size_t n) {
      note{got[i]}(ec, n);
      if (first != 8) return;
      first = i;
      for (std::size_t k = 0; k < 8; ++k) {
        if (k != i) pairs[k]->a.close();
      }
    });
  }
  beck::test::let_settle(ctx);
  for (auto& pair : pairs) {
    pair->b.non_blocking(true);
    CHECK(pair->b.write_some(buffer("!", 1)) == 1);
  }
  beck::test::run_all(ctx);
  REQUIRE(first < 8);
  CHECK(got[first].ok());
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(got[i].calls == 1);
    // Either it had its byte before it was closed, or it was aborted: never both, never neither.
    CHECK((got[i].ec ? got[i].bytes == 0 : got[i].bytes == 1));
    CHECK((!got[i].ec || got[i].ec == error::operation_aborted));
  }
}

CONFORMANCE("the peer reads eof at once although the closed socket had a read pending") {
  beck::io_context ctx(context_options());
  for (const std::size_t room : {64u, 65536u}) {
    tcp_connection c(ctx);
    std::vector<char> data(room);
    outcome pending;
    c.server.async_read_some(buffer(data), note(pending));
    beck::test::let_settle(ctx);
    c.server.close();
    outcome ended;
    char byte = 0;
    c.client.async_read_some(buffer(&byte, 1), note(ended));
    beck::test::run_all(ctx);
    CHECK(ended.ended_with(error::eof));
    CHECK(pending.aborted());
  }
}

CONFORMANCE(
    "the descriptor is free when close returns, with operations pending in both directions") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  beck::test::fill(c.a);
  char byte = 0;
  outcome reading;
  outcome writing;
  c.a.async_read_some(buffer(&byte, 1), note(reading));
  c.a.async_write_some(buffer("z", 1), note(writing));
  beck::test::let_settle(ctx);
  const int fd = c.a.native_handle();
  stream next(ctx);
  beck::post(ctx, [&] {
    c.a.close();
    next.open(beck::local::stream_protocol());
    CHECK(next.native_handle() == fd);  // the lowest free number
  });
  beck::test::run_all(ctx);
  CHECK(reading.aborted());
  CHECK(writing.aborted());
}

CONFORMANCE("the port is free when close returns, with an accept pending") {
  beck::io_context ctx(context_options());
  auto acceptor = std::make_unique<tcp::acceptor>(ctx, loopback_v4());
  const tcp::endpoint there = acceptor->local_endpoint();
  outcome accepted;
  tcp::socket server(ctx);
  acceptor->async_accept(server, note(accepted));
  beck::test::let_settle(ctx);
  acceptor->close();
  tcp::acceptor next(ctx);
  next.open(tcp::v4());
  error_code ec;
  next.bind(there, ec);
  CHECK(!ec);
  beck::test::run_all(ctx);
  CHECK(accepted.aborted());
}

CONFORMANCE("a destructor with operations in flight ends them with operation_aborted") {  // S5
  beck::io_context ctx(context_options());
  outcome all[3];
  std::vector<char> room(100000);
  const std::vector<char> data(4 << 20, 'd');
  stream peer(ctx);
  {
    stream socket(ctx);
    connect_pair(socket, peer);
    socket.async_read_some(buffer(room), note(all[0]));
    async_write(socket, buffer(data), note(all[1]));
    socket.async_wait(stream::wait_error, note(all[2]));
    beck::test::let_settle(ctx);
  }
  for (const outcome& one : all) CHECK(one.calls == 0);
  beck::test::run_all(ctx);
  for (const outcome& one : all) CHECK(one.aborted());
  std::size_t bytes = 0;
  CHECK(beck::test::drain(ctx, peer, bytes) == error::eof);
  CHECK(bytes == all[1].bytes);
}

CONFORMANCE("closing twice, and closing what was never open, is no error") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  c.a.close();
  error_code ec = error::interrupted;
  c.a.close(ec);
  CHECK(!ec);
  tcp::socket never(ctx);
  never.close(ec);
  CHECK(!ec);
  CHECK_NOTHROW(never.close());
}

CONFORMANCE("a socket object is opened again after close, many times, and works each time") {
  beck::io_context ctx(context_options());
  stream a(ctx);
  stream b(ctx);
  for (int i = 0; i < 50; ++i) {
    connect_pair(a, b);
    char got = 0;
    char nothing = 0;
    outcome received;
    outcome behind;
    outcome sent;
    a.async_read_some(buffer(&got, 1), note(received));
    a.async_read_some(buffer(&nothing, 1), note(behind));
    const char byte = static_cast<char>('a' + i % 26);
    async_write(b, buffer(&byte, 1), note(sent));
    REQUIRE(beck::test::run_until(ctx, received));
    CHECK(received.ok());
    CHECK(got == byte);
    a.close();
    b.close();
    beck::test::run_all(ctx);
    CHECK(behind.aborted());
  }
}

CONFORMANCE("what was pending before a reopen never touches the new connection") {  // S7
  beck::io_context ctx(context_options());
  stream a(ctx);
  stream b(ctx);
  connect_pair(a, b);
  outcome old[2];
  char old_bytes[2] = {};
  a.async_read_some(buffer(old_bytes, 1), note(old[0]));
  a.async_wait(stream::wait_read, note(old[1]));
  beck::test::let_settle(ctx);
  b.non_blocking(true);
  b.write_some(buffer("o", 1));  // the event for the old number is on its way
  stream fresh(ctx);
  char got = 0;
  outcome received;
  beck::post(ctx, [&] {
    a.close();
    connect_pair(a, fresh);
    a.async_read_some(buffer(&got, 1), note(received));
  });
  REQUIRE(beck::test::run_until(ctx, [&] { return old[0].done() && old[1].done(); }));
  beck::test::let_settle(ctx);
  CHECK(received.calls == 0);
  outcome sent;
  async_write(fresh, buffer("n", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(received.ok());
  CHECK(got == 'n');
}

CONFORMANCE(
    "a composed write whose socket is closed and reopened between two steps stays away from it") {
  // S7
  beck::io_context ctx(context_options());
  stream a(ctx);
  stream b(ctx);
  stream fresh(ctx);
  connect_pair(a, b);
  const std::string part(1000, 'p');
  std::vector<beck::const_buffer> parts(200, buffer(part));  // more than one step takes
  outcome sent;
  beck::post(ctx, [&] {
    async_write(a, parts, note(sent));  // its first step has moved bytes when this returns
    a.close();
    connect_pair(a, fresh);
  });
  beck::test::run_all(ctx);
  CHECK(sent.aborted());
  std::size_t old_bytes = 0;
  CHECK(beck::test::drain(ctx, b, old_bytes) == error::eof);
  CHECK(old_bytes == sent.bytes);
  std::size_t new_bytes = 0;
  CHECK(beck::test::drain(ctx, fresh, new_bytes) == error::would_block);
  CHECK(new_bytes == 0);
}

CONFORMANCE(
    "a read_until whose socket is closed and reopened between two steps stays away from it") {
  // S7
  beck::io_context ctx(context_options());
  stream a(ctx);
  stream b(ctx);
  stream fresh(ctx);
  connect_pair(a, b);
  std::string text;
  outcome line;
  b.non_blocking(true);
  b.write_some(buffer("first half", 10));
  async_read_until(a, beck::dynamic_buffer(text), '\n', note(line));
  bool moved = false;
  for (int i = 0; i < 20 && !moved; ++i) {
    beck::test::let_arrive(ctx);
    beck::test::let_settle(ctx);
    moved = text.starts_with("first half");
  }
  CHECK(moved);
  a.close();
  connect_pair(a, fresh);
  fresh.non_blocking(true);
  fresh.write_some(buffer("second\n", 7));
  beck::test::run_all(ctx);
  CHECK(line.aborted());
  beck::test::let_arrive(ctx);
  CHECK(a.available() == 7);
}

CONFORMANCE("operations on a closed object that wait in the run queue still complete once") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::vector<outcome> sent(40);
  outcome received;
  char byte = 0;
  beck::post(ctx, [&] {
    // More than one entry's budget: the rest is queued to be attempted.
    for (outcome& one : sent) c.a.async_write_some(buffer("k", 1), note(one));
    c.a.async_read_some(buffer(&byte, 1), note(received));
    c.a.close();
  });
  beck::test::run_all(ctx);
  std::size_t taken = 0;
  for (const outcome& one : sent) {
    CHECK(one.calls == 1);
    CHECK((!one.ec || one.ec == error::operation_aborted));
    taken += one.bytes;
  }
  CHECK(received.aborted());
  std::size_t arrived = 0;
  CHECK(beck::test::drain(ctx, c.b, arrived) == error::eof);
  CHECK(arrived == taken);
}

CONFORMANCE("closing from a coroutine ends another coroutine's read") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  error_code seen;
  auto reader = [&]() -> beck::task<> {
    char byte = 0;
    auto [ec, n] = co_await c.a.async_read_some(buffer(&byte, 1));
    seen = ec;
    CHECK(n == 0);
  };
  auto closer = [&]() -> beck::task<> {
    beck::steady_timer timer(ctx, beck::duration(1000));
    beck::ignore(co_await timer.async_wait());
    c.a.close();
  };
  beck::co_spawn(ctx, std::move(reader), beck::detached);
  beck::co_spawn(ctx, std::move(closer), beck::detached);
  beck::test::run_all(ctx);
  CHECK(seen == error::operation_aborted);
}
