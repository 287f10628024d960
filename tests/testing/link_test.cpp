// SPDX-License-Identifier: BSL-1.0
// Links between hosts: slow ones, narrow ones, and those that let nothing through.
#include <doctest/doctest.h>
#include <beck/testing/sim.hpp>

#include <ostream>
#include <string>

#include "testing/two_hosts.hpp"

using namespace beck;
using beck::test::two_contexts;
namespace sim = beck::testing::sim;

namespace {
using beck::test::seconds;
constexpr duration second = seconds(1);
constexpr duration ms(1'000'000);
}  // namespace

TEST_CASE("a link's delay is how long each message travels") {
  two_contexts net;
  net.world.link(net.server, net.client).delay(ms, ms);
  const time_point start = net.world.now();
  net.start("hello");
  net.world.run_until_idle();
  CHECK(net.answer == "hello");
  CHECK(net.connected_at - start >= ms + ms);  // there and back
  CHECK(net.connected_at - start < ms + ms + ms);
  CHECK(net.answered_at - net.connected_at >= ms + ms);
  CHECK_THROWS_AS(net.world.link(net.server, net.client).delay(ms, duration(0)), io_error);
}

TEST_CASE("a path slows one direction down and not the other") {
  two_contexts net;
  net.world.path(net.client, net.server).delay(second, second);
  const time_point start = net.world.now();
  net.start("hello");
  net.world.run_until_idle();
  CHECK(net.connected_at - start >= second);
  CHECK(net.connected_at - start < second + ms);
  CHECK(net.answered_at - net.connected_at < second + ms);
}

