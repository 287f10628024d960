// SPDX-License-Identifier: BSL-1.0
// The virtual threads of simulated shared contexts: which orders there are, how they wait and
// leave, and what becomes of them beside other contexts of a world.
#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/post.hpp>
#include <beck/run/strand.hpp>
#include <beck/testing/check.hpp>
#include <beck/testing/sim.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include <algorithm>

#include "support/stream_pair.hpp"

namespace sim = beck::testing::sim;
using beck::test::stream_pair;
using tcp = beck::ip::tcp;

namespace {

beck::io_context::options threads(sim::world& world, const char* host, int count) {
  return world.host(host).options({.threads = count});
}

beck::task<> answer(tcp::acceptor& acceptor) {
  auto accepted = co_await acceptor.async_accept();
  tcp::socket socket = std::move(accepted).value();
  char data[8];
  for (;;) {
    auto [ec, n] = co_await socket.async_read_some(beck::buffer(data));
    if (ec) co_return;
    beck::ignore(co_await beck::async_write(socket, beck::buffer(data, n)));
  }
}

beck::task<> ask(tcp::socket& socket, int& answers) {
  beck::ignore(
      co_await socket.async_connect(tcp::endpoint(beck::ip::make_address("10.0.0.1"), 80)));
  for (int i = 0; i < 10; ++i) {
    char data[8] = {};
    beck::ignore(co_await beck::async_write(socket, beck::buffer(data)));
    auto [ec, n] = co_await beck::async_read(socket, beck::buffer(data));
    answers += !ec && n == sizeof data ? 1 : 0;
  }
  socket.close();
}

/// The order in which three handlers go through two halves, with a read between these.
std::string order_of_halves(std::uint64_t seed) {
  sim::world world(seed);
  beck::io_context ctx(threads(world, "one", 3));
  std::string order;
  std::optional<stream_pair> pairs[3];
  char byte = 0;
  for (int i = 0; i < 3; ++i) {
    pairs[i].emplace(ctx);
    beck::post(ctx, [&, i] {
      order += static_cast<char>('a' + i);
      pairs[i]->a.async_read_some(beck::buffer(&byte, 1), [](beck::error_code, std::size_t) {});
      order += static_cast<char>('A' + i);
      pairs[i]->b.close();
    });
  }
  ctx.run();
  return order;
}

}  // namespace

TEST_CASE("virtual threads go through their handlers in many orders, and inside one another") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) seen.insert(order_of_halves(seed));
  CHECK(seen.size() > 15);
  CHECK(seen.count("abABcC") == 1);
}

TEST_CASE("the same seed and its tape give the same order of virtual threads") {
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    CHECK(order_of_halves(seed) == order_of_halves(seed));
}

TEST_CASE("without choices virtual threads take turns, and every handler runs") {
  sim::world world{sim::tape()};
  beck::io_context ctx(threads(world, "one", 3));
  std::string order;
  for (char c = 'a'; c <= 'i'; ++c) beck::post(ctx, [&order, c] { order += c; });
  CHECK(ctx.run() == 9);
  std::sort(order.begin(), order.end());
  CHECK(order == "abcdefghi");
}

TEST_CASE(
    "a handler that blocks holds up one virtual thread, and the others do what it waits for") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim::world world(seed);
    beck::io_context ctx(threads(world, "one", 2));
    stream_pair pair(ctx);
    beck::steady_timer timer(ctx, beck::duration(1'000'000));
    char byte = 0;
    beck::post(ctx, [&] { pair.a.read_some(beck::buffer(&byte, 1)); });
    timer.async_wait([&](beck::error_code) { pair.b.write_some(beck::buffer("x", 1)); });
    CHECK(ctx.run() == 2);
    CHECK(byte == 'x');
  }
}

TEST_CASE("a world runs shared contexts beside others") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    sim::world world(seed);
    beck::io_context server(threads(world, "server", 3));
    beck::io_context client(world.host("client"));
    tcp::acceptor acceptor(server, tcp::endpoint(tcp::v4(), 80));
    tcp::socket socket(client);
    int answers = 0;
    beck::co_spawn(server, answer(acceptor), beck::detached);
    beck::co_spawn(client, ask(socket, answers), beck::detached);
    CHECK(world.run() > 0);
    CHECK(answers == 10);
    CHECK(!server.stopped());
    int later = 0;
    beck::post(client, [&] { beck::post(server, [&] { ++later; }); });
    CHECK(world.run() == 2);
    CHECK(later == 1);
  }
}

