// SPDX-License-Identifier: BSL-1.0
// UDP: one datagram for one receive, whole or cut, with its sender; errors of one datagram after
// which the socket goes on.
#include <array>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "support/datagrams.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using beck::buffer;
using beck::error_code;
using beck::test::any_port_v4;
using beck::test::any_port_v6;
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

CONFORMANCE("a datagram arrives whole, with its sender") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  udp::socket b(ctx, any_port_v4());
  char room[100];
  udp::endpoint sender;
  outcome sent, received;
  b.async_receive_from(buffer(room), sender, note(received));
  a.async_send_to(buffer("hello", 5), b.local_endpoint(), note(sent));
  run_all(ctx);
  CHECK(sent.ok());
  CHECK(sent.bytes == 5);
  CHECK(received.ok());
  CHECK(received.bytes == 5);
  CHECK(std::memcmp(room, "hello", 5) == 0);
  CHECK(sender == a.local_endpoint());
}

CONFORMANCE("datagrams travel over IPv6") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v6());
  udp::socket b(ctx, any_port_v6());
  char room[100];
  udp::endpoint sender;
  outcome received;
  b.async_receive_from(buffer(room), sender, note(received));
  a.async_send_to(buffer("six", 3), b.local_endpoint(), beck::detached);
  run_all(ctx);
  CHECK(received.ok());
  CHECK(received.bytes == 3);
  CHECK(sender == a.local_endpoint());
  CHECK(sender.is_v6());
}

CONFORMANCE("a task echoes a datagram to its sender") {
  beck::io_context ctx(context_options());
  udp::socket server(ctx, any_port_v4());
  udp::socket client(ctx, any_port_v4());
  std::string answer;
  auto serve = [&]() -> beck::task<> {
    char room[100];
    udp::endpoint from;
    const std::size_t n = (co_await server.async_receive_from(buffer(room), from)).value();
    CHECK((co_await server.async_send_to(buffer(room, n), from)).value() == n);
  };
  auto ask = [&]() -> beck::task<> {
    char room[100];
    udp::endpoint from;
    (co_await client.async_send_to(buffer("ping", 4), server.local_endpoint())).value();
    const std::size_t n = (co_await client.async_receive_from(buffer(room), from)).value();
    answer.assign(room, n);
    CHECK(from == server.local_endpoint());
  };
  beck::co_spawn(ctx, serve, beck::detached);
  run_task(ctx, ask);
  CHECK(answer == "ping");
}

CONFORMANCE("one receive takes one datagram, however much room there is") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  CHECK(pair.a.send(buffer("one", 3)) == 3);
  CHECK(pair.a.send(buffer("three", 5)) == 5);
  let_arrive(ctx);
  char room[100];
  outcome first, second;
  pair.b.async_receive(buffer(room), note(first));
  pair.b.async_receive(buffer(room, 50), note(second));
  run_all(ctx);
  CHECK(first.bytes == 3);
  CHECK(second.bytes == 5);
}

CONFORMANCE("an empty datagram is a datagram: its receive gives 0 and no end") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char room[100];
  outcome empty, full, sent;
  pair.b.async_receive(buffer(room), note(empty));
  pair.b.async_receive(buffer(room), note(full));
  pair.a.async_send(beck::const_buffer(), note(sent));
  pair.a.async_send(buffer("x", 1), beck::detached);
  run_all(ctx);
  CHECK(sent.ok());
  CHECK(sent.bytes == 0);
  CHECK(empty.ok());
  CHECK(empty.bytes == 0);
  CHECK(full.ok());
  CHECK(full.bytes == 1);
}

CONFORMANCE("an empty buffer takes a datagram and reports that it was cut") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char room[10];
  outcome none, rest;
  pair.b.async_receive(beck::mutable_buffer(), note(none));
  pair.b.async_receive(buffer(room), note(rest));
  pair.a.async_send(buffer("lost", 4), beck::detached);
  pair.a.async_send(buffer("kept!", 5), beck::detached);
  run_all(ctx);
  CHECK(none.ended_with(error::message_size));
  CHECK(rest.bytes == 5);
}

