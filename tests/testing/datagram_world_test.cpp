// SPDX-License-Identifier: BSL-1.0
// Datagrams between simulated hosts: what links and faults do to them, and groups.
#include <doctest/doctest.h>
#include <beck/testing/sim.hpp>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/cancel_after.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local_datagram.hpp>
#include <beck/net/multicast.hpp>
#include <beck/net/udp.hpp>

using namespace beck;
using namespace beck::detail;
using udp = ip::udp;
namespace sim = beck::testing::sim;

namespace {

constexpr ip::port_type port = 53;

/// A socket that keeps what it receives.
class station {
 public:
  explicit station(sim::host& where)
      : context_(where), socket_(context_, udp::endpoint(udp::v4(), port)) {
    listen();
  }

  udp::socket& socket() { return socket_; }
  const std::vector<unsigned>& got() const { return got_; }
  error_code last_error() const { return last_error_; }

  void send(const udp::endpoint& to, unsigned number) {
    socket_.send_to(buffer(&number, sizeof number), to);
  }

 private:
  void listen() {
    socket_.async_receive_from(buffer(&number_, sizeof number_), from_,
                               [this](error_code ec, std::size_t) {
                                 if (ec == error::operation_aborted) return;
                                 last_error_ = ec;
                                 if (!ec) got_.push_back(number_);
                                 listen();
                               });
  }

  io_context context_;
  udp::socket socket_;
  unsigned number_ = 0;
  udp::endpoint from_;
  std::vector<unsigned> got_;
  error_code last_error_;
};

struct two_stations {
  explicit two_stations(std::uint64_t seed = 1, const sim::settings& how = sim::settings())
      : world(seed, how) {}

  void send(unsigned count) {
    for (unsigned i = 0; i < count; ++i) a.send(to_b, i);
    world.run_until_idle();
  }

  sim::world world;
  sim::host& host_a = world.host("a");
  sim::host& host_b = world.host("b");
  station a{host_a};
  station b{host_b};
  udp::endpoint to_b{ip::make_address("10.0.0.2"), port};
};

std::vector<unsigned> numbers(unsigned count) {
  std::vector<unsigned> all(count);
  for (unsigned i = 0; i < count; ++i) all[i] = i;
  return all;
}

sim::settings always(sim::fault which, double probability = 1) {
  return sim::settings().with(sim::faults::none().set(which, probability).in_every_seed());
}

}  // namespace

TEST_CASE("without faults all datagrams of a socket arrive, once and in order") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    two_stations net(seed);
    net.send(100);
    CHECK(net.b.got() == numbers(100));
  }
}

TEST_CASE("a lost datagram is lost for good, and its sender is not told") {
  two_stations net(1, always(sim::fault::loss));
  net.send(10);
  CHECK(net.b.got().empty());
  CHECK(net.world.count(sim::fault::loss) == 10);
}

TEST_CASE("the next datagrams of a host can be lost for sure") {
  two_stations net;
  net.host_a.inject(sim::fault::loss, 2);
  net.send(4);
  CHECK(net.b.got() == std::vector<unsigned>{2, 3});
}

TEST_CASE("a datagram can arrive twice") {
  two_stations net(1, always(sim::fault::duplication));
  net.send(3);
  std::vector<unsigned> got = net.b.got();
  std::sort(got.begin(), got.end());
  CHECK(got == std::vector<unsigned>{0, 0, 1, 1, 2, 2});
}

TEST_CASE("datagrams overtake each other where there is reordering") {
  bool overtaken = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    two_stations net(seed, always(sim::fault::reordering, 0.5));
    net.send(20);
    std::vector<unsigned> got = net.b.got();
    overtaken |= !std::is_sorted(got.begin(), got.end());
    std::sort(got.begin(), got.end());
    CHECK(got == numbers(20));
  }
  CHECK(overtaken);
}

TEST_CASE("what is sent over a link that is cut is lost, also what was on its way") {
  two_stations net;
  sim::link link = net.world.link(net.host_a, net.host_b);
  net.a.send(net.to_b, 7);
  link.cut();
  net.send(3);
  CHECK(net.b.got().empty());
  link.heal();
  net.send(2);
  CHECK(net.b.got() == numbers(2));
}

TEST_CASE("what is sent over a link that is clogged waits, and nothing is lost") {
  two_stations net;
  sim::link link = net.world.link(net.host_a, net.host_b);
  link.clog();
  net.send(3);
  CHECK(net.b.got().empty());
  link.unclog();
  net.world.run_until_idle();
  std::vector<unsigned> got = net.b.got();
  std::sort(got.begin(), got.end());
  CHECK(got == numbers(3));
}

