// SPDX-License-Identifier: BSL-1.0
// Batches of datagrams, what is said beside their bytes, segmentation offload and multicast.
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include <beck/net/datagram_batch.hpp>
#include <beck/net/multicast.hpp>

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
namespace ip = beck::ip;

CONFORMANCE("a batch receives what is there by one call, each with its sender") {
  beck::io_context ctx(context_options());
  udp::socket server(ctx, any_port_v4());
  udp::socket a(ctx, any_port_v4());
  udp::socket b(ctx, any_port_v4());
  a.send_to(buffer("one", 3), server.local_endpoint());
  let_arrive(ctx);
  b.send_to(buffer("three", 5), server.local_endpoint());
  let_arrive(ctx);
  a.send_to(beck::const_buffer(), server.local_endpoint());
  let_arrive(ctx);
  char memory[8 * 100];
  udp::receive_batch<8> batch(buffer(memory), 100);
  CHECK(batch.room() == 8);
  outcome received;
  server.async_receive_many(batch, note(received));
  run_all(ctx);
  REQUIRE(received.ok());
  REQUIRE(received.bytes == 3);
  REQUIRE(batch.received() == 3);
  CHECK(batch[0].size() == 3);
  CHECK(std::memcmp(batch[1].data().data(), "three", 5) == 0);
  CHECK(batch[0].sender() == a.local_endpoint());
  CHECK(batch[1].sender() == b.local_endpoint());
  CHECK(batch[2].size() == 0);
  CHECK_FALSE(batch[0].truncated());
  CHECK(batch[0].segment_size() == 0);
}

CONFORMANCE("a batch waits for the first datagram, and can be used again") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char memory[4 * 10];
  udp::receive_batch<4> batch(buffer(memory), 10);
  for (std::size_t round = 1; round < 5; ++round) {
    outcome received;
    pair.b.async_receive_many(batch, note(received));
    let_settle(ctx);
    CHECK_FALSE(received.done());
    const std::string text(round, 'x');
    pair.a.send(buffer(text));
    run_all(ctx);
    REQUIRE(received.ok());
    REQUIRE(batch.received() == 1);
    CHECK(batch[0].size() == round);
    CHECK(batch[0].sender() == pair.a.local_endpoint());
  }
}

CONFORMANCE("a batch that was filled leaves the rest for the next one") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  for (int i = 0; i < 5; ++i) pair.a.send(buffer("abc", 3));
  let_arrive(ctx);
  char memory[3 * 10];
  udp::receive_batch<3> batch(buffer(memory), 10);
  outcome first, second;
  pair.b.async_receive_many(batch, note(first));
  run_all(ctx);
  pair.b.async_receive_many(batch, note(second));
  run_all(ctx);
  CHECK(first.bytes == 3);
  CHECK(second.bytes == 2);
}

CONFORMANCE("of a batch each datagram tells whether it was cut") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  pair.a.send(buffer("0123456789", 10));
  pair.a.send(buffer("01", 2));
  let_arrive(ctx);
  char memory[2 * 4];
  udp::receive_batch<2> batch(buffer(memory), 4);
  error_code ec;
  CHECK(pair.b.receive_many(batch, ec) == 2);
  CHECK_FALSE(ec);
  CHECK(batch[0].truncated());
  CHECK(batch[0].size() == 4);
  CHECK_FALSE(batch[1].truncated());
}

CONFORMANCE("a batch is sent in its order, to one peer or to several") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  udp::socket other(ctx, any_port_v4());
  udp::send_batch<4> batch;
  batch.add(buffer("1", 1));
  batch.add(buffer("22", 2), other.local_endpoint());
  batch.add(buffer("333", 3));
  CHECK(batch.size() == 3);
  outcome sent;
  pair.a.async_send_many(batch, note(sent));
  run_all(ctx);
  CHECK(sent.ok());
  CHECK(sent.bytes == 3);
  char room[10];
  CHECK(pair.b.receive(buffer(room)) == 1);
  CHECK(pair.b.receive(buffer(room)) == 3);
  CHECK(other.receive(buffer(room)) == 2);
}

CONFORMANCE("after the error of one datagram of a batch the rest can be sent") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  const std::string large = pattern(70'000);
  udp::send_batch<3> batch;
  batch.add(buffer("a", 1));
  batch.add(buffer(large));
  batch.add(buffer("ccc", 3));
  error_code ec;
  const std::size_t n = pair.a.send_many(batch, ec);
  CHECK(ec == error::message_size);
  CHECK(n == 1);
  batch.discard(n + 1);
  CHECK(batch.size() == 1);
  CHECK(pair.a.send_many(batch, ec) == 1);
  CHECK_FALSE(ec);
  char room[10];
  CHECK(pair.b.receive(buffer(room)) == 1);
  CHECK(pair.b.receive(buffer(room)) == 3);
  batch.clear();
  CHECK(pair.a.send_many(batch, ec) == 0);  // nothing to send
  CHECK_FALSE(ec);
}

