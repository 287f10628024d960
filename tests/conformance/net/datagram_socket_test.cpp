// SPDX-License-Identifier: BSL-1.0
// UDP sockets as objects: peeking, waiting, cancelling, closing, ports, and what is lost.
#include <atomic>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <beck/interop/use_future.hpp>
#include <beck/io/cancel_after.hpp>
#include <beck/net/datagram_batch.hpp>
#include <beck/run/as_tuple.hpp>
#include <beck/run/redirect_error.hpp>

#include "support/datagrams.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using beck::buffer;
using beck::error_code;
using beck::test::any_port_v4;
using beck::test::let_arrive;
using beck::test::let_settle;
using beck::test::note;
using beck::test::outcome;
using beck::test::pattern;
using beck::test::run_all;
using beck::test::run_task;
using beck::test::udp;
using beck::test::udp_pair;
namespace error = beck::error;

CONFORMANCE("a peek leaves the datagram there") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  pair.a.send(buffer("abc", 3));
  char room[10];
  udp::endpoint sender;
  CHECK(pair.b.receive_from(buffer(room), sender, udp::socket::message_peek) == 3);
  outcome peeked, received;
  pair.b.async_receive(buffer(room), udp::socket::message_peek, note(peeked));
  pair.b.async_receive_from(buffer(room), sender, 0, note(received));
  run_all(ctx);
  CHECK(peeked.bytes == 3);
  CHECK(received.bytes == 3);
  CHECK(pair.b.available() == 0);
}

CONFORMANCE("available gives the bytes of the next datagram") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  CHECK(pair.b.available() == 0);
  pair.a.send(buffer("abc", 3));
  pair.a.send(buffer("de", 2));
  let_arrive(ctx);
  CHECK(pair.b.available() == 3);
}

CONFORMANCE("a non-blocking synchronous receive gives would_block") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  pair.b.non_blocking(true);
  char room[10];
  error_code ec;
  CHECK(pair.b.receive(buffer(room), 0, ec) == 0);
  CHECK(ec == error::would_block);
  CHECK_THROWS_AS(pair.b.receive(buffer(room)), beck::io_error);
}

CONFORMANCE("a cancelled receive ends with operation_aborted, and the datagram goes to the next") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char room[10];
  udp::endpoint sender;
  outcome cancelled, received;
  pair.b.async_receive_from(buffer(room), sender, note(cancelled));
  let_settle(ctx);
  pair.b.cancel();
  run_all(ctx);
  CHECK(cancelled.aborted());
  CHECK(cancelled.bytes == 0);
  CHECK(sender == udp::endpoint());
  pair.b.async_receive_from(buffer(room), sender, note(received));
  pair.a.send(buffer("abc", 3));
  run_all(ctx);
  CHECK(received.ok());
  CHECK(received.bytes == 3);
}

CONFORMANCE("close ends receives with operation_aborted and frees the port") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  const udp::endpoint name = a.local_endpoint();
  char room[10];
  outcome received[2];
  for (outcome& one : received) a.async_receive(buffer(room), note(one));
  let_settle(ctx);
  a.close();
  udp::socket again(ctx, name);
  run_all(ctx);
  for (const outcome& one : received) CHECK(one.aborted());
}

CONFORMANCE("operations on a closed datagram socket give bad_descriptor") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx);
  char room[10];
  outcome received, sent;
  a.async_receive(buffer(room), note(received));
  a.async_send_to(buffer("x", 1), any_port_v4(), note(sent));
  run_all(ctx);
  CHECK(received.ended_with(error::bad_descriptor));
  CHECK(sent.ended_with(error::bad_descriptor));
  error_code ec;
  a.receive(buffer(room), 0, ec);
  CHECK(ec == error::bad_descriptor);
}

CONFORMANCE("a receive that takes too long is cancelled by cancel_after") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  char room[10];
  outcome received;
  a.async_receive(buffer(room), beck::cancel_after(beck::duration(1'000'000), note(received)));
  run_all(ctx);
  CHECK(received.aborted());
}

