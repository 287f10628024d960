// SPDX-License-Identifier: BSL-1.0
// Pipes, splices and relays under many seeds with faults: whatever is short, late or torn, the
// bytes come out in order and once, or an error says that they do not.
#include <doctest/doctest.h>

#include <algorithm>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/testing/sim.hpp>
#include <beck/transfer/relay.hpp>
#include <beck/transfer/splice.hpp>

#include <ostream>
#include <string>

#include "support/pattern.hpp"

using namespace beck;
using namespace beck::detail;
using test::pattern;
namespace sim = beck::testing::sim;
using stream = local::stream_protocol::socket;

namespace {

constexpr std::uint64_t seeds = 150;

sim::settings rough() { return sim::settings().with(sim::faults()); }

task<> send_pieces(writable_pipe& to, const std::string& text) {
  std::size_t piece = 1;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    piece = std::min(piece * 3 + 1, text.size() - at);
    auto sent = co_await async_write(to, buffer(text.data() + at, piece));
    if (sent.error()) co_return;
  }
  to.close();
}

task<> receive_all(readable_pipe& from, std::string& text) {
  char data[3000];
  for (;;) {
    auto [ec, n] = co_await from.async_read_some(buffer(data));
    text.append(data, n);
    if (ec) co_return;
  }
}

}  // namespace

TEST_CASE("a chain of pipes and splices keeps every byte under any seed") {
  const std::string text = pattern(200'000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    sim::world world(seed, rough());
    io_context ctx(world.host("a"));
    readable_pipe first_out(ctx), last_out(ctx);
    writable_pipe first_in(ctx), last_in(ctx);
    connect_pipe(first_out, first_in);
    connect_pipe(last_out, last_in);
    stream a(ctx), b(ctx);
    connect_pair(a, b);
    std::string got;
    std::size_t spliced = 0;
    auto forward = [](beck::detail::stream_object& from, beck::detail::stream_object& to,
                      std::size_t& n) -> task<> {
      n = (co_await async_splice(from, to, 200'000)).value();
    };
    std::size_t there = 0;
    co_spawn(ctx, send_pieces(first_in, text), detached);
    co_spawn(ctx, forward(first_out, a, there), detached);
    co_spawn(ctx, forward(b, last_in, spliced), detached);
    auto end = [&]() -> task<> {
      std::string all(text.size(), '\0');
      auto [ec, n] = co_await async_read(last_out, buffer(all));
      if (!ec) got = all;
    };
    co_spawn(ctx, end(), detached);
    world.run();
    CAPTURE(seed);
    REQUIRE(spliced == text.size());
    REQUIRE((got == text));
  }
}

TEST_CASE("writes of several writers to one pipe are whole under any seed") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    sim::world world(seed, rough());
    io_context ctx(world.host("a"));
    readable_pipe out(ctx);
    writable_pipe in(ctx);
    connect_pipe(out, in);
    int left = 3;
    auto writer = [&](char mine) -> task<> {
      const std::string message(1000, mine);
      for (int i = 0; i < 100; ++i) {
        auto [ec, n] = co_await in.async_write_some(buffer(message));
        REQUIRE(n == message.size());
      }
      if (--left == 0) in.close();
    };
    for (const char mine : {'a', 'b', 'c'}) co_spawn(ctx, writer(mine), detached);
    std::string got;
    co_spawn(ctx, receive_all(out, got), detached);
    world.run();
    CAPTURE(seed);
    REQUIRE(got.size() == 300'000);
    for (std::size_t at = 0; at < got.size(); at += 1000) {
      REQUIRE((got.substr(at, 1000) == std::string(1000, got[at])));
    }
  }
}

TEST_CASE("a relay keeps every byte of both directions under any seed") {
  const std::string text = pattern(60'000);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    sim::world world(seed, rough());
    io_context ctx(world.host("a"));
    stream a(ctx), a_inner(ctx), b(ctx), b_inner(ctx);
    connect_pair(a, a_inner);
    connect_pair(b, b_inner);
    std::string got[2];
    auto talk = [&text](stream& s, std::string& into) -> task<> {
      auto send = [](stream& to, const std::string& what) -> task<> {
        ignore(co_await async_write(to, buffer(what)));
        to.shutdown(stream::shutdown_send);
      };
      auto receive = [](stream& from, std::string& to) -> task<> {
        char data[1000];
        for (;;) {
          auto [ec, n] = co_await from.async_read_some(buffer(data));
          to.append(data, n);
          if (ec) co_return;
        }
      };
      auto both = when_all(send(s, text), receive(s, into));
      ignore(co_await std::move(both));
    };
    error_code ended = error::interrupted;
    auto carry = [&]() -> task<> { ended = (co_await relay(a_inner, b_inner)).error(); };
    co_spawn(ctx, carry(), detached);
    co_spawn(ctx, talk(a, got[0]), detached);
    co_spawn(ctx, talk(b, got[1]), detached);
    world.run();
    CAPTURE(seed);
    REQUIRE_FALSE(ended);
    REQUIRE((got[0] == text));
    REQUIRE((got[1] == text));
  }
}