CONFORMANCE("what is discarded from a batch makes room for as many") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  udp::socket other(ctx, any_port_v4());
  udp::send_batch<3> batch;
  batch.add(buffer("a", 1));
  batch.add(buffer("bb", 2), other.local_endpoint());
  batch.add(buffer("ccc", 3));
  batch.discard(1);
  batch.add(buffer("dddd", 4), other.local_endpoint());
  batch.discard(1);
  batch.add(buffer("eeeee", 5)).source(ip::address_v4::loopback());
  batch.discard(0);
  REQUIRE(batch.size() == 3);
  error_code ec;
  CHECK(pair.a.send_many(batch, ec) == 3);
  CHECK_FALSE(ec);
  char room[10];
  CHECK(pair.b.receive(buffer(room)) == 3);
  CHECK(pair.b.receive(buffer(room)) == 5);
  CHECK(other.receive(buffer(room)) == 4);
  batch.discard(1);
  batch.add(buffer("ffffff", 6));
  CHECK(pair.a.send_many(batch, ec) == 3);
  CHECK(pair.b.receive(buffer(room)) == 5);
  CHECK(pair.b.receive(buffer(room)) == 6);
}

CONFORMANCE("tasks move a thousand datagrams in batches") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  constexpr std::size_t rounds = 50, each = 20;
  std::size_t received = 0, wrong = 0;
  auto receive = [&]() -> beck::task<> {
    unsigned numbers[32];
    udp::receive_batch<32> batch(buffer(numbers), sizeof(unsigned));
    while (received < rounds * each) {
      const std::size_t n = (co_await pair.b.async_receive_many(batch)).value();
      for (std::size_t i = 0; i < n; ++i) wrong += numbers[i] == received + i ? 0u : 1u;
      received += n;
      if (received % each == 0) (co_await pair.b.async_send(buffer("go", 2))).value();
    }
  };
  auto send = [&]() -> beck::task<> {
    unsigned numbers[each];
    udp::send_batch<each> batch;
    char go[2];
    for (std::size_t round = 0; round < rounds; ++round) {
      batch.clear();
      for (std::size_t i = 0; i < each; ++i) {
        numbers[i] = static_cast<unsigned>(round * each + i);
        batch.add(buffer(&numbers[i], sizeof(unsigned)));
      }
      CHECK((co_await pair.a.async_send_many(batch)).value() == each);
      (co_await pair.a.async_receive(buffer(go))).value();
    }
  };
  beck::co_spawn(ctx, receive, beck::detached);
  run_task(ctx, send);
  CHECK(received == rounds * each);
  CHECK(wrong == 0);
}

CONFORMANCE("a cancelled batch ends with operation_aborted and nothing received") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  char memory[2 * 4];
  udp::receive_batch<2> batch(buffer(memory), 4);
  outcome received;
  pair.b.async_receive_many(batch, note(received));
  let_settle(ctx);
  pair.b.cancel();
  run_all(ctx);
  CHECK(received.aborted());
  CHECK(batch.received() == 0);
}

CONFORMANCE("a closed port is reported to a batch, once") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, any_port_v4());
  a.connect(beck::test::closed_port(ctx));
  char memory[2 * 4];
  udp::receive_batch<2> batch(buffer(memory), 4);
  outcome refused, received;
  a.async_receive_many(batch, note(refused));
  let_settle(ctx);
  a.send(buffer("x", 1));
  run_all(ctx);
  CHECK(refused.ended_with(error::connection_refused));
  udp::socket peer(ctx, a.remote_endpoint());
  a.async_receive_many(batch, note(received));
  let_settle(ctx);
  peer.send_to(buffer("yes", 3), a.local_endpoint());
  run_all(ctx);
  CHECK(received.ok());
}

