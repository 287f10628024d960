// SPDX-License-Identifier: BSL-1.0
// Connections in simulated worlds, with splits, resets, silence and cancellations wherever the seed
// says: messages arrive whole, once and in order, or the connection ends with an error; nothing
// outlives a limit, and nothing is left.
#include <beck/websocket/connect.hpp>

#include <beck/coro/event.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/server.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/sim.hpp>
#include <beck/websocket/accept.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "support/pattern.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"
#include "support/small_random.hpp"
#include "websocket/handshake.hpp"
#include "websocket/site.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;
using namespace std::chrono_literals;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace sim = beck::testing::sim;

namespace {

constexpr auto text = message_kind::text;

/// What the connections of a world have come to.
struct tally {
  std::size_t started = 0, ended = 0, echoed = 0, closed = 0, whole = 0;
};

limits bounds() { return limits{.ping_interval = 20s, .pong_timeout = 10s, .send_timeout = 20s}; }

/// The text of message `number`: from it follows its length, from nothing to several fragments.
std::string text_of(std::size_t number, std::uint64_t seed) {
  const std::size_t bytes = number % 5 == 4 ? 9'000 + seed * 7'919 % 150'000 : seed * 31 % 300;
  return std::to_string(number) + ":" + beck::test::pattern(bytes, number);
}

/// Writes messages one after another, whole or in parts, until the connection ends.
task<> talk_to(stream& ws, std::uint64_t seed, std::size_t messages) {
  beck::testing::small_random random(seed);
  for (std::size_t number = 0; number < messages; ++number) {
    const std::string all = text_of(number, seed);
    error_code ec;
    if (random.chance(300)) {
      const std::size_t cut = random.below(static_cast<unsigned>(all.size()));
      auto first = co_await ws.write_part(text, beck::const_buffer(all.data(), cut), false);
      ec = first.error();
      if (!ec) {
        const beck::const_buffer rest(all.data() + cut, all.size() - cut);
        auto last = co_await ws.write_part(text, rest, true);
        ec = last.error();
      }
    } else {
      auto sent = co_await ws.write(text, beck::buffer(all));
      ec = sent.error();
    }
    if (ec) co_return;
    if (random.chance(200)) {
      beck::steady_timer timer(ws.get_executor(), beck::duration(random.below(40'000'000)));
      beck::ignore(co_await timer.async_wait());
    }
  }
}

/// Reads echoes, whole or in parts, through reads that are cancelled at any time, and checks each.
task<> check_echoes(stream& ws, std::uint64_t seed, tally& sum, std::size_t& read) {
  beck::testing::small_random random(seed + 1);
  beck::flat_buffer data;
  while (ws) {
    error_code ec;
    const beck::duration patience(static_cast<long long>(1 + random.below(3)) * 200'000'000);
    auto got = co_await beck::timeout(ws.read(data), patience);
    ec = got.error();
    if (ec == beck::error::make_error_code(beck::error::timeout)) continue;
    if (ec) co_return;
    REQUIRE((std::string_view(data.view().data(), data.size()) == text_of(read, seed)));
    ++read;
    ++sum.echoed;
  }
}

task<> client_course(http::client& web, std::uint64_t seed, tally& sum) {
  const std::size_t messages = 3 + seed % 9;
  auto made = co_await connect(web, "ws://10.0.0.1/", connect_options{.limits = bounds()});
  if (!made.error()) {
    stream ws = std::move(made).value();
    std::size_t read = 0;
    beck::manual_reset_event read_all;
    co_spawn(web.get_executor(), check_echoes(ws, seed, sum, read),
             [&](const std::exception_ptr& failed) {
               if (failed) std::rethrow_exception(failed);
               read_all.set();
             });
    beck::ignore(co_await beck::timeout(talk_to(ws, seed, messages), 300s));
    if (seed % 7 == 0) {
      ws = stream();  // leaves without a word
    } else {
      beck::steady_timer timer(web.get_executor());
      while (seed % 3 != 0 && read < messages && !ws.error()) {
        timer.expires_after(100ms);
        beck::ignore(co_await timer.async_wait());
      }
      const bool whole = read == messages;
      auto end = co_await ws.close();
      if (!end.error()) ++sum.closed;
      if (whole && !end.error()) ++sum.whole;
    }
    beck::ignore(co_await read_all.wait());
    REQUIRE(read <= messages);
  }
  ++sum.ended;
}

/// Runs a world and returns what has come of it.
tally run_world(std::uint64_t seed, bool faults) {
  sim::settings how = sim::settings().buffer_sizes(1 + seed * 37 % 9000, 1 + seed * 91 % 9000);
  if (faults) {
    how = how.with(sim::faults()
                       .set(sim::fault::reset, 0.002)
                       .set(sim::fault::end, 0.002)
                       .set(sim::fault::silence, 0.001)
                       .set(sim::fault::clock_jump, 0));
  }
  sim::world world(seed, how);
  beck::io_context web(world.host("web")), far(world.host("far"));
  http::server server(echo_site{bounds()});
  server.listen(80);
  bool stopped = false;
  co_spawn(web, server.serve(), [&](std::exception_ptr) { stopped = true; });
  tally sum;
  {
    http::client client(far);
    for (std::uint64_t number = 0; number < 3; ++number) {
      ++sum.started;
      co_spawn(far, client_course(client, seed * 3 + number, sum), beck::detached);
    }
    for (int i = 0; i < 1'000 && sum.ended < sum.started; ++i) world.run_for(2s);
  }
  CHECK(sum.ended == sum.started);
  world.run_for(120s);
  CHECK(server.stats().connections == 0);  // no connection outlives its limits
  server.stop();
  world.run_for(30s);
  CHECK(stopped);
  return sum;
}

}  // namespace

TEST_CASE("websocket worlds: messages arrive whole and in order, or the connection ends") {
  const auto worlds = static_cast<std::uint64_t>(std::max(beck::test::scaled(150), 50));
  tally calm, rough;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    const tally quiet = run_world(seed, false);
    const tally hard = run_world(seed, true);
    calm.echoed += quiet.echoed;
    calm.closed += quiet.closed;
    calm.whole += quiet.whole;
    rough.echoed += hard.echoed;
    rough.closed += hard.closed;
  }
  CHECK(calm.whole > worlds);
  CHECK(calm.closed > calm.whole);
  CHECK(calm.echoed > worlds * 8);
  CHECK(rough.echoed > worlds);
  beck::test::report_value("ws.worlds", static_cast<long long>(2 * worlds));
}