CONFORMANCE("a datagram that does not fit is cut and reported, and the next one is whole") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char room[4];
  udp::endpoint sender;
  outcome cut, whole;
  pair.b.async_receive_from(buffer(room), sender, note(cut));
  pair.a.async_send(buffer("0123456789", 10), beck::detached);
  run_all(ctx);
  CHECK(cut.ended_with(error::message_size));
  CHECK(cut.bytes == 4);
  CHECK(std::memcmp(room, "0123", 4) == 0);
  CHECK(sender == pair.a.local_endpoint());
  pair.b.async_receive(buffer(room), note(whole));
  pair.a.async_send(buffer("abcd", 4), beck::detached);
  run_all(ctx);
  CHECK(whole.ok());
  CHECK(whole.bytes == 4);
}

CONFORMANCE("a synchronous receive reports a cut datagram with the bytes that fit") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  pair.a.send(buffer("0123456789", 10));
  char room[4];
  error_code ec;
  udp::endpoint sender;
  CHECK(pair.b.receive_from(buffer(room), sender, 0, ec) == 4);
  CHECK(ec == error::message_size);
  CHECK(sender == pair.a.local_endpoint());
}

CONFORMANCE("a datagram is gathered from buffers and scattered into buffers") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char first[2], second[100];
  const std::array<beck::mutable_buffer, 3> into{buffer(first), beck::mutable_buffer(),
                                                 buffer(second)};
  const std::array<beck::const_buffer, 3> from{buffer("ab", 2), buffer("cde", 3), buffer("f", 1)};
  udp::endpoint sender;
  outcome sent, received;
  pair.b.async_receive_from(into, sender, note(received));
  pair.a.async_send_to(from, pair.b.local_endpoint(), note(sent));
  run_all(ctx);
  CHECK(sent.bytes == 6);
  CHECK(received.ok());
  CHECK(received.bytes == 6);
  CHECK(std::memcmp(first, "ab", 2) == 0);
  CHECK(std::memcmp(second, "cdef", 4) == 0);
}

CONFORMANCE("a datagram of more buffers than one call takes is refused whole") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  const std::vector<beck::const_buffer> parts(17, buffer("x", 1));
  error_code ec;
  CHECK(pair.a.send(parts, 0, ec) == 0);
  CHECK(ec == error::message_size);
  const std::vector<beck::const_buffer> fewer(16, buffer("x", 1));
  CHECK(pair.a.send(fewer, 0, ec) == 16);
  CHECK_FALSE(ec);
  char room[100];
  CHECK(pair.b.receive(buffer(room)) == 16);  // nothing of the first one was sent
}

CONFORMANCE("a datagram that is too large is refused, and the socket goes on") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  const std::string large = pattern(65'508);
  outcome refused, sent;
  pair.a.async_send(buffer(large), note(refused));
  run_all(ctx);
  CHECK(refused.ended_with(error::message_size));
  pair.a.async_send(buffer(large.data(), 1000), note(sent));
  run_all(ctx);
  CHECK(sent.ok());
  CHECK(sent.bytes == 1000);
}

CONFORMANCE("the largest datagram arrives whole") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  const std::string large = pattern(65'507);
  std::string room(70'000, '\0');
  outcome received;
  pair.b.async_receive(buffer(room), note(received));
  pair.a.async_send(buffer(large), beck::detached);
  run_all(ctx);
  CHECK(received.ok());
  CHECK(received.bytes == large.size());
  CHECK(room.compare(0, large.size(), large) == 0);
}

CONFORMANCE("receives complete in the order of their start, each with the next datagram") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  constexpr int count = 8;
  char rooms[count];
  outcome received[count];
  for (int i = 0; i < count; ++i) pair.b.async_receive(buffer(&rooms[i], 1), note(received[i]));
  let_settle(ctx);
  for (int i = 0; i < count; ++i) {
    const char byte = static_cast<char>('a' + i);
    pair.a.send(buffer(&byte, 1));
  }
  run_all(ctx);
  for (int i = 0; i < count; ++i) {
    CHECK(received[i].ok());
    CHECK(rooms[i] == 'a' + i);
  }
}

