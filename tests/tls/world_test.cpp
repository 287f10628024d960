// SPDX-License-Identifier: BSL-1.0
// TLS in simulated worlds: two streams with full traffic in both directions, over tiny buffers and
// connections that are cut, reset or silent at any byte. What arrives is what was sent, and an end
// is only called one if the other side has said it.
#include <beck/coro/timeout.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/testing/sim.hpp>
#include <beck/tls/error.hpp>
#include <beck/tls/stream.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>

#include "support/pattern.hpp"
#include "support/report.hpp"
#include "support/small_random.hpp"
#include "support/stream_pair.hpp"
#include "tls/both_contexts.hpp"
#include "tls/seeded_random.hpp"

using beck::error_code;
using beck::task;
using beck::testing::small_random;
using namespace std::chrono_literals;
namespace ip = beck::ip;
namespace sim = beck::testing::sim;
namespace tls = beck::tls;

namespace {

enum class last_act : unsigned char { shuts_down, leaves, waits };

/// One side of a connection, and what has become of it.
struct party {
  std::optional<tls::stream> s;
  std::string out, got;
  std::size_t sent = 0;
  last_act then = last_act::shuts_down;
  bool said_end = false, writer_done = false, reader_done = false;
  error_code read_end, write_end;
};

bool is_late(error_code ec) { return ec == beck::error::timeout; }

task<> write_out(party& p, small_random random) {
  while (p.sent < p.out.size()) {
    const std::size_t left = p.out.size() - p.sent;
    const std::size_t piece = std::min<std::size_t>(left, 1 + random.below(30'000));
    const beck::const_buffer parts[] = {{p.out.data() + p.sent, piece / 3},
                                        {p.out.data() + p.sent + piece / 3, piece - piece / 3}};
    beck::io_result<std::size_t> wrote;
    if (random.below(4) == 0) {
      wrote = co_await beck::timeout(p.s->async_write_some(parts),
                                     std::chrono::microseconds(1 + random.below(2000)));
    } else {
      wrote = co_await p.s->async_write_some(parts);
    }
    p.sent += wrote.value_;
    if (!wrote.error() || is_late(wrote.error())) continue;
    p.write_end = wrote.error();
    break;
  }
  if (!p.write_end && p.then == last_act::shuts_down) {
    p.said_end = true;
    auto ended = co_await p.s->async_shutdown();
    p.write_end = ended.error();
  }
  if (p.then == last_act::leaves) p.s->socket().close();
  p.writer_done = true;
}

task<> read_in(party& p, small_random random) {
  std::string part(40'000, ' ');
  while (!p.read_end) {
    const beck::mutable_buffer room(part.data(),
                                    1 + random.below(random.below(3) == 0 ? 40 : 40'000));
    beck::io_result<std::size_t> got;
    if (random.below(4) == 0) {
      got = co_await beck::timeout(p.s->async_read_some(room),
                                   std::chrono::microseconds(1 + random.below(2000)));
    } else {
      got = co_await p.s->async_read_some(room);
    }
    p.got.append(part, 0, got.value_);
    if (!is_late(got.error())) p.read_end = got.error();
  }
  p.reader_done = true;
}

void start(beck::io_context& ctx, party& p, std::uint64_t seed) {
  co_spawn(ctx, write_out(p, small_random(seed * 2)), beck::detached);
  co_spawn(ctx, read_in(p, small_random(seed * 2 + 1)), beck::detached);
}

task<> accept_one(ip::tcp::acceptor& from, tls::server_context& identity, beck::io_context& ctx,
                  party& p, std::uint64_t seed) {
  auto accepted = co_await from.async_accept();
  if (!accepted) co_return;
  p.s.emplace(std::move(accepted).value(), identity);
  start(ctx, p, seed);
}

task<> connect_one(tls::client_context& trust, beck::io_context& ctx, party& p,
                   std::uint64_t seed) {
  ip::tcp::socket socket(ctx);
  const ip::tcp::endpoint server(ip::make_address("10.0.0.1"), 443);
  auto connected = co_await socket.async_connect(server);
  if (!connected) co_return;
  p.s.emplace(std::move(socket), trust, "example.com");
  start(ctx, p, seed);
}

/// What arrived is the beginning of what was sent, and all of it behind an end.
void check_direction(const party& from, const party& to) {
  REQUIRE(to.got.size() <= from.sent);
  REQUIRE((to.got == from.out.substr(0, to.got.size())));
  if (to.read_end == beck::error::eof) {
    REQUIRE(from.said_end);
    REQUIRE(to.got.size() == from.sent);
  }
  REQUIRE(to.read_end != tls::error::protocol_broken);
  REQUIRE(to.read_end != tls::error::internal);
}

struct world_result {
  std::uint64_t hash = 0;
  bool whole = false;
  bool truncated = false;
};

world_result run_world(std::uint64_t seed, tls::test::both_contexts& contexts) {
  const tls::test::seeded_random repeatable(std::to_string(seed));
  small_random random(seed);
  sim::settings how;
  const bool calm = seed % 3 == 0;
  if (calm) how.calm();
  if (seed % 2 == 0) how.with(sim::faults().set(sim::fault::silence, 0.0005));
  how.buffer_sizes(1 + seed * 37 % 6000, 1 + seed * 91 % 6000);
  sim::world world(seed, how);
  party server, client;
  {
    beck::io_context back(world.host("web")), far(world.host("far"));
    for (party* p : {&server, &client}) {
      p->out = beck::test::pattern(random.below(60'000));
      const auto last = random.below(8);
      if (last == 0) p->then = last_act::leaves;
      if (last == 1) p->then = last_act::waits;
    }
    ip::tcp::acceptor acceptor(back, ip::tcp::endpoint(ip::tcp::v4(), 443));
    co_spawn(back, accept_one(acceptor, contexts.identity, back, server, seed), beck::detached);
    co_spawn(far, connect_one(contexts.trust, far, client, seed + 1), beck::detached);
    world.run_for(600s);
    acceptor.close();
    for (party* p : {&server, &client})
      if (p->s) p->s->socket().close();
    world.run();  // nothing is left that waits
    for (party* p : {&server, &client})
      if (p->s) REQUIRE((p->writer_done && p->reader_done));
    check_direction(server, client);
    check_direction(client, server);
    server.s.reset();
    client.s.reset();
  }
  world_result result;
  result.hash = world.hash();
  result.whole = server.read_end == beck::error::eof && client.read_end == beck::error::eof;
  result.truncated = server.read_end == tls::error::truncated;
  if (seed % 2 != 0 && server.then == last_act::shuts_down && client.then == last_act::shuts_down)
    REQUIRE(result.whole);
  return result;
}

}  // namespace

TEST_CASE("tls worlds: what arrives is what was sent, and only an end that was said is one") {
  constexpr std::uint64_t worlds = 400;
  tls::test::both_contexts v13(tls::version::tls_1_3), v12(tls::version::tls_1_2);
  std::uint64_t whole = 0, truncated = 0;
  unsigned long long fingerprint = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    tls::test::both_contexts& contexts = seed % 5 == 0 ? v12 : v13;
    const world_result once = run_world(seed, contexts);
    whole += once.whole;
    truncated += once.truncated;
    fingerprint = fingerprint * 31 + once.hash;
    if (seed % 10 == 0) CHECK(run_world(seed, contexts).hash == once.hash);
  }
  CHECK(whole > worlds / 3);
  CHECK(truncated > 3);
  beck::test::report_value("tls.worlds", worlds);
  beck::test::report_fingerprint("tls.worlds", fingerprint);
}
