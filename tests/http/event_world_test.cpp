// SPDX-License-Identifier: BSL-1.0
// Server-sent events from end to end in simulated worlds: connections break wherever the seed says,
// the client connects again from where it was, and gets each event once.
#include <beck/http/client.hpp>
#include <beck/http/event_reader.hpp>
#include <beck/http/event_stream.hpp>
#include <beck/http/server.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/sim.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include "support/report.hpp"
#include "support/small_random.hpp"

using beck::task;
using namespace std::chrono_literals;
namespace http = beck::http;
namespace sim = beck::testing::sim;

namespace {

constexpr int events_wanted = 25;

std::string numbered_data(int n) {
  return std::to_string(n) + "\n\n" + std::string(static_cast<std::size_t>(n * 977 % 5000), 'y');
}

/// Sends events from the one behind Last-Event-ID, and ends now and then.
task<> send_numbered(http::request& q, http::response& r, beck::testing::small_random& random) {
  http::event_stream events(q, r, {.keep_alive = 500ms, .retry = 50ms});
  int n = std::atoi(std::string(events.last_id()).c_str());
  beck::steady_timer timer(q.get_executor());
  for (unsigned left = 1 + random.below(20); left != 0; --left) {
    ++n;
    const std::string id = std::to_string(n);
    const std::string data = numbered_data(n);
    auto sent = co_await events.send({.name = "n", .data = data, .id = id});
    if (sent.error()) co_return;
    timer.expires_after(1ms * random.below(1500));
    auto waited = co_await timer.async_wait();
    if (waited.error()) co_return;
  }
}

/// What a client has got in a world.
struct follower {
  int next = 1, connections = 0, impatient = 0;
  bool done = false;
};

task<> follow(http::client& web, beck::testing::small_random& random, follower& of) {
  std::string last_id;
  beck::steady_timer pause(web.get_executor());
  while (of.next <= events_wanted) {
    http::call ask(web, http::method::get, "http://10.0.0.1/");
    if (!last_id.empty()) ask.set("Last-Event-ID", last_id);
    auto got = co_await ask.async_finish();
    if (!got.error() && got->status() == http::status::ok) {
      ++of.connections;
      const http::client_response stream = std::move(got).value();
      http::event_reader events(stream.body(), {}, last_id);
      while (of.next <= events_wanted) {
        auto one = co_await beck::timeout(events.next(), 1ms * (1 + random.below(3000)));
        if (one.error() == beck::error::timeout) {
          ++of.impatient;
          continue;  // nothing is lost
        }
        if (one.error()) break;
        CHECK(one->name == "n");
        CHECK((one->data == numbered_data(of.next)));
        CHECK(one->id == std::to_string(of.next));
        ++of.next;
      }
      last_id = events.last_id();
      CHECK(last_id == (of.next == 1 ? "" : std::to_string(of.next - 1)));
    }
    pause.expires_after(50ms);
    beck::ignore(co_await pause.async_wait());
  }
  of.done = true;
}

follower follow_in_world(std::uint64_t seed) {
  sim::faults faults = sim::faults::none();
  faults.set(sim::fault::reset, 0.01).set(sim::fault::end, 0.01).set(sim::fault::short_read, 0.2);
  faults.set(sim::fault::connect_refused, 0.2).set(sim::fault::stall, 0.001);
  sim::world world(
      seed, sim::settings().buffer_sizes(1 + seed * 37 % 5000, 1 + seed * 91 % 5000).with(faults));
  beck::io_context there(world.host("web")), here(world.host("here"));
  for (beck::io_context* each : {&there, &here}) each->on_log([](const char*, void*) {}, nullptr);
  beck::testing::small_random random(seed), patience(seed + 1);
  http::server server(
      [&random](http::request& q, http::response& r) { return send_numbered(q, r, random); });
  server.listen(80);
  bool ended = false;
  co_spawn(there, server.serve(), [&](std::exception_ptr) { ended = true; });
  follower one;
  {
    http::client web(here, {.body_rate = 0});
    co_spawn(here, follow(web, patience, one), beck::detached);
    for (int i = 0; i < 1000 && !one.done; ++i) world.run_for(1s);
    CHECK(one.done);
    web.close_idle();
    world.run_for(1s);
  }
  server.stop();
  world.run_for(100s);
  CHECK(ended);
  CHECK(server.stats().connections == 0);
  return one;
}

}  // namespace

TEST_CASE("http event worlds: a client that connects again gets each event once, and in order") {
  constexpr std::uint64_t worlds = 60;
  int connections = 0, impatient = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    const follower one = follow_in_world(seed);
    connections += one.connections;
    impatient += one.impatient;
  }
  CHECK(connections > static_cast<int>(2 * worlds));
  CHECK(impatient > static_cast<int>(worlds));
  beck::test::report_value("events.follow_worlds", worlds);
}