CONFORMANCE("a connected socket hears its peer only") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  udp::socket stranger(ctx, any_port_v4());
  char room[100];
  outcome received;
  pair.b.async_receive(buffer(room), note(received));
  stranger.send_to(buffer("no", 2), pair.b.local_endpoint());
  let_arrive(ctx);
  pair.a.send(buffer("yes", 3));
  run_all(ctx);
  CHECK(received.bytes == 3);
}

CONFORMANCE("connect can be called again for another peer, and opens a closed socket") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  udp::socket b(ctx, any_port_v4());
  udp::socket client(ctx);
  CHECK_FALSE(client.is_open());
  client.connect(a.local_endpoint());
  CHECK(client.remote_endpoint() == a.local_endpoint());
  client.send(buffer("1", 1));
  client.connect(b.local_endpoint());
  CHECK(client.remote_endpoint() == b.local_endpoint());
  client.send(buffer("22", 2));
  char room[10];
  CHECK(a.receive(buffer(room)) == 1);
  CHECK(b.receive(buffer(room)) == 2);
}

CONFORMANCE("an asynchronous connect completes without waiting") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  udp::socket client(ctx);
  outcome connected;
  client.async_connect(a.local_endpoint(), note(connected));
  CHECK(connected.calls == 0);
  run_all(ctx);
  CHECK(connected.ok());
  CHECK(client.remote_endpoint() == a.local_endpoint());
}

CONFORMANCE("without a peer send gives destination required, and remote_endpoint not_connected") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  error_code ec;
  a.send(buffer("x", 1), 0, ec);
  CHECK(ec == std::errc::destination_address_required);
  a.remote_endpoint(ec);
  CHECK(ec == error::not_connected);
  outcome sent;
  a.async_send(buffer("x", 1), note(sent));
  run_all(ctx);
  CHECK(sent.calls == 1);
  CHECK(sent.ec == std::errc::destination_address_required);
}

CONFORMANCE("a closed port is reported to a connected socket once, by a receive that waits") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  a.connect(beck::test::closed_port(ctx));
  char room[10];
  outcome refused, received;
  a.async_receive(buffer(room), note(refused));
  let_settle(ctx);
  a.send(buffer("x", 1));
  run_all(ctx);
  CHECK(refused.ended_with(error::connection_refused));
  udp::socket peer(ctx, a.remote_endpoint());
  a.async_receive(buffer(room), note(received));
  let_settle(ctx);
  peer.send_to(buffer("yes", 3), a.local_endpoint());
  run_all(ctx);
  CHECK(received.ok());  // the socket goes on
  CHECK(received.bytes == 3);
}

CONFORMANCE("a closed port is reported by the next send of a connected socket, and only by that") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  a.connect(beck::test::closed_port(ctx));
  a.send(buffer("x", 1));
  let_arrive(ctx);
  let_arrive(ctx);
  udp::socket peer(ctx, a.remote_endpoint());
  error_code ec;
  a.send(buffer("x", 1), 0, ec);
  CHECK(ec == error::connection_refused);
  a.send(buffer("x", 1), 0, ec);
  CHECK_FALSE(ec);
}

CONFORMANCE("a closed port is of no interest to a socket that is not connected") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  const udp::endpoint closed = beck::test::closed_port(ctx);
  for (int i = 0; i < 3; ++i) {
    error_code ec;
    CHECK(a.send_to(buffer("x", 1), closed, 0, ec) == 1);
    CHECK_FALSE(ec);
    let_arrive(ctx);
  }
}
