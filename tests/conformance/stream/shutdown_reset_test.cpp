// SPDX-License-Identifier: BSL-1.0
// The ends of a connection: half-close, shutdown in every order, resets. Errors reach both
// directions, and a hang-up without a reader costs no turns.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::local_connection;
using beck::test::note;
using beck::test::outcome;
using beck::test::tcp_connection;
namespace error = beck::error;

namespace {

constexpr int both = tcp::socket::shutdown_both;
constexpr int sending = tcp::socket::shutdown_send;
constexpr int receiving = tcp::socket::shutdown_receive;

/// Closes so that the peer gets a reset.
void reset(tcp::socket& socket) {
  socket.set_option(tcp::socket::linger(true, 0));
  socket.close();
}

bool is_broken(const error_code& ec) {
  return ec == error::connection_reset || ec == error::broken_pipe;
}

/// One operation from start to end.
outcome read_one(beck::io_context& ctx, tcp::socket& from) {
  outcome received;
  char byte = 0;
  from.async_read_some(buffer(&byte, 1), note(received));
  beck::test::run_all(ctx);
  return received;
}
outcome write_one(beck::io_context& ctx, tcp::socket& to) {
  outcome sent;
  to.async_write_some(buffer("w", 1), note(sent));
  beck::test::run_all(ctx);
  return sent;
}

/// How many turns the context takes in some time in which nothing happens, at the best of some
/// tries: a spinning loop takes tens of thousands in each.
std::uint64_t idle_turns(beck::io_context& ctx) {
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    beck::steady_timer timer(ctx, beck::duration(20'000'000));
    outcome waited;
    timer.async_wait(note(waited));
    const std::uint64_t before = ctx.stats().iterations;
    REQUIRE(beck::test::run_until(ctx, waited));
    least = std::min(least, ctx.stats().iterations - before);
  }
  return least;
}
/// Not just two: the kernel's clean-up of a ring that an earlier case closed interrupts the waits
/// of this thread, for a while.
constexpr std::uint64_t few_turns = 500;

}  // namespace

CONFORMANCE("a half-closed connection reports eof and still carries the other direction") {  // S3
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome sent;
  async_write(c.client, buffer("last", 4), note(sent));
  beck::test::run_all(ctx);
  c.client.shutdown(sending);
  std::string got(8, '?');
  outcome received;
  async_read(c.server, buffer(got), note(received));
  beck::test::run_all(ctx);
  CHECK(received.ended_with(error::eof));
  CHECK(received.bytes == 4);

  outcome answer;
  async_write(c.server, buffer("still here", 10), note(answer));
  std::string back(10, '?');
  outcome heard;
  async_read(c.client, buffer(back), note(heard));
  beck::test::run_all(ctx);
  CHECK(answer.ok());
  CHECK(heard.ok());
  CHECK(back == "still here");
}

CONFORMANCE("a shutdown wakes the peer's pending read with eof, again and again") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome pending;
  char byte = 0;
  c.server.async_read_some(buffer(&byte, 1), note(pending));
  beck::test::let_settle(ctx);
  c.client.shutdown(sending);
  beck::test::run_all(ctx);
  CHECK(pending.ended_with(error::eof));
  for (int i = 0; i < 3; ++i) CHECK(read_one(ctx, c.server).ended_with(error::eof));
}

CONFORMANCE("data that came before the end is read before eof") {
  beck::io_context ctx(context_options());
  for (const std::size_t room : {1u, 3u, 65536u}) {
    local_connection c(ctx);
    outcome sent;
    async_write(c.b, buffer("0123456789", 10), note(sent));
    beck::test::run_all(ctx);
    c.b.close();
    std::string got;
    std::vector<char> data(room);
    for (;;) {
      outcome received;
      c.a.async_read_some(buffer(data), note(received));
      beck::test::run_all(ctx);
      got.append(data.data(), received.bytes);
      if (!received.ec) continue;
      CHECK(received.ec == error::eof);
      break;
    }
    CHECK(got == "0123456789");
  }
}

