// SPDX-License-Identifier: BSL-1.0
// A world that runs its contexts itself.
#include <doctest/doctest.h>
#include <beck/testing/sim.hpp>

#include <beck/run/post.hpp>
#include <beck/run/work_guard.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>

#include "base/dies.hpp"
#include "testing/captured_errors.hpp"
#include "testing/two_hosts.hpp"

using namespace beck;
using namespace beck::detail;
using beck::test::two_contexts;
namespace sim = beck::testing::sim;

namespace {

using beck::test::seconds;
constexpr duration second = seconds(1);

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a world runs a client and a server on two hosts until both are done") {
  two_contexts net(1, sim::settings());
  net.start("hello");
  net.on_client.get_executor().execute([] {});
  bool closed = false;
  steady_timer timer(net.on_client, second);
  timer.async_wait([&](error_code) {
    net.socket.close();
    closed = true;
  });
  CHECK(net.world.run() > 4);
  CHECK(net.answer == "hello");
  CHECK(closed);
  CHECK(net.echo_end == error::eof);
  CHECK_FALSE(net.on_server.stopped());
  CHECK(net.world.run() == 0);
}

TEST_CASE("callbacks and tasks of several contexts take turns in an order that the seed decides") {
  const auto order_of = [](std::uint64_t seed) {
    sim::world world(seed);
    io_context a(world.host("a"));
    io_context b(world.host("b"));
    std::string order;
    for (int i = 0; i < 8; ++i) {
      post(a, [&order] { order += 'a'; });
      post(b, [&order] { order += 'b'; });
    }
    CHECK(world.run() == 16);
    CHECK(order.size() == 16);
    return order;
  };
  int different = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const std::string order = order_of(seed);
    CHECK(order == order_of(seed));
    different += order == order_of(seed + 1) ? 0 : 1;
    CHECK(contains(order, "ab"));
    CHECK(contains(order, "ba"));
  }
  CHECK(different > 24);
}

TEST_CASE("a context that ran out of work goes on when another one gives it some") {
  sim::world world(1);
  io_context a(world.host("a"));
  io_context b(world.host("b"));
  bool ran = false;
  steady_timer timer(a, second);
  timer.async_wait([&](error_code) { post(b, [&ran] { ran = true; }); });
  CHECK(world.run() == 2);
  CHECK(ran);
}

TEST_CASE("a stopped context is left alone until it is restarted") {
  sim::world world(1);
  io_context a(world.host("a"));
  io_context b(world.host("b"));
  int ran = 0;
  post(a, [&ran] { ++ran; });
  post(b, [&ran] { ++ran; });
  a.stop();
  CHECK(world.run() == 1);
  CHECK(ran == 1);
  a.restart();
  CHECK(world.run() == 1);
  CHECK(ran == 2);
}

TEST_CASE("a server that accepts for ever is idle when nothing is on its way any more") {
  two_contexts net;
  net.start("hello");
  steady_timer far(net.on_client, seconds(1));
  bool fired = false;
  far.async_wait([&fired](error_code) { fired = true; });
  CHECK(net.world.run_until_idle() > 4);
  CHECK(net.answer == "hello");
  CHECK_FALSE(fired);  // no message takes a second
  CHECK(net.world.run_until_idle() == 0);
  CHECK(net.world.run_for(second) == 1);
  CHECK(fired);
}

TEST_CASE("running a world for a time lets this time pass and runs what is due at its end") {
  sim::world world(1);
  io_context a(world.host("a"));
  const time_point start = world.now();
  CHECK(world.run_for(second) == 0);
  CHECK(world.now() == start + second);
  std::string order;
  steady_timer at_the_end(a, second), after_it(a, second + duration(2'000'000));
  at_the_end.async_wait([&order](error_code) { order += "end "; });
  after_it.async_wait([&order](error_code) { order += "after"; });
  CHECK(world.run_for(second) == 1);
  CHECK(order == "end ");
  CHECK(world.now() >= start + second + second);
  CHECK(world.now() < start + second + second + duration(1'000'000));
}

TEST_CASE("an endless chain of posts does not keep a world from ending its time") {
  sim::world world(1);
  io_context ctx(world.host("a"));
  struct chain {
    io_context& ctx;
    void operator()() { post(ctx, chain{ctx}); }
  };
  post(ctx, chain{ctx});
  const time_point start = world.now();
  CHECK(world.run_for(duration(5'000'000)) > 100);
  CHECK(world.now() < start + duration(7'000'000));
}

TEST_CASE("what a handler throws leaves the world's run, and the rest runs later") {
  sim::world world(1);
  io_context ctx(world.host("a"));
  bool ran = false;
  post(ctx, [] { throw std::runtime_error("thrown"); });
  post(ctx, [&ran] { ran = true; });
  CHECK_THROWS_WITH_AS(world.run(), "thrown", std::runtime_error);
  CHECK(world.run() == 1);
  CHECK(ran);
}

