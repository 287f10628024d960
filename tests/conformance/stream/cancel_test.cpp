// SPDX-License-Identifier: BSL-1.0
// Cancelling in every state of an operation: exactly one completion, no byte lost, the socket lives
// on. A result that is there beats the cancel.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <cstring>
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
namespace error = beck::error;

namespace {

using stream = beck::local::stream_protocol::socket;

/// Small enough to be received by the ring itself, and large enough to wait for readiness.
constexpr std::size_t rooms[] = {1, 4096, 65536};

void send_now(stream& from, const char* text) {
  from.non_blocking(true);
  CHECK(from.write_some(buffer(text, std::strlen(text))) == std::strlen(text));
  from.non_blocking(false);
}

}  // namespace

CONFORMANCE("a read that is cancelled in the same breath ends with operation_aborted") {
  beck::io_context ctx(context_options());
  for (const std::size_t room : rooms) {
    local_connection c(ctx);
    std::vector<char> data(room);
    outcome received;
    c.a.async_read_some(buffer(data), note(received));
    c.a.cancel();
    CHECK(received.calls == 0);
    beck::test::run_all(ctx);
    CHECK(received.aborted());
  }
}

CONFORMANCE("a read that waits for data is cancelled") {
  beck::io_context ctx(context_options());
  for (const std::size_t room : rooms) {
    local_connection c(ctx);
    std::vector<char> data(room);
    outcome received;
    c.a.async_read_some(buffer(data), note(received));
    beck::test::let_settle(ctx);
    c.a.cancel();
    CHECK(received.calls == 0);
    beck::test::run_all(ctx);
    CHECK(received.aborted());
    CHECK(received.bytes == 0);
  }
}

CONFORMANCE("reads behind another are cancelled with it, in the order of their start") {
  beck::io_context ctx(context_options());
  for (const bool settled : {false, true}) {
    local_connection c(ctx);
    std::vector<int> order;
    char byte = 0;
    for (int i = 0; i < 5; ++i) {
      c.a.async_read_some(buffer(&byte, 1), [&order, i](const error_code& ec, std::size_t) {
        CHECK(ec == error::operation_aborted);
        order.push_back(i);
      });
    }
    if (settled) beck::test::let_settle(ctx);
    c.a.cancel();
    beck::test::run_all(ctx);
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
  }
}

CONFORMANCE("a cancel at any point of a transfer either comes too late or leaves the byte there") {
  beck::io_context ctx(context_options());
  for (const std::size_t room : rooms) {
    for (int steps = 0; steps < 6; ++steps) {
      local_connection c(ctx);
      std::vector<char> data(room);
      outcome received;
      c.a.async_read_some(buffer(data), note(received));
      if (steps % 2 != 0) beck::test::let_settle(ctx);
      send_now(c.b, "1");
      ctx.restart();
      if (steps / 2 == 1) beck::post(ctx, [&c] { c.a.cancel(); });
      if (steps / 2 == 2) ctx.poll_one();
      c.a.cancel();
      beck::test::run_all(ctx);
      CHECK(received.calls == 1);
      beck::test::let_arrive(ctx);
      if (received.ec) {
        CHECK(received.ec == error::operation_aborted);
        CHECK(received.bytes == 0);
        CHECK(c.a.available() == 1);
      } else {
        CHECK(received.bytes == 1);
        CHECK(c.a.available() == 0);
      }
    }
  }
}

CONFORMANCE("a result that is already there beats the cancel") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  outcome sent;
  beck::post(ctx, [&] {
    c.a.async_write_some(buffer("done", 4), note(sent));  // goes out inside the call
    c.a.cancel();
  });
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(sent.bytes == 4);
  beck::test::let_arrive(ctx);
  CHECK(c.b.available() == 4);
}

CONFORMANCE(
    "cancelling twice, without anything pending, and after the end changes nothing") {  // K8
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  CHECK_NOTHROW(c.a.cancel());
  outcome received;
  char byte = 0;
  c.a.async_read_some(buffer(&byte, 1), note(received));
  beck::test::let_settle(ctx);
  c.a.cancel();
  c.a.cancel();
  beck::test::run_all(ctx);
  CHECK(received.aborted());
  c.a.cancel();
  beck::test::run_all(ctx);
  CHECK(received.calls == 1);
}

CONFORMANCE("a handler may cancel its own socket, once more and again") {  // K8
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::vector<error_code> ends;
  char byte = 0;
  for (int i = 0; i < 3; ++i) {
    c.a.async_read_some(buffer(&byte, 1), [&](const error_code& ec, std::size_t) {
      ends.push_back(ec);
      c.a.cancel();
    });
  }
  send_now(c.b, "g");
  beck::test::run_all(ctx);
  REQUIRE(ends.size() == 3);
  CHECK(!ends[0]);
  CHECK(ends[1] == error::operation_aborted);
  CHECK(ends[2] == error::operation_aborted);
}