CONFORMANCE("a write after one's own shutdown gives broken_pipe") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  c.client.shutdown(sending);
  CHECK(write_one(ctx, c.client).ended_with(error::broken_pipe));
}

CONFORMANCE("a shutdown of receiving ends one's own pending read with eof") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome pending;
  char byte = 0;
  c.client.async_read_some(buffer(&byte, 1), note(pending));
  beck::test::let_settle(ctx);
  c.client.shutdown(receiving);
  beck::test::run_all(ctx);
  CHECK(pending.ended_with(error::eof));
  CHECK(write_one(ctx, c.client).ok());
}

CONFORMANCE("shutting down twice is no error") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  error_code ec;
  for (const int what : {sending, sending, receiving, receiving, both}) {
    c.client.shutdown(what, ec);
    CHECK(!ec);
  }
  CHECK(read_one(ctx, c.client).ended_with(error::eof));
}

CONFORMANCE("both sides shut down at once and both read eof") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome ends[2];
  char bytes[2] = {};
  c.client.async_read_some(buffer(bytes, 1), note(ends[0]));
  c.server.async_read_some(buffer(bytes + 1, 1), note(ends[1]));
  beck::test::let_settle(ctx);
  c.client.shutdown(sending);
  c.server.shutdown(sending);
  beck::test::run_all(ctx);
  CHECK(ends[0].ended_with(error::eof));
  CHECK(ends[1].ended_with(error::eof));
}

CONFORMANCE("a shutdown at eof ends the connection in good order") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  c.client.shutdown(sending);
  CHECK(read_one(ctx, c.server).ended_with(error::eof));
  error_code ec;
  c.server.shutdown(sending, ec);
  CHECK(!ec);
  CHECK(read_one(ctx, c.client).ended_with(error::eof));
  c.client.close();
  c.server.close();
}

CONFORMANCE("a shutdown from inside the callback that saw eof") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome heard;
  char bytes[2] = {};
  c.server.async_read_some(buffer(bytes, 1), [&](const error_code& ec, std::size_t) {
    CHECK(ec == error::eof);
    c.server.shutdown(both);
    c.server.close();
  });
  c.client.async_read_some(buffer(bytes + 1, 1), note(heard));
  beck::test::let_settle(ctx);
  c.client.shutdown(sending);
  beck::test::run_all(ctx);
  CHECK(heard.ended_with(error::eof));
}

CONFORMANCE("a reset ends a pending read and then every further operation") {  // S4, first order
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome pending;
  char byte = 0;
  c.server.async_read_some(buffer(&byte, 1), note(pending));
  beck::test::let_settle(ctx);
  reset(c.client);
  beck::test::run_all(ctx);
  CHECK(pending.ended_with(error::connection_reset));
  CHECK(is_broken(write_one(ctx, c.server).ec));
  CHECK(read_one(ctx, c.server).ec);
}