CONFORMANCE("a datagram tells where it was sent to, and an answer can come from there") {
  beck::io_context ctx(context_options());
  udp::socket server(ctx, udp::endpoint(udp::v4(), 0));
  server.set_option(ip::receive_packet_info(1));
  ip::receive_packet_info on;
  server.get_option(on);
  CHECK(static_cast<bool>(on));
  udp::socket client(ctx, any_port_v4());
  client.send_to(buffer("x", 1), {ip::address_v4::loopback(), server.local_endpoint().port()});
  char memory[2 * 4];
  udp::receive_batch<2> batch(buffer(memory), 4);
  error_code ec;
  REQUIRE(server.receive_many(batch, ec) == 1);
  CHECK(batch[0].destination() == ip::address(ip::address_v4::loopback()));
  CHECK(batch[0].interface_index() != 0);
  udp::send_batch<1> answer;
  answer.add(buffer("y", 1), batch[0].sender()).source(batch[0].destination());
  CHECK(server.send_many(answer, ec) == 1);
  CHECK_FALSE(ec);
  char room[4];
  udp::endpoint from;
  CHECK(client.receive_from(buffer(room), from) == 1);
  CHECK(from.address() == ip::address(ip::address_v4::loopback()));
}

CONFORMANCE("packet information exists for IPv6 too, and only where it was asked for") {
  beck::io_context ctx(context_options());
  udp::socket server(ctx, udp::endpoint(udp::v6(), 0));
  udp::socket client(ctx, any_port_v6());
  const udp::endpoint to(ip::address_v6::loopback(), server.local_endpoint().port());
  char memory[2 * 4];
  udp::receive_batch<2> batch(buffer(memory), 4);
  error_code ec;
  client.send_to(buffer("x", 1), to);
  REQUIRE(server.receive_many(batch, ec) == 1);
  CHECK(batch[0].destination().is_unspecified());
  CHECK(batch[0].interface_index() == 0);
  server.set_option(ip::receive_packet_info(1));
  client.send_to(buffer("x", 1), to);
  REQUIRE(server.receive_many(batch, ec) == 1);
  CHECK(batch[0].destination() == ip::address(ip::address_v6::loopback()));
}

// --- segmentation offload: simulated sockets say that they have none -----------------------------

CONFORMANCE_ON(beck::test::sim, "a socket without segmentation offload says so by name") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  error_code ec;
  pair.a.set_option(udp::send_segment_size(100), ec);
  CHECK(ec == error::no_protocol_option);
  pair.a.set_option(udp::receive_coalesced(true), ec);
  CHECK(ec == error::no_protocol_option);
}

CONFORMANCE_ON(beck::test::kernel, "one send becomes many datagrams of a segment size") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  const std::string bytes = pattern(1050);
  udp::send_batch<1> out;
  out.add(buffer(bytes)).segment_size(100);
  outcome sent;
  pair.a.async_send_many(out, note(sent));
  run_all(ctx);
  CHECK(sent.ok());
  std::string all;
  char room[2000];
  for (int i = 0; i < 11; ++i) {
    const std::size_t n = pair.b.receive(buffer(room));
    CHECK(n == (i < 10 ? 100 : 50));
    all.append(room, n);
  }
  CHECK(all == bytes);
}

CONFORMANCE_ON(beck::test::kernel, "a segment size of the socket holds for every send") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  pair.a.set_option(udp::send_segment_size(10));
  outcome sent;
  pair.a.async_send(buffer("0123456789abcdefghij", 20), note(sent));
  run_all(ctx);
  CHECK(sent.bytes == 20);
  char room[100];
  CHECK(pair.b.receive(buffer(room)) == 10);
  CHECK(pair.b.receive(buffer(room)) == 10);
}