TEST_CASE("a world in which nothing can ever happen ends and says on which host what waits") {
  const std::string text = dies_with([] {
    two_contexts net;
    net.start("hello");
    const auto guard = make_work_guard(net.on_client);
    net.world.run();
  });
  CHECK(contains(text, "nothing can happen"));
  CHECK(contains(text, "on host server: read on descriptor 1001"));
  CHECK(contains(text, "on host client: only a work guard"));
}

TEST_CASE("a context that waits for ever alone says that others could go on") {
  const std::string text = dies_with([] {
    two_contexts net;
    net.start("hello");
    net.on_server.run();
  });
  CHECK(contains(text, "on host server: accept on descriptor 1000"));
  CHECK(contains(text, "world::run()"));
}

TEST_CASE("a private world of one context still runs by itself, with the hash of its seed") {
  const auto hash_of = [](std::uint64_t seed) {
    two_contexts net(seed, sim::settings());
    net.start("hello");
    net.world.run_until_idle();
    return net.world.hash();
  };
  CHECK(hash_of(1) == hash_of(1));
  CHECK(hash_of(1) != hash_of(2));
}

// --- hosts that crash ----------------------------------------------------------------------------

TEST_CASE("the peer of a host that crashed notices nothing, and gets a reset after its restart") {
  two_contexts net;
  net.start("hello");
  net.world.run_until_idle();
  REQUIRE(net.answer == "hello");
  net.server.crash();
  CHECK_FALSE(net.server.is_up());
  error_code sent(error::make_error_code(error::eof)), received;
  bool read = false;
  char data[8];
  net.socket.async_read_some(buffer(data), [&](error_code ec, std::size_t) {
    read = true;
    received = ec;
  });
  net.world.run_for(seconds(3600));
  CHECK_FALSE(read);
  net.server.restart();
  net.world.run_for(second);
  CHECK_FALSE(read);  // nobody has sent anything
  net.socket.async_write_some(buffer("x", 1), [&](error_code ec, std::size_t) { sent = ec; });
  net.world.run_for(second);
  CHECK_FALSE(sent);
  CHECK(read);
  CHECK(received == error::connection_reset);
}

TEST_CASE("what was sent to a host that crashed is answered with a reset once it is back") {
  two_contexts net;
  net.start("hello");
  net.world.run_until_idle();
  net.server.crash();
  bool read = false;
  error_code received;
  char data[8];
  net.socket.async_write_some(buffer("x", 1), [](error_code, std::size_t) {});
  net.socket.async_read_some(buffer(data), [&](error_code ec, std::size_t) {
    read = true;
    received = ec;
  });
  net.world.run_for(seconds(60));
  CHECK_FALSE(read);
  net.server.restart();
  net.world.run_for(seconds(60));
  CHECK(read);
  CHECK(received == error::connection_reset);
}

TEST_CASE("a sender whose peer has crashed times out after a quarter of an hour") {
  two_contexts net;
  net.start("hello");
  net.world.run_until_idle();
  net.server.crash();
  error_code received;
  char data[8];
  net.socket.async_write_some(buffer("x", 1), [](error_code, std::size_t) {});
  net.socket.async_read_some(buffer(data), [&](error_code ec, std::size_t) { received = ec; });
  net.world.run_for(seconds(900));
  CHECK_FALSE(received);
  net.world.run_for(seconds(60));
  CHECK(received == error::timed_out);
}

TEST_CASE("a crash stops the contexts of its host, whose objects can still be destroyed") {
  test::two_hosts net;
  std::optional<io_context> old(net.server);
  std::optional<ip::tcp::acceptor> acceptor(std::in_place, *old,
                                            ip::tcp::endpoint(ip::tcp::v4(), 80));
  io_context on_client(net.client);
  ip::tcp::socket socket(on_client);
  co_spawn(*old, net.echo(*acceptor), detached);
  net.world.run_until_idle();
  net.server.crash();
  CHECK(old->stopped());
  error_code ec;
  ip::tcp::socket late(*old);
  late.open(ip::tcp::v4(), ec);
  CHECK(ec == error::network_down);
  net.server.restart();
  io_context again(net.server);
  ip::tcp::acceptor reborn(again, ip::tcp::endpoint(ip::tcp::v4(), 80));
  CHECK(reborn.native_handle() == acceptor->native_handle());
  late.close(ec);
  acceptor.reset();  // not the descriptor of the new acceptor
  co_spawn(again, net.echo(reborn), detached);
  co_spawn(on_client, net.ask(socket, "hello"), detached);
  net.world.run_until_idle();
  CHECK(net.answer == "hello");
}

TEST_CASE("an accept that finds no descriptor in a world prints nothing") {
  std::uint64_t struck = 0;
  const std::string printed = beck::test::errors_of([&] {
    two_contexts w;
    w.server.inject(sim::fault::accept_exhausted);
    w.start("text");
    w.world.run_for(seconds(60));
    struck = w.world.count(sim::fault::accept_exhausted);
  });
  CHECK(struck == 1);
  CHECK(printed == "");
}