CONFORMANCE("every completion token takes a datagram operation") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char room[2];
  udp::endpoint sender;
  auto sent = pair.a.async_send(buffer("abc", 3), beck::use_future);
  auto late = pair.b.async_receive(buffer(room), beck::deferred);
  run_all(ctx);
  CHECK(sent.get() == 3);
  outcome received;
  std::move(late)(note(received));
  run_all(ctx);
  CHECK(received.ended_with(error::message_size));
  pair.a.send(buffer("abc", 3));
  pair.a.send(buffer("de", 2));
  auto work = [&]() -> beck::task<> {
    const auto [ec, n] = co_await pair.b.async_receive_from(buffer(room), sender, beck::as_tuple);
    CHECK(ec == error::message_size);
    CHECK(n == 2);
    error_code other;
    CHECK(co_await pair.b.async_receive(buffer(room), beck::redirect_error(other)) == 2);
    CHECK_FALSE(other);
  };
  ctx.restart();
  run_task(ctx, work);
  CHECK(sender == pair.a.local_endpoint());
}

CONFORMANCE("async_wait tells that a datagram is there and leaves it there") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  outcome readable, writable;
  pair.b.async_wait(udp::socket::wait_read, note(readable));
  pair.b.async_wait(udp::socket::wait_write, note(writable));
  let_settle(ctx);
  pair.a.send(buffer("abc", 3));
  run_all(ctx);
  CHECK(readable.ok());
  CHECK(writable.ok());
  CHECK(pair.b.available() == 3);
}

CONFORMANCE("two sockets on one port need reuse_address, and a port is UDP's own") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  udp::socket b(ctx, udp::v4());
  error_code ec;
  b.bind(a.local_endpoint(), ec);
  CHECK(ec == error::address_in_use);
  for (int tries = 0; tries < 20; ++tries) {  // another program may have the number for TCP
    const udp::socket one(ctx, any_port_v4());
    beck::ip::tcp::socket stream(ctx, beck::ip::tcp::v4());
    stream.bind({beck::ip::address_v4::loopback(), one.local_endpoint().port()}, ec);
    if (!ec) break;
  }
  CHECK_FALSE(ec);
}

CONFORMANCE("a socket of both versions receives from IPv4 under a mapped address") {
  beck::io_context ctx(context_options());
  udp::socket both(ctx, udp::v6());
  both.set_option(beck::ip::v6_only(false));
  both.bind(udp::endpoint(udp::v6(), 0));
  udp::socket four(ctx, any_port_v4());
  four.send_to(buffer("abc", 3), {beck::ip::address_v4::loopback(), both.local_endpoint().port()});
  char room[10];
  udp::endpoint sender;
  CHECK(both.receive_from(buffer(room), sender) == 3);
  CHECK(sender.address().to_v6().is_v4_mapped());
  CHECK(sender.port() == four.local_endpoint().port());
}

CONFORMANCE("shutdown needs a peer; after it a send gives broken_pipe") {
  beck::io_context ctx(context_options());
  udp::socket lonely(ctx, any_port_v4());
  error_code ec;
  lonely.shutdown(udp::socket::shutdown_send, ec);
  CHECK(ec == error::not_connected);
  udp_pair pair(ctx);
  pair.a.shutdown(udp::socket::shutdown_send);
  pair.a.send(buffer("x", 1), 0, ec);
  CHECK(ec == error::broken_pipe);
}

CONFORMANCE("a thousand datagrams in both directions arrive in order, one by one") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  constexpr unsigned count = 1000;
  auto bounce = [&]() -> beck::task<> {
    for (unsigned i = 0; i < count; ++i) {
      unsigned number = 0;
      (co_await pair.b.async_receive(buffer(&number, sizeof number))).value();
      (co_await pair.b.async_send(buffer(&number, sizeof number))).value();
    }
  };
  unsigned right = 0;
  auto ask = [&]() -> beck::task<> {
    for (unsigned i = 0; i < count; ++i) {
      unsigned number = 0;
      (co_await pair.a.async_send(buffer(&i, sizeof i))).value();
      (co_await pair.a.async_receive(buffer(&number, sizeof number))).value();
      right += number == i ? 1 : 0;
    }
  };
  beck::co_spawn(ctx, bounce, beck::detached);
  run_task(ctx, ask);
  CHECK(right == count);
}