TEST_CASE("bytes queue in front of a narrow link") {
  two_contexts net;
  net.world.path(net.client, net.server).bandwidth(1'000);
  net.start(std::string(5'000, 'x'));
  net.world.run_until_idle();
  CHECK(net.answer.size() == 5'000);
  CHECK(net.answered_at - net.connected_at >= duration(5'000'000'000));
  CHECK(net.answered_at - net.connected_at < duration(5'100'000'000));
}

TEST_CASE("what is sent over a link that is cut arrives some time after it was healed") {
  two_contexts net;
  sim::link link = net.world.link(net.server, net.client);
  net.start("hello");
  net.world.run_until_idle();
  link.cut();
  std::size_t sent = 0;
  std::string got(3, '\0');
  std::size_t received = 0;
  net.socket.async_write_some(buffer("abc", 3), [&](error_code, std::size_t n) { sent = n; });
  async_read(net.socket, buffer(got), [&](error_code, std::size_t n) { received = n; });
  net.world.run_for(seconds(10));
  CHECK(sent == 3);
  CHECK(net.echoed == 5);
  link.heal();
  const time_point healed = net.world.now();
  net.world.run_until_idle();
  CHECK(received == 3);
  CHECK(got == "abc");
  CHECK(net.world.now() > healed + ms);  // TCP had to send it again
}

TEST_CASE("what was already on its way is lost with the link, and keeps its place") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    two_contexts net(seed, sim::settings().split_probability(0.9));
    const std::string text = "the quick brown fox jumps over the lazy dog";
    net.start(text);
    net.world.run_for(duration(600'000));  // in the middle of something
    net.world.link(net.server, net.client).cut();
    net.world.run_for(second);
    const bool was_answered = net.answer == text;
    net.world.link(net.server, net.client).heal();
    net.world.run_for(seconds(10));
    CHECK(net.answer == text);
    CHECK(net.echoed == text.size());
    CHECK_FALSE(was_answered);
  }
}

TEST_CASE("a connect over a link that is cut times out after two minutes") {
  two_contexts net;
  net.world.link(net.server, net.client).cut();
  const time_point start = net.world.now();
  net.start("hello");
  net.world.run_for(seconds(120));
  CHECK(net.connected_at == time_point());
  net.world.run_for(seconds(10));
  CHECK(net.connect_result == error::timed_out);
  CHECK(net.connected_at - start >= seconds(127));
  net.world.heal();
  net.socket.close();
  bool connected = false;
  net.socket.async_connect(net.server_endpoint(), [&](error_code ec) { connected = !ec; });
  net.world.run_until_idle();
  CHECK(connected);
}

TEST_CASE("a connect whose answer gets lost is in once the link is healed, or times out") {
  for (const bool healed : {true, false}) {
    two_contexts net;
    net.world.path(net.server, net.client).cut();
    net.start("hello");
    net.world.run_for(seconds(5));
    CHECK(net.connected_at == time_point());
    if (healed) net.world.heal();
    net.world.run_for(seconds(200));
    if (healed) {
      CHECK(net.answer == "hello");
    } else {
      CHECK(net.connect_result == error::timed_out);
    }
  }
}

TEST_CASE("a sender over a link that stays cut times out, and its peer learns it when it sends") {
  two_contexts net;
  net.start("hello");
  net.world.run_until_idle();
  net.world.link(net.server, net.client).cut();
  error_code read;
  char data[8];
  net.socket.async_write_some(buffer("x", 1), [](error_code, std::size_t) {});
  net.socket.async_read_some(buffer(data), [&](error_code ec, std::size_t) { read = ec; });
  net.world.run_for(seconds(1000));
  CHECK(read == error::timed_out);
  CHECK_FALSE(net.echo_end);
  net.world.heal();
  net.world.run_for(seconds(1000));
  CHECK(net.echoed == 5);  // what was lost is lost
  CHECK_FALSE(net.echo_end);
}

TEST_CASE("a reset that gets lost leaves its receiver half open until it sends") {
  two_contexts net;
  net.start("hello");
  net.world.run_until_idle();
  net.world.link(net.server, net.client).cut();
  net.socket.set_option(socket_base::linger(true, 0));
  net.socket.close();
  net.world.run_for(second);
  net.world.heal();
  net.world.run_for(seconds(1000));
  CHECK_FALSE(net.echo_end);
}

TEST_CASE("a clogged link holds everything back and loses nothing") {
  two_contexts net;
  sim::link link = net.world.link(net.server, net.client);
  link.clog();
  net.start("hello");
  net.world.run_for(seconds(100));
  CHECK(net.connected_at == time_point());
  link.unclog();
  const time_point open = net.world.now();
  net.world.run_until_idle();
  CHECK(net.answer == "hello");
  CHECK(net.answered_at - open < ms);  // nothing had to be sent again
}

TEST_CASE("a partition parts hosts from all others and leaves them each other") {
  sim::world world(1, sim::settings().calm());
  sim::host* hosts[] = {&world.host("a"), &world.host("b"), &world.host("c"), &world.host("d")};
  io_context a(*hosts[0]), b(*hosts[1]), c(*hosts[2]), d(*hosts[3]);
  io_context* contexts[] = {&a, &b, &c, &d};
  world.partition(*hosts[0], *hosts[1]);
  const auto reaches = [&](int from, int to) {
    ip::tcp::acceptor acceptor(*contexts[to], ip::tcp::endpoint(ip::tcp::v4(), 80));
    ip::tcp::socket socket(*contexts[from]);
    const std::string address = "10.0.0." + std::to_string(to + 1);
    bool connected = false;
    socket.async_connect(ip::tcp::endpoint(ip::make_address(address), 80),
                         [&](error_code ec) { connected = !ec; });
    world.run_until_idle();
    const bool reached = connected;
    socket.close();
    world.run_until_idle();
    return reached;
  };
  CHECK(reaches(0, 1));
  CHECK(reaches(2, 3));
  CHECK_FALSE(reaches(0, 2));
  CHECK_FALSE(reaches(3, 1));
  world.heal();
  CHECK(reaches(0, 2));
  CHECK(reaches(3, 1));
}