CONFORMANCE("a reset before the read and the write are started reaches both") {  // S4, second order
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  reset(c.client);
  beck::test::let_settle(ctx);
  outcome received;
  outcome sent;
  char byte = 0;
  c.server.async_read_some(buffer(&byte, 1), note(received));
  beck::test::run_all(ctx);
  c.server.async_write_some(buffer("w", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(received.ended_with(error::connection_reset));
  CHECK(is_broken(sent.ec));
}

CONFORMANCE("a reset ends a write that waits for room, with what went out") {  // S4, third order
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  const std::string data(16 << 20, 'r');
  outcome sent;
  async_write(c.server, buffer(data), note(sent));
  beck::test::let_settle(ctx);
  CHECK(sent.calls == 0);
  reset(c.client);
  beck::test::run_all(ctx);
  CHECK(sent.calls == 1);
  CHECK(is_broken(sent.ec));
  CHECK(sent.bytes > 0);
  CHECK(sent.bytes < data.size());
}

CONFORMANCE(
    "a reset ends a pending read and a pending write of the same socket") {  // S4, fourth order
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  const std::string data(16 << 20, 'b');
  outcome sent;
  outcome received;
  char byte = 0;
  async_write(c.server, buffer(data), note(sent));
  c.server.async_read_some(buffer(&byte, 1), note(received));
  beck::test::let_settle(ctx);
  reset(c.client);
  beck::test::run_all(ctx);
  CHECK(sent.calls == 1);
  CHECK(received.calls == 1);
  CHECK(is_broken(sent.ec));
  // Linux tells the error once; who comes second sees the end of the stream.
  CHECK((is_broken(received.ec) || received.ec == error::eof));
}

CONFORMANCE("closing after, before and together with a reset is quiet") {  // S4, fifth order
  beck::io_context ctx(context_options());
  for (int order = 0; order < 4; ++order) {
    tcp_connection c(ctx);
    outcome pending[2];
    char bytes[2] = {};
    c.client.async_read_some(buffer(bytes, 1), note(pending[0]));
    c.server.async_read_some(buffer(bytes + 1, 1), note(pending[1]));
    beck::test::let_settle(ctx);
    if (order == 0) {
      reset(c.client);
      c.server.close();
    } else if (order == 1) {
      c.server.close();
      reset(c.client);
    } else if (order == 2) {
      reset(c.client);
      reset(c.server);
    } else {
      reset(c.client);
      REQUIRE(beck::test::run_until(ctx, pending[1]));
      c.server.close();
    }
    beck::test::run_all(ctx);
    for (const outcome& one : pending) {
      CHECK(one.calls == 1);
      CHECK(one.ec);
    }
  }
}

CONFORMANCE("a wait for errors ends when the peer resets") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome waited;
  c.server.async_wait(tcp::socket::wait_error, note(waited));
  beck::test::let_settle(ctx);
  CHECK(waited.calls == 0);
  reset(c.client);
  beck::test::run_all(ctx);
  CHECK(waited.ok());
}

CONFORMANCE("a hang-up without a reader costs no turns") {  // S4
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  outcome first;
  char byte = 0;
  c.a.async_read_some(buffer(&byte, 1), note(first));  // now the driver watches it
  beck::test::let_settle(ctx);
  outcome sent;
  async_write(c.b, buffer("12", 2), note(sent));
  beck::test::run_all(ctx);
  CHECK(first.ok());
  c.b.close();
  CHECK(idle_turns(ctx) < few_turns);
  CHECK(c.a.available() == 1);
}

CONFORMANCE("a reset that nobody reads costs no turns") {  // S4
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome first;
  outcome sent;
  std::vector<char> room(65536);
  c.server.async_read_some(buffer(room), note(first));
  beck::test::let_settle(ctx);
  async_write(c.client, buffer("12", 2), note(sent));
  beck::test::run_all(ctx);
  CHECK(first.ok());
  reset(c.client);
  CHECK(idle_turns(ctx) < few_turns);
  CHECK(read_one(ctx, c.server).ec == error::connection_reset);
  CHECK(idle_turns(ctx) < few_turns);
}

CONFORMANCE("a peer that is gone in one direction costs no turns while the other waits") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  const std::string data(16 << 20, 'o');
  outcome sent;
  async_write(c.server, buffer(data), note(sent));
  c.client.shutdown(sending);  // half-closed, and it reads nothing
  outcome ended;
  char byte = 0;
  c.server.async_read_some(buffer(&byte, 1), note(ended));
  REQUIRE(beck::test::run_until(ctx, ended));
  CHECK(ended.ended_with(error::eof));
  CHECK(idle_turns(ctx) < few_turns);
  CHECK(sent.calls == 0);
  c.server.close();
  beck::test::run_all(ctx);
  CHECK(sent.aborted());
}

CONFORMANCE_ON(beck::test::kernel, "closing a TCP socket with unread data resets the connection") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome pending;
  outcome sent;
  char byte = 0;
  async_write(c.client, buffer("unread", 6), note(sent));
  beck::test::run_all(ctx);
  c.client.async_read_some(buffer(&byte, 1), note(pending));
  beck::test::let_settle(ctx);
  c.server.close();
  beck::test::run_all(ctx);
  CHECK(pending.ended_with(error::connection_reset));
}