CONFORMANCE("datagrams that nobody takes are lost where there is no more room, and the next come") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  pair.b.set_option(udp::socket::receive_buffer_size(4096));
  const std::string bytes = pattern(1000);
  constexpr int count = 200;
  for (int i = 0; i < count; ++i) pair.a.send(buffer(bytes));
  let_arrive(ctx);
  pair.b.non_blocking(true);
  char room[2000];
  int there = 0;
  for (error_code ec; !ec; ++there) pair.b.receive(buffer(room), 0, ec);
  CHECK(there > 1);
  CHECK(there < count);
  pair.a.send(buffer("last", 4));
  let_arrive(ctx);
  CHECK(pair.b.receive(buffer(room)) == 4);
}

CONFORMANCE_ON(beck::test::kernel, "a datagram socket moves to another context and goes on there") {
  beck::io_context first(context_options());
  beck::io_context second(context_options());
  udp_pair pair(first);
  char room[10];
  outcome received;
  pair.b.async_receive(buffer(room), note(received));
  pair.a.send(buffer("1", 1));
  run_all(first);
  CHECK(received.ok());
  pair.b.move_to(second);
  outcome there;
  pair.b.async_receive(buffer(room), note(there));
  pair.a.send(buffer("22", 2));
  run_all(second);
  CHECK(there.ok());
  CHECK(there.bytes == 2);
}

CONFORMANCE_ON(beck::test::uring, "the ring tells once of a burst of datagrams, not of each") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  constexpr int count = 32;
  int received = 0;
  auto receive = [&]() -> beck::task<> {
    char room[10];
    for (; received < count; ++received) (co_await pair.b.async_receive(buffer(room))).value();
  };
  beck::co_spawn(ctx, receive, beck::detached);
  let_settle(ctx);
  const auto before = ctx.stats().completions;
  for (int i = 0; i < count; ++i) pair.a.send(buffer("x", 1));
  run_all(ctx);
  CHECK(received == count);
  CHECK(ctx.stats().completions - before < 4);
}

CONFORMANCE_ON(beck::test::epoll | beck::test::sim,
               "threads of a shared context receive and send datagrams at once") {
  beck::io_context ctx(context_options({.threads = 2}));
  constexpr unsigned pairs = 4, count = 200;
  std::atomic<unsigned> right{0};
  auto bounce = [](udp::socket& s) -> beck::task<> {
    for (unsigned i = 0; i < count; ++i) {
      unsigned number = 0;
      udp::endpoint from;
      (co_await s.async_receive_from(buffer(&number, sizeof number), from)).value();
      (co_await s.async_send_to(buffer(&number, sizeof number), from)).value();
    }
  };
  auto ask = [&right](udp::socket& s) -> beck::task<> {
    for (unsigned i = 0; i < count; ++i) {
      unsigned number = 0;
      (co_await s.async_send(buffer(&i, sizeof i))).value();
      (co_await s.async_receive(buffer(&number, sizeof number))).value();
      right += number == i ? 1 : 0;
    }
  };
  std::vector<std::unique_ptr<udp_pair>> all;
  for (unsigned i = 0; i < pairs; ++i) {
    all.push_back(std::make_unique<udp_pair>(ctx));
    beck::co_spawn(ctx, bounce(all.back()->b), beck::detached);
    beck::co_spawn(ctx, ask(all.back()->a), beck::detached);
  }
  const bool simulated = ctx.backend_in_use() == beck::backend::sim;  // its threads are virtual
  std::thread other;
  if (!simulated) other = std::thread([&ctx] { ctx.run(); });
  ctx.run();
  if (!simulated) other.join();
  CHECK(right == pairs * count);
}

CONFORMANCE("a context that ends destroys the handlers of datagram operations un-run") {
  outcome received, many;
  char room[10];
  char memory[2 * 4];
  udp::receive_batch<2> batch(buffer(memory), 4);
  {
    beck::io_context ctx(context_options());
    udp::socket a(ctx, any_port_v4());
    udp::socket b(ctx, any_port_v4());
    a.async_receive(buffer(room), note(received));
    b.async_receive_many(batch, note(many));
    let_settle(ctx);
  }
  CHECK(received.calls == 0);
  CHECK(many.calls == 0);
  room[0] = memory[0] = 0;  // they are the program's again
}
