// SPDX-License-Identifier: BSL-1.0
//
// Lookups and connects by name in simulated worlds with everything that goes wrong there.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/connect_race.hpp>
#include <beck/net/resolver.hpp>
#include <beck/testing/sim.hpp>

#include <chrono>
#include <ostream>
#include <string>

using namespace std::chrono_literals;
using beck::ip::tcp;
namespace sim = beck::testing::sim;

namespace {

constexpr int clients = 3, rounds = 3;

struct outcomes {
  int connected = 0;
  int late = 0;
  int failed = 0;
  std::uint64_t hash = 0;
  friend bool operator==(const outcomes&, const outcomes&) = default;
};

beck::task<> accept_for_ever(tcp::acceptor& acceptor) {
  for (;;) {
    auto peer = co_await acceptor.async_accept();
    if (peer.error() == beck::error::operation_aborted) co_return;
  }
}

beck::task<> connect_by_name(beck::io_context& ctx, outcomes& seen) {
  for (int i = 0; i < rounds; ++i) {
    tcp::socket socket(ctx);
    const auto to = co_await beck::timeout(beck::async_connect(socket, "server", "http"), 5s);
    CHECK(socket.is_open() == !to.error());
    if (!to.error()) {
      CHECK(to->port() == 80);
      ++seen.connected;
    } else if (to.error() == beck::error::timeout) {
      ++seen.late;
    } else {
      ++seen.failed;
    }
  }
}

outcomes run(std::uint64_t seed, int threads) {
  sim::world world(seed, sim::settings().with(sim::faults()));
  outcomes seen;
  {
    beck::io_context server(world.host("server"));
    beck::io_context client(world.host("client").options({.threads = threads}));
    tcp::acceptor acceptor(server, tcp::endpoint(tcp::v4(), 80));  // v6 is refused
    beck::co_spawn(server, accept_for_ever(acceptor), beck::detached);
    for (int i = 0; i < clients; ++i) {
      beck::co_spawn(client, connect_by_name(client, seen), beck::detached);
    }
    server.on_log([](const char*, void*) {});
    const auto ended = [&seen] { return seen.connected + seen.late + seen.failed; };
    // A leap of the clock may end the first ones early.
    for (int i = 0; i < 20 && ended() != clients * rounds; ++i) world.run_for(beck::duration(60s));
    CHECK(client.stats().outstanding == 0);
  }
  seen.hash = world.hash();
  return seen;
}

}  // namespace

TEST_CASE("connects by name end in any weather, and each seed is itself again") {
  outcomes all;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    const outcomes seen = run(seed, 1);
    CHECK(seen.connected + seen.late + seen.failed == clients * rounds);
    CHECK(seen == run(seed, 1));
    all.connected += seen.connected;
    all.late += seen.late;
    all.failed += seen.failed;
  }
  CHECK(all.connected > 700);
  CHECK(all.late > 0);
  CHECK(all.failed > 0);
}

TEST_CASE("the same on the virtual threads of a shared context") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const outcomes seen = run(seed, 3);
    CHECK(seen.connected + seen.late + seen.failed == clients * rounds);
    CHECK(seen == run(seed, 3));
  }
}

TEST_CASE("a lookup fault strikes where it is asked for") {
  sim::world world(1, sim::settings().calm());
  sim::host& host = world.host("a");
  beck::io_context ctx(host);
  tcp::resolver resolver(ctx);
  beck::error_code ec;
  host.inject(sim::fault::lookup_failed);
  resolver.resolve("a", "80", ec);
  CHECK(ec == beck::error::host_not_found_try_again);
  CHECK(resolver.resolve("a", "80", ec).size() == 2);
  CHECK(world.count(sim::fault::lookup_failed) == 1);
}

TEST_CASE("a slow call takes up to half a minute, and then gives its answer") {
  sim::world world(1, sim::settings().calm());
  sim::host& host = world.host("a");
  beck::io_context ctx(host);
  tcp::resolver resolver(ctx);
  host.inject(sim::fault::call_slow);
  const auto start = world.now();
  std::size_t found = 0;
  resolver.async_resolve(
      "a", "80", [&](beck::error_code, const tcp::resolver::results_type& r) { found = r.size(); });
  world.run_until_idle();
  CHECK(found == 2);
  CHECK((world.now() - start).nanoseconds() > 1'000'000'000);
  CHECK((world.now() - start).nanoseconds() <= 30'001'000'000);
}