TEST_CASE("websocket worlds: a world repeats bit for bit, keys and masks included") {
  std::set<std::uint64_t> hashes;
  std::set<std::string> sent;
  for (int round = 0; round < 2; ++round) {
    sim::world world(9);
    beck::io_context web(world.host("web")), far(world.host("far"));
    std::string received;
    http::server server([&](http::request& q, http::response& r) -> task<> {
      received = q.get(http::field::sec_websocket_key);
      r.set(http::field::upgrade, "websocket");
      r.set(http::field::sec_websocket_accept, detail::accept_value(received));
      auto taken = co_await r.take_over();
      auto got = co_await taken->stream().receive();
      received.append(got->data(), got->size());
    });
    server.listen(80);
    co_spawn(web, server.serve(), beck::detached);
    http::client client(far);
    stream ws;
    co_spawn(far, connect(client, "ws://10.0.0.1/"),
             [&](const std::exception_ptr&, beck::io_result<stream> made) {
               ws = std::move(made.value_);
             });
    world.run_for(1s);
    REQUIRE(ws);
    const std::string_view hello = "hello";
    CHECK(!ws.send(message(text, beck::buffer(hello))));
    world.run_for(1s);
    sent.insert(received);
    hashes.insert(world.hash());
  }
  CHECK(hashes.size() == 1);
  CHECK(sent.size() == 1);
  CHECK(sent.begin()->size() == 24 + 6 + 5);  // key; head and mask, and the data
}