TEST_CASE("datagrams queue in front of a narrow link") {
  two_stations net;
  net.world.path(net.host_a, net.host_b).bandwidth(4);  // one of them a second
  const time_point start = net.world.now();
  net.send(5);
  CHECK(net.b.got() == numbers(5));
  CHECK(net.world.now() - start >= duration(5'000'000'000));
}

TEST_CASE("a host without power swallows datagrams; afterwards its closed ports answer") {
  two_stations net;
  net.a.socket().connect(net.to_b);
  net.host_b.crash();
  net.send(3);
  CHECK_FALSE(net.a.last_error());
  net.host_b.restart();
  net.send(1);
  CHECK(net.a.last_error() == error::connection_refused);
}

TEST_CASE("a datagram to an address that no host has finds no way") {
  two_stations net;
  error_code ec;
  const unsigned number = 1;
  net.a.socket().send_to(buffer(&number, sizeof number),
                         udp::endpoint(ip::make_address("10.0.0.99"), port), 0, ec);
  CHECK(ec == error::network_unreachable);
}

TEST_CASE("a group has its members on several hosts") {
  two_stations net;
  station c(net.world.host("c"));
  const ip::address group = ip::make_address("239.1.2.3");
  net.a.socket().set_option(ip::multicast::join_group(group));
  net.b.socket().set_option(ip::multicast::join_group(group));
  net.a.send({group, port}, 0);
  net.world.run_until_idle();
  CHECK(net.a.got() == numbers(1));
  CHECK(net.b.got() == numbers(1));
  CHECK(c.got().empty());
  net.a.socket().set_option(ip::multicast::enable_loopback(0));
  net.a.send({group, port}, 1);
  net.world.run_until_idle();
  CHECK(net.a.got() == numbers(1));
  CHECK(net.b.got() == numbers(2));
}

TEST_CASE("a world of datagrams is the same whenever it has the same seed") {
  const auto play = [](std::uint64_t seed) {
    two_stations net(seed, sim::settings().with(sim::faults()));
    net.send(50);
    return std::make_pair(net.world.hash(), net.b.got());
  };
  bool differs = false;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto first = play(seed);
    CHECK(first == play(seed));
    differs |= first.second != play(seed + 1).second;
  }
  CHECK(differs);
}

TEST_CASE("a tape of datagrams replays what was lost, repeated and overtaken") {
  const sim::settings rough = sim::settings().with(sim::faults());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    sim::settings recording = rough;
    std::vector<unsigned> got;
    const auto play = [&got](sim::world& world) {
      station a(world.host("a"));
      station b(world.host("b"));
      for (unsigned i = 0; i < 30; ++i) a.send({ip::make_address("10.0.0.2"), port}, i);
      world.run_until_idle();
      got = b.got();
      return world.hash();
    };
    sim::world first(seed, recording.record());
    const std::uint64_t hash = play(first);
    const std::vector<unsigned> before = got;
    const sim::tape tape = first.tape();
    sim::world again(tape, rough);
    CHECK(play(again) == hash);
    CHECK(got == before);
  }
}

TEST_CASE("the trace of a world shows datagrams as they arrive") {
  std::string lines;  // outlives the world, which traces to its end
  two_stations net;
  net.world.trace([](const char* line, void* data) { *static_cast<std::string*>(data) += line; },
                  &lines);
  net.send(1);
  CHECK(lines.find("a -> b: datagram of 4") != std::string::npos);
}

TEST_CASE("a broadcast reaches every host, and only a socket that may send one sends it") {
  two_stations net;
  const udp::endpoint everybody(ip::make_address("255.255.255.255"), port);
  const unsigned number = 0;
  error_code ec;
  net.a.socket().send_to(buffer(&number, sizeof number), everybody, 0, ec);
  CHECK(ec == error::access_denied);
  net.a.socket().set_option(udp::socket::broadcast(true));
  net.a.send(everybody, 0);
  net.world.run_until_idle();
  CHECK(net.a.got() == numbers(1));
  CHECK(net.b.got() == numbers(1));
}

TEST_CASE("who asks again until there is an answer gets all answers, whatever strikes") {
  constexpr unsigned questions = 10;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    sim::world world(seed, sim::settings().with(sim::faults()));
    io_context on_server(world.host("a"));
    io_context on_client(world.host("b"));
    udp::socket server(on_server, udp::endpoint(udp::v4(), port));
    udp::socket client(on_client, udp::endpoint(udp::v4(), 0));
    client.connect({ip::make_address("10.0.0.1"), port});
    unsigned answered = 0;
    const auto serve = [&]() -> task<> {
      unsigned number = 0;
      udp::endpoint from;
      for (;;) {
        const auto [ec, n] =
            co_await server.async_receive_from(buffer(&number, sizeof number), from);
        if (ec == error::operation_aborted) co_return;
        if (!ec) ignore(co_await server.async_send_to(buffer(&number, n), from));
      }
    };
    const auto ask = [&]() -> task<> {
      while (answered < questions) {
        ignore(co_await client.async_send(buffer(&answered, sizeof answered)));
        unsigned number = 0;
        const auto [ec, n] = co_await client.async_receive(
            buffer(&number, sizeof number), cancel_after(duration(50'000'000), deferred));
        if (!ec && n == sizeof number && number == answered) ++answered;
      }
      server.close();
    };
    co_spawn(on_server, serve, detached);
    co_spawn(on_client, ask, detached);
    world.run();
    CHECK(answered == questions);
  }
}

TEST_CASE("UNIX datagrams arrive, once and in order, whatever strikes") {
  using protocol = local::datagram_protocol;
  constexpr unsigned count = 100;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    sim::world world(seed, sim::settings().with(sim::faults()));
    io_context ctx(world.host("a"));
    protocol::socket a(ctx), b(ctx);
    connect_pair(a, b);
    unsigned right = 0;
    const auto send = [&]() -> task<> {
      for (unsigned i = 0; i < count; ++i) {
        (co_await a.async_send(buffer(&i, sizeof i))).value();
      }
    };
    const auto receive = [&]() -> task<> {
      for (unsigned i = 0; i < count; ++i) {
        unsigned number = 0;
        (co_await b.async_receive(buffer(&number, sizeof number))).value();
        right += number == i ? 1 : 0;
      }
    };
    co_spawn(ctx, send, detached);
    co_spawn(ctx, receive, detached);
    world.run();
    CHECK(right == count);
  }
}
