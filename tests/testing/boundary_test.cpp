// SPDX-License-Identifier: BSL-1.0
// What the simulator calls a boundary: a read stops there with more behind it, and no event tells
// of the rest, as at an urgent mark or behind a UNIX message with descriptors.
#include <doctest/doctest.h>
#include <beck/testing/sim.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <array>
#include <ostream>
#include <string>

using namespace beck;
using namespace beck::detail;
namespace sim = beck::testing::sim;
using sim::fault;

namespace {

constexpr int rounds = 200;
const std::string text = "what is behind a boundary is read without news of it";

enum class way { one_buffer, several, leased };

/// Reads until all of `text` is there.
template <class Stream>
task<> read_all(Stream& from, std::string& got, int& reads, way how) {
  char room[128];
  while (got.size() < text.size()) {
    ++reads;
    if (how == way::leased) {
      auto r = co_await async_receive(from);
      if (!r) co_return;
      got.append(r->data(), r->size());
      continue;
    }
    const std::array parts{buffer(room, 1), buffer(room + 1, sizeof room - 1)};
    auto r = how == way::several ? co_await from.async_read_some(parts)
                                 : co_await from.async_read_some(buffer(room));
    if (!r) co_return;
    got.append(room, *r);
  }
}

/// Boundaries in everything that `to` sends; gives how many reads stopped short at one.
template <class Stream, class Sink>
void check(sim::world& world, sim::host& sender, io_context& ctx, Stream& from, Sink& to) {
  int reads = 0;
  for (int i = 0; i < rounds; ++i) {
    const way how = static_cast<way>(i % 3);
    std::string got;
    co_spawn(ctx, read_all(from, got, reads, how), detached);
    sender.inject(fault::boundary);
    async_write(to, buffer(text), [](error_code ec, std::size_t) { CHECK_FALSE(ec); });
    world.run_until_idle();
    REQUIRE(got == text);
  }
  CHECK(world.count(fault::boundary) == rounds);
  CHECK(reads > rounds + rounds / 2);
}

}  // namespace

TEST_CASE("what is behind a boundary in a TCP stream is read") {
  for (const int threads : {1, 2}) {
    sim::world world(1, sim::settings().calm());
    sim::host& host = world.host("a");
    io_context ctx(host.options({.threads = threads}));
    ip::tcp::acceptor acceptor(ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
    ip::tcp::socket a(ctx), b(ctx);
    acceptor.async_accept(b, [](error_code ec) { CHECK_FALSE(ec); });
    a.async_connect(acceptor.local_endpoint(), [](error_code ec) { CHECK_FALSE(ec); });
    world.run_until_idle();
    check(world, host, ctx, b, a);
  }
}

TEST_CASE("what is behind a boundary between UNIX sockets and in a pipe is read") {
  for (const int threads : {1, 2}) {
    sim::world world(1, sim::settings().calm());
    sim::host& host = world.host("a");
    io_context ctx(host.options({.threads = threads}));
    local::stream_protocol::socket a(ctx), b(ctx);
    connect_pair(a, b);
    check(world, host, ctx, b, a);
  }
  sim::world world(1, sim::settings().calm());
  sim::host& host = world.host("a");
  io_context ctx(host);
  readable_pipe out(ctx);
  writable_pipe in(ctx);
  connect_pipe(out, in);
  check(world, host, ctx, out, in);
}