CONFORMANCE("a cancelled socket reads and writes on") {
  beck::io_context ctx(context_options());
  for (const std::size_t room : rooms) {
    local_connection c(ctx);
    std::vector<char> data(room);
    for (int i = 0; i < 3; ++i) {
      outcome aborted;
      c.a.async_read_some(buffer(data), note(aborted));
      if (i != 1) beck::test::let_settle(ctx);
      c.a.cancel();
      beck::test::run_all(ctx);
      CHECK(aborted.aborted());
    }
    send_now(c.b, "x");
    outcome received;
    c.a.async_read_some(buffer(data), note(received));
    beck::test::run_all(ctx);
    CHECK(received.ok());
    CHECK(data[0] == 'x');
  }
}

CONFORMANCE("an operation started after the cancel is not cancelled") {
  beck::io_context ctx(context_options());
  for (const bool settled : {false, true}) {
    local_connection c(ctx);
    outcome before;
    outcome after;
    char bytes[2] = {};
    c.a.async_read_some(buffer(bytes, 1), note(before));
    if (settled) beck::test::let_settle(ctx);
    c.a.cancel();
    c.a.async_read_some(buffer(bytes + 1, 1), note(after));
    REQUIRE(beck::test::run_until(ctx, before));
    beck::test::let_settle(ctx);
    CHECK(before.aborted());
    CHECK(after.calls == 0);
    send_now(c.b, "b");
    beck::test::run_all(ctx);
    CHECK(after.ok());
    CHECK(bytes[1] == 'b');
  }
}

CONFORMANCE("a cancelled write of one buffer reports exactly what was sent") {
  beck::io_context ctx(context_options());
  for (const bool settled : {false, true}) {
    local_connection c(ctx);
    const std::string data(8 << 20, 'c');
    outcome sent;
    async_write(c.a, buffer(data), note(sent));
    if (settled) beck::test::let_settle(ctx);
    c.a.cancel();
    beck::test::run_all(ctx);
    CHECK(sent.aborted());
    CHECK(sent.bytes < data.size());
    std::size_t arrived = 0;
    CHECK(beck::test::drain(ctx, c.b, arrived) == error::would_block);
    CHECK(arrived == sent.bytes);
  }
}

CONFORMANCE("a cancelled write of many buffers reports exactly what was sent") {
  beck::io_context ctx(context_options());
  for (const bool settled : {false, true}) {
    local_connection c(ctx);
    const std::string part(10000, 'm');
    const std::vector<beck::const_buffer> parts(500, buffer(part));
    outcome sent;
    async_write(c.a, parts, note(sent));
    if (settled) beck::test::let_settle(ctx);
    c.a.cancel();
    beck::test::run_all(ctx);
    CHECK(sent.aborted());
    std::size_t arrived = 0;
    CHECK(beck::test::drain(ctx, c.b, arrived) == error::would_block);
    CHECK(arrived == sent.bytes);
  }
}

CONFORMANCE("a write of many buffers is cancelled between two of its steps") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  const std::string part(10, 's');
  const std::vector<beck::const_buffer> parts(1000, buffer(part));
  outcome sent;
  beck::post(ctx, [&] {
    async_write(c.a, parts, note(sent));  // the first step has finished when this returns
    c.a.cancel();
  });
  beck::test::run_all(ctx);
  CHECK(sent.aborted());
  CHECK(sent.bytes > 0);
  CHECK(sent.bytes < 10000);
  beck::test::let_arrive(ctx);
  CHECK(c.b.available() == sent.bytes);
}

CONFORMANCE("two writes of many buffers go out one after the other, not mixed") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  const std::string a(100, 'a');
  const std::string b(100, 'b');
  const std::vector<beck::const_buffer> first(300, buffer(a));
  const std::vector<beck::const_buffer> second(300, buffer(b));
  outcome sent[2];
  outcome received;
  std::string got(60000, '?');
  beck::post(ctx, [&] {
    async_write(c.a, first, note(sent[0]));
    async_write(c.a, second, note(sent[1]));
  });
  async_read(c.b, buffer(got), note(received));
  beck::test::run_all(ctx);
  CHECK(sent[0].ok());
  CHECK(sent[1].ok());
  CHECK(received.ok());
  CHECK(got == std::string(30000, 'a') + std::string(30000, 'b'));
}

CONFORMANCE("a cancelled read of a whole buffer reports what had come") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  char data[100] = {};
  outcome received;
  async_read(c.a, buffer(data), note(received));
  outcome sent;
  async_write(c.b, buffer("forty-two bytes would be more than there are", 14), note(sent));
  REQUIRE(beck::test::run_until(ctx, sent));
  beck::test::let_arrive(ctx);
  while (c.a.available() != 0) beck::test::tick(ctx);
  beck::test::let_settle(ctx);
  CHECK(received.calls == 0);
  c.a.cancel();
  beck::test::run_all(ctx);
  CHECK(received.aborted());
  CHECK(received.bytes == 14);
  CHECK(std::memcmp(data, "forty-two byte", 14) == 0);
}

