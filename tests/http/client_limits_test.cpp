// SPDX-License-Identifier: BSL-1.0
// The time limits of a client, in simulated worlds: nothing waits in real time.
#include <beck/http/client.hpp>

#include <beck/io/steady_timer.hpp>
#include <beck/testing/sim.hpp>

#include <chrono>
#include <optional>
#include <string>

#include "http/client_site.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
using namespace std::chrono_literals;
namespace http = beck::http;
namespace error = beck::error;
namespace ip = beck::ip;
namespace sim = beck::testing::sim;

namespace {

/// A scripted server on one machine of a world and a client on another.
struct client_world {
  explicit client_world(const http::client_options& how = http::client_options())
      : world(1, sim::settings().calm()),
        web(world.host("web")),
        far(world.host("far")),
        server(web, ip::tcp::endpoint(ip::tcp::v4(), 80)),
        client(far, how) {
    world.run_until_idle();
  }
  outcome& start(beck::http::detail::call_finish operation) {
    outcome& made = outcomes.emplace_back();
    co_spawn(far, collect(std::move(operation), made), beck::detached);
    return made;
  }
  outcome& get(std::string_view url = "http://10.0.0.1/") { return start(client.async_get(url)); }
  void push(std::string text) { server.push(server.connections() - 1, std::move(text)); }

  sim::world world;
  beck::io_context web, far;
  scripted_server server;
  http::client client;
  std::deque<outcome> outcomes;
};

}  // namespace

TEST_CASE("http client limits: an idle connection is kept for 15 s") {
  client_world w;
  w.server.will(ok("a"));
  w.server.will(ok("b"));
  w.get();
  w.world.run_for(14s);
  CHECK(w.client.stats().idle == 1);
  w.get();
  w.world.run_for(14s);
  CHECK(w.client.stats().idle == 1);
  CHECK(w.outcomes[1].body == "b");
  w.world.run_for(2s);
  CHECK(w.client.stats().idle == 0);
  CHECK(w.client.stats().discarded == 1);
  CHECK(w.client.stats().made == 1);
}

TEST_CASE("http client limits: a server that says less in Keep-Alive is believed") {
  client_world w;
  w.server.will(ok("a", "Keep-Alive: timeout=5, max=10\r\n"));
  w.get();
  w.world.run_for(3s);
  CHECK(w.client.stats().idle == 1);
  w.world.run_for(2s);
  CHECK(w.client.stats().idle == 0);
}

TEST_CASE("http client limits: the time of an idle connection does not end a later call") {
  client_world w;
  w.server.will(ok("a"));
  w.get();
  w.world.run_for(10s);
  w.get();  // answered 20 s later: the receive that has waited since then is limited to 15 s
  w.world.run_for(20s);
  w.push(ok("b"));
  w.world.run_for(1s);
  CHECK(w.outcomes[1].body == "b");
  CHECK(w.client.stats().made == 1);
}

TEST_CASE("http client limits: no connection within 3 s") {
  client_world w;
  w.world.link(w.world.host("web"), w.world.host("far")).cut();
  outcome& late = w.get();
  w.world.run_for(2900ms);
  CHECK(!late.done);
  w.world.run_for(200ms);
  CHECK(late.ec == http::client_error::connect_late);
  CHECK(late.ec == beck::errc::timed_out);
  CHECK(w.client.stats().connections == 0);
}

TEST_CASE("http client limits: a head that does not come, whatever 1xx responses come before it") {
  client_world w;
  outcome& silent = w.get();
  w.world.run_for(59s);
  CHECK(!silent.done);
  w.world.run_for(2s);
  CHECK(silent.ec == http::client_error::head_late);
  outcome& drips = w.get();
  for (int i = 0; i < 6; ++i) {
    w.world.run_for(9s);
    w.push("HTTP/1.1 103 Early Hints\r\n\r\n");
  }
  CHECK(!drips.done);
  w.world.run_for(7s);
  CHECK(drips.ec == http::client_error::head_late);
  CHECK(w.client.stats().connections == 0);
  CHECK(w.client.stats().retries == 0);
}

TEST_CASE("http client limits: the time of the head begins when the request was sent") {
  client_world w({.head_timeout = 10s});
  w.server.answers_early = true;  // it takes no byte behind the head for 29 s, and again
  std::string body(4'000'000, 'b');
  outcome& slow = w.start(w.client.async_put("http://10.0.0.1/", "a/b", beck::buffer(body)));
  w.world.run_for(29s);
  CHECK(!slow.done);
  w.world.run_for(3s);
  CHECK(slow.ec == http::client_error::send_late);
  CHECK(w.client.stats().connections == 0);
}