CONFORMANCE_ON(beck::test::kernel,
               "datagrams of one size are received as one that tells the size") {
  beck::io_context ctx(context_options());
  udp_pair pair(ctx);
  pair.b.set_option(udp::receive_coalesced(true));
  const std::string bytes = pattern(1050);
  udp::send_batch<1> out;
  out.add(buffer(bytes)).segment_size(100);
  error_code ec;
  REQUIRE(pair.a.send_many(out, ec) == 1);
  std::vector<char> memory(65'536);
  udp::receive_batch<1> batch(buffer(memory), memory.size());
  std::string all;
  bool coalesced = false;
  while (all.size() < bytes.size()) {
    REQUIRE(pair.b.receive_many(batch, ec) == 1);
    coalesced |= batch[0].segment_size() == 100 && batch[0].size() > 100;
    all.append(static_cast<const char*>(batch[0].data().data()), batch[0].size());
  }
  CHECK(coalesced);
  CHECK(all == bytes);
}

// --- multicast -----------------------------------------------------------------------------------

CONFORMANCE("members of a group get what is sent to it, others do not") {
  beck::io_context ctx(context_options());
  const ip::address_v4 group(ip::address_v4::bytes_type(239, 255, 12, 7));
  udp::socket member(ctx, udp::v4());
  member.bind(udp::endpoint(udp::v4(), 0));
  member.set_option(ip::multicast::join_group(group, ip::address_v4::loopback()));
  udp::socket sender(ctx, any_port_v4());
  sender.set_option(ip::multicast::outbound_interface(ip::address_v4::loopback()));
  const udp::endpoint to(group, member.local_endpoint().port());
  sender.send_to(buffer("abc", 3), to);
  char room[10];
  udp::endpoint from;
  CHECK(member.receive_from(buffer(room), from) == 3);
  CHECK(from.port() == sender.local_endpoint().port());
  member.set_option(ip::multicast::leave_group(group, ip::address_v4::loopback()));
  member.non_blocking(true);
  sender.send_to(buffer("abc", 3), to);
  let_arrive(ctx);
  error_code ec;
  member.receive(buffer(room), 0, ec);
  CHECK(ec == error::would_block);
}

CONFORMANCE("a group of IPv6 is joined on an interface by its number") {
  beck::io_context ctx(context_options());
  constexpr unsigned loopback = 1;
  const ip::address_v6 group = ip::make_address_v6("ff01::1234");
  udp::socket member(ctx, udp::endpoint(udp::v6(), 0));
  member.set_option(ip::multicast::join_group(group, loopback));
  udp::socket sender(ctx, any_port_v6());
  sender.set_option(ip::multicast::outbound_interface(loopback));
  error_code ec;
  sender.send_to(buffer("abc", 3), {group, member.local_endpoint().port()}, 0, ec);
  if (ec == error::network_unreachable)
    SKIP_CASE("the loopback device here has no route for IPv6 multicast");
  CHECK_FALSE(ec);
  char room[10];
  udp::endpoint from;
  CHECK(member.receive_from(buffer(room), from) == 3);
  CHECK(from.port() == sender.local_endpoint().port());
}

CONFORMANCE("a group is joined once and left once") {
  beck::io_context ctx(context_options());
  const ip::address_v4 group(ip::address_v4::bytes_type(239, 255, 12, 8));
  const ip::address_v4 interface = ip::address_v4::loopback();
  udp::socket member(ctx, any_port_v4());
  error_code ec;
  member.set_option(ip::multicast::join_group(group, interface), ec);
  CHECK_FALSE(ec);
  member.set_option(ip::multicast::join_group(group, interface), ec);
  CHECK(ec == error::address_in_use);
  member.set_option(ip::multicast::leave_group(group, interface), ec);
  CHECK_FALSE(ec);
  member.set_option(ip::multicast::leave_group(group, interface), ec);
  CHECK(ec == error::address_not_available);
  member.set_option(ip::multicast::join_group(ip::address_v4::loopback(), interface), ec);
  CHECK(ec == error::invalid_argument);
}

CONFORMANCE("hops and loopback of multicast have their numbers for both versions of IP") {
  beck::io_context ctx(context_options());
  for (const udp::endpoint& local : {any_port_v4(), any_port_v6()}) {
    udp::socket s(ctx, local);
    ip::multicast::hops hops;
    ip::multicast::enable_loopback loopback;
    s.get_option(hops);
    s.get_option(loopback);
    CHECK(hops.value() == 1);
    CHECK(loopback.value() == 1);
    s.set_option(ip::multicast::hops(7));
    s.set_option(ip::multicast::enable_loopback(0));
    s.set_option(ip::unicast::hops(33));
    s.get_option(hops);
    s.get_option(loopback);
    CHECK(hops.value() == 7);
    CHECK(loopback.value() == 0);
    ip::unicast::hops unicast;
    s.get_option(unicast);
    CHECK(unicast.value() == 33);
  }
  udp::socket closed(ctx);
  error_code ec;
  closed.set_option(ip::multicast::hops(7), ec);
  CHECK(ec == error::bad_descriptor);
}

// What leaves by the loopback device comes back by it, whatever the option says.
CONFORMANCE_ON(beck::test::sim, "without loopback the sender's own host hears nothing") {
  beck::io_context ctx(context_options());
  const ip::address_v4 group(ip::address_v4::bytes_type(239, 255, 12, 9));
  udp::socket member(ctx, udp::endpoint(udp::v4(), 0));
  member.set_option(ip::multicast::join_group(group, ip::address_v4::loopback()));
  udp::socket sender(ctx, any_port_v4());
  sender.set_option(ip::multicast::outbound_interface(ip::address_v4::loopback()));
  sender.set_option(ip::multicast::enable_loopback(0));
  error_code ec;
  sender.send_to(buffer("abc", 3), {group, member.local_endpoint().port()}, 0, ec);
  let_arrive(ctx);
  member.non_blocking(true);
  char room[10];
  member.receive(buffer(room), 0, ec);
  CHECK(ec == error::would_block);
}