CONFORMANCE(
    "a cancelled read_until leaves what it has read in the buffer, and the next one goes on with "
    "it") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::string text;
  outcome line;
  async_read_until(c.a, beck::dynamic_buffer(text), '\n', note(line));
  outcome sent;
  async_write(c.b, buffer("half", 4), note(sent));
  REQUIRE(beck::test::run_until(ctx, sent));
  beck::test::let_arrive(ctx);
  while (c.a.available() != 0) beck::test::tick(ctx);
  beck::test::let_settle(ctx);
  c.a.cancel();
  beck::test::run_all(ctx);
  CHECK(line.aborted());
  CHECK(text == "half");
  outcome rest;
  async_read_until(c.a, beck::dynamic_buffer(text), '\n', note(rest));
  outcome sent_too;
  async_write(c.b, buffer(" line\n", 6), note(sent_too));
  beck::test::run_all(ctx);
  CHECK(rest.ok());
  CHECK(rest.bytes == 10);
  CHECK(text == "half line\n");
}

CONFORMANCE("a cancelled accept loses no connection") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  for (const bool settled : {false, true}) {
    tcp::socket server(ctx);
    tcp::socket client(ctx);
    outcome aborted;
    outcome connected;
    acceptor.async_accept(server, note(aborted));
    if (settled) beck::test::let_settle(ctx);
    client.async_connect(acceptor.local_endpoint(), note(connected));
    acceptor.cancel();
    beck::test::run_all(ctx);
    CHECK(aborted.calls == 1);
    CHECK(connected.ok());
    if (aborted.ec) {
      CHECK(aborted.ec == error::operation_aborted);
      CHECK_FALSE(server.is_open());
      outcome accepted;
      acceptor.async_accept(server, note(accepted));
      beck::test::run_all(ctx);
      CHECK(accepted.ok());
    }
    CHECK(server.remote_endpoint() == client.local_endpoint());
  }
}

CONFORMANCE("waits of every kind are cancelled") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  beck::test::fill(c.a);
  for (const bool settled : {false, true}) {
    outcome all[3];
    c.a.async_wait(stream::wait_read, note(all[0]));
    c.a.async_wait(stream::wait_write, note(all[1]));
    c.a.async_wait(stream::wait_error, note(all[2]));
    if (settled) beck::test::let_settle(ctx);
    c.a.cancel();
    beck::test::run_all(ctx);
    for (const outcome& one : all) CHECK(one.aborted());
  }
  outcome sent;
  std::size_t freed = 0;
  beck::test::drain(ctx, c.b, freed);
  async_write(c.a, buffer("w", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
}

CONFORMANCE("a connect that is cancelled ends once and its socket can be closed") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  for (const bool settled : {false, true}) {
    tcp::socket client(ctx);
    outcome connected;
    client.async_connect(acceptor.local_endpoint(), note(connected));
    if (settled) beck::test::let_settle(ctx);
    client.cancel();
    beck::test::run_all(ctx);
    CHECK(connected.calls == 1);
    CHECK((!connected.ec || connected.ec == error::operation_aborted));
    CHECK(client.is_open());
  }
}

CONFORMANCE("a cancel ends reads and writes of one socket and nothing of another") {
  beck::io_context ctx(context_options());
  local_connection one(ctx);
  local_connection other(ctx);
  outcome read_one;
  outcome read_other;
  char bytes[2] = {};
  one.a.async_read_some(buffer(bytes, 1), note(read_one));
  other.a.async_read_some(buffer(bytes + 1, 1), note(read_other));
  beck::test::let_settle(ctx);
  one.a.cancel();
  REQUIRE(beck::test::run_until(ctx, read_one));
  CHECK(read_one.aborted());
  CHECK(read_other.calls == 0);
  send_now(other.b, "o");
  beck::test::run_all(ctx);
  CHECK(read_other.ok());
}

CONFORMANCE("a coroutine that was cancelled in a read goes on with its error") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  std::vector<error_code> seen;
  auto reader = [&]() -> beck::task<> {
    char byte = 0;
    for (int i = 0; i < 3; ++i) {
      auto [ec, n] = co_await c.a.async_read_some(buffer(&byte, 1));
      seen.push_back(ec);
    }
  };
  beck::co_spawn(ctx, std::move(reader), beck::detached);
  beck::test::let_settle(ctx);
  for (std::size_t i = 1; i <= 2; ++i) {
    c.a.cancel();
    REQUIRE(beck::test::run_until(ctx, [&] { return seen.size() == i; }));
    CHECK(seen.back() == error::operation_aborted);
  }
  send_now(c.b, "e");
  beck::test::run_all(ctx);
  REQUIRE(seen.size() == 3);
  CHECK(!seen[2]);
}