TEST_CASE("virtual time passes for shared contexts too") {
  sim::world world(1);
  beck::io_context ctx(threads(world, "one", 2));
  beck::steady_timer timer(ctx, beck::duration(10'000'000'000));
  bool expired = false;
  timer.async_wait([&](beck::error_code) { expired = true; });
  world.run_for(beck::duration(9'000'000'000));
  CHECK(!expired);
  world.run_until_idle();
  CHECK(!expired);
  world.run_for(beck::duration(2'000'000'000));
  CHECK(expired);
}

TEST_CASE("what handlers of virtual threads throw leaves one run each, and all else is done") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const bool by_world : {false, true}) {
      sim::world world(seed);
      beck::io_context ctx(threads(world, "one", 3));
      int ran = 0, caught = 0;
      for (int i = 0; i < 12; ++i) {
        beck::post(ctx, [&ran, i] {
          ++ran;
          if (i % 3 == 0) throw std::runtime_error("thrown");
        });
      }
      while (ran < 12 || caught < 4) {
        try {
          ctx.restart();
          by_world ? world.run() : ctx.run();
        } catch (const std::runtime_error&) {
          ++caught;
        }
      }
      CHECK(ran == 12);
      CHECK(caught == 4);
    }
  }
}

TEST_CASE("a shared context of a host that crashes can be destroyed") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    sim::world world(seed);
    auto held = std::make_shared<int>(0);
    std::optional<beck::io_context> ctx(std::in_place, threads(world, "one", 3));
    auto timer = std::make_unique<beck::steady_timer>(*ctx, beck::duration(1'000'000'000));
    timer->async_wait([held](beck::error_code) {});
    for (int i = 0; i < 5; ++i) beck::post(*ctx, [held] {});
    world.run_for(beck::duration(1'000));
    world.host("one").crash();
    timer.reset();
    ctx.reset();
    CHECK(held.use_count() == 1);
  }
}

TEST_CASE("what one context is in the middle of, another one's handler waits for") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    sim::world world(seed);
    beck::io_context shared(threads(world, "one", 3));
    beck::io_context other(world.host("two"));
    stream_pair pair(shared);
    char data[4];
    int ended = 0;
    for (int i = 0; i < 4; ++i) {
      beck::post(shared, [&] {
        pair.a.async_read_some(beck::buffer(data), [&](beck::error_code ec, std::size_t) {
          CHECK((!ec || ec == beck::error::operation_aborted || ec == beck::error::bad_descriptor));
          ++ended;
        });
      });
    }
    pair.b.write_some(beck::buffer("ab", 2));
    beck::steady_timer timer(other, beck::duration(static_cast<std::int64_t>(seed) * 20));
    timer.async_wait([&](beck::error_code) { pair.a.close(); });
    world.run();
    CHECK(ended == 4);
  }
}

TEST_CASE("a read that a cancel ends beside its event gives its buffer back") {
  unsigned cancelled = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    sim::world world(seed);
    beck::io_context ctx(threads(world, "one", 3));
    stream_pair pair(ctx);
    char data[8] = {};
    int sum = 0;
    pair.a.async_read_some(beck::buffer(data), [&](beck::error_code ec, std::size_t) {
      cancelled += ec ? 1u : 0u;
      for (const char c : data) sum += c;  // AddressSanitizer knows whose it is
    });
    ctx.poll();
    beck::steady_timer timer(ctx, beck::duration(500'000));
    timer.async_wait([&](beck::error_code) {
      pair.b.write_some(beck::buffer("x", 1));
      for (int i = 0; i < 20; ++i) beck::post(ctx, [] {});
    });
    beck::steady_timer later(ctx,
                             beck::duration(501'000 + static_cast<std::int64_t>(seed) * 1'000));
    later.async_wait([&](beck::error_code) { pair.a.cancel(); });
    ctx.run();
    CHECK((sum == 0 || sum == 'x'));
  }
  CHECK(cancelled > 0);
}

TEST_CASE("all virtual threads return when the last handler has run, whatever they do meanwhile") {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    sim::world world(seed);
    beck::io_context ctx(threads(world, "one", 3));
    stream_pair pair(ctx);
    char byte = 0;
    pair.a.async_read_some(beck::buffer(&byte, 1), [&](beck::error_code, std::size_t) {
      beck::post(ctx, [&] { pair.a.close(); });
    });
    beck::async_write(pair.b, beck::buffer("x", 1), [](beck::error_code, std::size_t) {});
    CHECK(ctx.run() == 3);
    CHECK(ctx.stopped());
  }
}

TEST_CASE("one handler at a time can be asked of virtual threads") {
  sim::world world(3);
  beck::io_context ctx(threads(world, "one", 4));
  int ran = 0;
  for (int i = 0; i < 6; ++i) beck::post(ctx, [&] { ++ran; });
  for (int i = 1; i <= 3; ++i) {
    CHECK(ctx.run_one() == 1);
    CHECK(ran == i);
  }
  CHECK(ctx.poll_one() == 1);
  CHECK(ctx.poll() == 2);
  CHECK(ran == 6);
}

TEST_CASE("a trace says which virtual thread acts") {
  sim::world world(1);
  std::set<std::string> seen;
  world.trace(
      [](const char* line, void* to) {
        const std::string text(line);
        const std::size_t at = text.find("runner ");
        if (at != std::string::npos)
          static_cast<std::set<std::string>*>(to)->insert(text.substr(at));
      },
      &seen);
  beck::io_context ctx(threads(world, "one", 3));
  for (int i = 0; i < 100; ++i) beck::post(ctx, [] {});
  ctx.run();
  CHECK(seen == std::set<std::string>{"runner 0:", "runner 1:", "runner 2:"});
}