TEST_CASE("http client limits: a body that pauses for 30 s, or comes too slowly") {
  client_world w;
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
  w.server.will(head + std::string(50'000, 'x'));
  outcome& pauses = w.get();
  w.world.run_for(29s);
  CHECK(!pauses.done);
  w.world.run_for(2s);
  CHECK(pauses.body_ec == http::client_error::body_late);
  CHECK(pauses.body.size() == 50'000);
  w.server.will(head);
  outcome& drips = w.get();
  w.world.run_for(1s);
  for (int i = 0; i < 6 && !drips.done; ++i) {
    w.push(std::string(200, 'x'));
    w.world.run_for(1s);
  }
  CHECK(drips.body_ec == http::client_error::body_late);
  w.server.will("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n");
  outcome& fast_enough = w.get();
  for (int i = 0; i < 20; ++i) {
    w.world.run_for(1s);
    w.push(std::string(500, 'x'));
  }
  w.world.run_for(1s);
  CHECK(fast_enough.done);
  CHECK(!fast_enough.body_ec);
  CHECK(w.client.stats().connections == 1);
}

TEST_CASE("http client limits: a rate of 0 is no limit, as for a stream of rare events") {
  client_world w({.body_rate = 0, .body_grace = beck::duration()});
  w.server.will("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  outcome& events = w.get();
  w.world.run_for(1s);
  for (int i = 0; i < 240; ++i) {  // an hour
    w.push("3\r\n:\n\n\r\n");
    w.world.run_for(15s);
  }
  CHECK(!events.done);
  w.push("0\r\n\r\n");
  w.world.run_for(1s);
  CHECK(events.done);
  CHECK(!events.body_ec);
  CHECK(events.body.size() == 3 * 240);
}

TEST_CASE("http client limits: time that the reader takes for itself does not count") {
  client_world w;
  w.server.will(ok(std::string(100'000, 'x')));
  bool done = false;
  const auto use = [&]() -> task<> {
    auto got = co_await w.client.async_get("http://10.0.0.1/");
    const http::client_response r = std::move(got).value();
    beck::steady_timer pause(w.far, beck::duration(100'000'000'000));
    beck::ignore(co_await pause.async_wait());
    auto all = co_await r.body().async_read_all(200'000);
    CHECK(all.value().size() == 100'000);
    done = true;
  };
  co_spawn(w.far, use(), beck::detached);
  w.world.run_for(200s);
  CHECK(done);
}

TEST_CASE("http client limits: 100 Continue is waited for a second") {
  client_world w;
  w.server.will(ok("a"));
  const std::string body = "body";
  http::call c(w.client, http::method::put, "http://10.0.0.1/");
  outcome& got = w.start(c.expect_continue().async_finish(beck::buffer(body)));
  w.world.run_for(900ms);
  CHECK(w.server.requests.empty());
  w.world.run_for(200ms);
  REQUIRE(w.server.requests.size() == 1);
  CHECK(w.server.requests[0].body == "body");
  CHECK(got.body == "a");
  CHECK(w.client.stats().idle == 1);
}

TEST_CASE("http client limits: time limits hold when the clock leaps") {
  client_world w;
  outcome& one = w.get();
  w.world.run_for(1s);
  w.world.jump(3600s);
  w.world.run_for(1s);
  CHECK(one.ec == http::client_error::head_late);
  w.server.will(ok("a"));
  w.get();
  w.world.run_for(1s);
  w.world.jump(3600s);
  w.world.run_for(1s);
  CHECK(w.client.stats().connections == 0);
}

TEST_CASE("http client: a name is looked up, one that has no address is an error in words") {
  client_world w;
  w.server.will(ok("a"));
  CHECK(&w.get("http://web/") == &w.outcomes[0]);
  w.world.run_for(1s);
  CHECK(w.outcomes[0].body == "a");
  CHECK(contains(w.server.requests.at(0).head, "Host: web\r\n"));
  outcome& none = w.get("http://nowhere/");
  w.world.run_for(4s);
  CHECK(none.ec);
  CHECK(contains(none.failure, "GET http://nowhere:80: "));
  outcome& refused = w.get("http://10.0.0.1:81/");
  w.world.run_for(1s);
  CHECK(refused.ec == beck::errc::connection_refused);
}
