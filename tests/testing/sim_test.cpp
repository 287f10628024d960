// SPDX-License-Identifier: BSL-1.0
// Simulated worlds as a program sees them: contexts, virtual time, hashes, and the ends that a
// program meets when it waits for what cannot happen.
#include <doctest/doctest.h>
#include <beck/testing/sim.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/uring_submit.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "base/dies.hpp"

using namespace beck;
using namespace beck::detail;
namespace sim = beck::testing::sim;

namespace {

constexpr duration hour(3'600'000'000'000);

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

io_context::options private_world(std::uint64_t seed) {
  return {.backend = backend::sim, .seed = seed};
}

}  // namespace

TEST_CASE("a context on a host of a world runs under virtual time") {
  sim::world world(1);
  CHECK(world.seed() == 1);
  io_context ctx(world.host("a"));
  CHECK(ctx.backend_in_use() == backend::sim);
  CHECK(std::string(ctx.backend_report()).substr(0, 3) == "sim");
  const time_point start = world.now();
  CHECK(start > time_point());
  steady_timer timer(ctx, hour);
  const time_point due = timer.expiry();
  CHECK(due == start + hour);
  time_point fired;
  timer.async_wait([&](error_code ec) {
    CHECK_FALSE(ec);
    fired = steady_now();
  });
  CHECK(ctx.run() == 1);
  CHECK(fired >= due);
  CHECK(fired < due + duration(10'000));  // a visit or two of a microsecond
  CHECK(world.now() == fired);
}

TEST_CASE("running for a time lets exactly that time pass") {
  sim::world world(1);
  io_context ctx(world.host("a"));
  const auto guard = make_work_guard(ctx);
  const time_point start = world.now();
  CHECK(ctx.run_for(hour) == 0);
  CHECK(world.now() == start + hour);
}

TEST_CASE("a world hands out each of its hosts by name and counts what happens in it") {
  sim::world world(7);
  sim::host& a = world.host("a");
  sim::host& b = world.host("b");
  CHECK(&a != &b);
  CHECK(&a == &world.host("a"));
  CHECK(std::string(b.name()) == "b");
  const std::uint64_t before = world.hash();
  io_context ctx(a);
  ip::tcp::socket socket(ctx, ip::tcp::v4());
  CHECK(world.hash() != before);
  CHECK(sim::sim_hash(ctx) == world.hash());
  io_context real({.backend = backend::epoll});
  CHECK(sim::sim_hash(real) == 0);
}

TEST_CASE("hosts have ports, names and descriptor numbers of their own") {
  sim::world world(1);
  io_context a(world.host("a"));
  io_context b(world.host("b"));
  ip::tcp::acceptor on_a(a, ip::tcp::endpoint(ip::tcp::v4(), 80));
  ip::tcp::acceptor on_b(b, ip::tcp::endpoint(ip::tcp::v4(), 80));
  CHECK(on_a.native_handle() == on_b.native_handle());
  local::stream_protocol::acceptor path_on_a(a, "/same");
  local::stream_protocol::acceptor path_on_b(b, "/same");
  io_context beside(world.host("a"));
  ip::tcp::acceptor third(beside);
  third.open(ip::tcp::v4());
  error_code ec;
  third.bind(ip::tcp::endpoint(ip::tcp::v4(), 80), ec);
  CHECK(ec == error::address_in_use);
}

TEST_CASE("hosts reach each other under their addresses, on one clock") {
  sim::world world(3);
  io_context a(world.host("a"));
  io_context b(world.host("b"));
  ip::tcp::acceptor acceptor(a, ip::tcp::endpoint(ip::tcp::v4(), 80));
  std::string got(4, '\0');
  ip::tcp::endpoint peer;
  const auto serve = [&]() -> task<> {
    auto accepted = co_await acceptor.async_accept();
    REQUIRE_FALSE(accepted.error());
    ip::tcp::socket socket = std::move(accepted).value();
    peer = socket.remote_endpoint();
    const auto read = co_await async_read(socket, buffer(got));
    CHECK_FALSE(read.error());
  };
  const auto ask = [&]() -> task<> {
    ip::tcp::socket socket(b);
    const auto connected =
        co_await socket.async_connect(ip::tcp::endpoint(ip::make_address("10.0.0.1"), 80));
    REQUIRE_FALSE(connected.error());
    const auto sent = co_await async_write(socket, buffer("ping", 4));
    CHECK_FALSE(sent.error());
  };
  co_spawn(a, serve(), detached);
  co_spawn(b, ask(), detached);
  for (int i = 0; i < 100'000 && !(a.stopped() && b.stopped()); ++i) {
    a.poll();
    b.poll();
  }
  CHECK(a.stopped());
  CHECK(b.stopped());
  CHECK(got == "ping");
  CHECK(peer.address() == ip::make_address("10.0.0.2"));
}

TEST_CASE("a private world has the seed of its options") {
  const auto run = [](std::uint64_t seed) {
    io_context ctx(private_world(seed));
    ip::tcp::acceptor acceptor(ctx, ip::tcp::endpoint(ip::tcp::v4(), 0));
    return sim::sim_hash(ctx);
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST_CASE("BECK_BACKEND=sim simulates contexts that leave the choice open") {
  const char* before = std::getenv("BECK_BACKEND");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("BECK_BACKEND", "sim", 1);
  {
    io_context ctx;
    CHECK(ctx.backend_in_use() == backend::sim);
    io_context chosen({.backend = backend::epoll});
    CHECK(chosen.backend_in_use() == backend::epoll);
  }
  if (before != nullptr) {
    ::setenv("BECK_BACKEND", kept.c_str(), 1);
  } else {
    ::unsetenv("BECK_BACKEND");
  }
}

TEST_CASE("neither an endless chain of posts nor endless polling stops virtual time") {
  for (const bool polling : {false, true}) {
    io_context ctx(private_world(1));
    steady_timer timer(ctx, duration(5'000'000));
    bool fired = false;
    timer.async_wait([&fired](error_code) { fired = true; });
    struct chain {
      io_context& ctx;
      const bool& stop;
      void operator()() {
        if (!stop) post(ctx, chain{ctx, stop});
      }
    };
    if (polling) {
      for (int i = 0; i < 10'000 && !fired; ++i) ctx.poll();
    } else {
      post(ctx, chain{ctx, fired});
      ctx.run();
    }
    CHECK(fired);
  }
}

TEST_CASE("synchronous calls let virtual time pass until they can finish") {
  io_context ctx(private_world(5));
  ip::tcp::acceptor acceptor(ctx, ip::tcp::endpoint(ip::tcp::v4(), 0));
  ip::tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  ip::tcp::socket server = acceptor.accept();
  CHECK(write(client, buffer("synchronous", 11)) == 11);
  std::string got(11, '\0');
  CHECK(read(server, buffer(got)) == 11);
  CHECK(got == "synchronous");
  server.close();
  error_code ec;
  CHECK(client.read_some(buffer(got), ec) == 0);
  CHECK(ec == error::eof);
}

TEST_CASE("a run in which nothing can ever happen ends and says what waits") {
  const std::string text = dies_with([] {
    io_context ctx(private_world(1));
    ip::tcp::acceptor acceptor(ctx, ip::tcp::endpoint(ip::tcp::v4(), 0));
    local::stream_protocol::socket a(ctx), b(ctx);
    connect_pair(a, b);
    char byte[1];
    a.async_read_some(buffer(byte), [](error_code, std::size_t) {});
    acceptor.async_accept([](error_code, ip::tcp::socket) {});
    ctx.run();
  });
  CHECK(contains(text, "simulation: every task waits and nothing can happen"));
  CHECK(contains(text, "accept on descriptor 1000"));
  CHECK(contains(text, "read on descriptor 1001"));
  CHECK_FALSE(contains(text, "1002"));
}

TEST_CASE("a run that only a work guard keeps alive ends with a message") {
  const std::string text = dies_with([] {
    io_context ctx(private_world(1));
    const auto guard = make_work_guard(ctx);
    ctx.run();
  });
  CHECK(contains(text, "only a work guard"));
}

TEST_CASE("a synchronous call that nothing can end ends the program and names its descriptor") {
  const std::string text = dies_with([] {
    io_context ctx(private_world(1));
    local::stream_protocol::socket a(ctx), b(ctx);
    connect_pair(a, b);
    char byte[1];
    static_cast<void>(a.read_some(buffer(byte)));
  });
  CHECK(contains(text, "synchronous call on descriptor 1000"));
}

TEST_CASE("a post from a thread that does not run the simulated context ends the program") {
  const std::string text = dies_with([] {
    io_context ctx(private_world(1));
    post(ctx, [&ctx] { std::thread([&ctx] { post(ctx, [] {}); }).join(); });
    ctx.run();
  });
  CHECK(contains(text, "from another thread"));
}

TEST_CASE("a simulated context may be run by one thread after another") {
  io_context ctx(private_world(1));
  int ran = 0;
  post(ctx, [&ran] { ++ran; });
  std::thread([&ctx] { ctx.run(); }).join();
  ctx.restart();
  std::thread([&ctx, &ran] { post(ctx, [&ran] { ++ran; }); }).join();  // nobody runs it
  CHECK(ctx.run() == 1);
  CHECK(ran == 2);
}

TEST_CASE("a world that ends before its contexts says so") {
  const std::string text = dies_with([] {
    auto* world = new sim::world(1);
    io_context ctx(world->host("a"));
    delete world;
  });
  CHECK(contains(text, "destroyed before a context"));
}

TEST_CASE("settings that make no sense are refused") {
  CHECK_THROWS_AS(sim::world(1, sim::settings().delay(duration(2), duration(1))), io_error);
  CHECK_THROWS_AS(sim::world(1, sim::settings().delay(duration(-1), duration(1))), io_error);
  CHECK_THROWS_AS(sim::world(1, sim::settings().buffer_sizes(0, 1)), io_error);
  CHECK_THROWS_AS(sim::world(1, sim::settings().buffer_sizes(1, std::size_t{1} << 40)), io_error);
}

TEST_CASE("a world can be configured anew while it runs") {
  sim::world world(1, sim::settings().split_probability(1).short_read_probability(1));
  io_context ctx(world.host("a"));
  local::stream_protocol::socket a(ctx), b(ctx);
  connect_pair(a, b);
  const auto read_of = [&] {
    char got[64];
    a.write_some(buffer("twelve bytes", 12));
    std::size_t first = b.read_some(buffer(got));
    for (std::size_t all = first; all < 12;) all += b.read_some(buffer(got));
    return first;
  };
  CHECK(read_of() < 12);
  world.configure(sim::settings().calm());
  for (int i = 0; i < 20; ++i) CHECK(read_of() == 12);
  CHECK_THROWS_AS(world.configure(sim::settings().buffer_sizes(0, 1)), io_error);
}

TEST_CASE("buffers of one byte carry a message") {
  sim::world world(1, sim::settings().buffer_sizes(1, 1));
  io_context ctx(world.host("a"));
  local::stream_protocol::socket a(ctx), b(ctx);
  connect_pair(a, b);
  const std::string sent = "byte by byte by byte";
  std::string got(sent.size(), '\0');
  std::size_t written = 0;
  async_write(a, buffer(sent), [&](error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    written = n;
  });
  async_read(b, buffer(got), [&](error_code ec, std::size_t) { CHECK_FALSE(ec); });
  ctx.run();
  CHECK(written == sent.size());
  CHECK(got == sent);
}

TEST_CASE("a calm world delivers what one write sent to one read") {
  sim::world world(1, sim::settings().calm());
  io_context ctx(world.host("a"));
  local::stream_protocol::socket a(ctx), b(ctx);
  connect_pair(a, b);
  std::string got(64, '\0');
  std::size_t read = 0;
  time_point when;
  b.async_read_some(buffer(got), [&](error_code, std::size_t n) {
    read = n;
    when = steady_now();
  });
  const time_point start = world.now();
  ctx.poll();  // the read waits for news
  a.async_write_some(buffer("in one piece", 12), [](error_code, std::size_t) {});
  ctx.run();
  CHECK(read == 12);
  CHECK(when - start >= duration(10'000));
}

TEST_CASE("ring entries are no part of a simulation") {
  io_context ctx(private_world(1));
  error_code got;
  uring::async_submit(ctx, [](io_uring_sqe&) {}, [&got](error_code ec, int) { got = ec; });
  ctx.run();
  CHECK(got == error::operation_not_supported);
}

TEST_CASE("what arrives at the same time comes in an order that the seed decides") {
  int first_was_a = 0;
  constexpr int seeds = 64;
  for (int seed = 0; seed < seeds; ++seed) {
    sim::world world(static_cast<std::uint64_t>(seed), sim::settings().calm());
    io_context ctx(world.host("a"));
    local::stream_protocol::socket a(ctx), b(ctx), to_a(ctx), to_b(ctx);
    connect_pair(a, to_a);
    connect_pair(b, to_b);
    std::string order;
    char byte_a[1], byte_b[1];
    a.async_read_some(buffer(byte_a), [&order](error_code, std::size_t) { order += 'a'; });
    b.async_read_some(buffer(byte_b), [&order](error_code, std::size_t) { order += 'b'; });
    to_a.async_write_some(buffer("x", 1), [](error_code, std::size_t) {});
    to_b.async_write_some(buffer("x", 1), [](error_code, std::size_t) {});
    ctx.run();
    REQUIRE(order.size() == 2);
    first_was_a += order == "ab" ? 1 : 0;
  }
  CHECK(first_was_a > seeds / 4);
  CHECK(first_was_a < seeds * 3 / 4);
}
