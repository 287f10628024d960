// SPDX-License-Identifier: BSL-1.0
// The proxy of the examples in simulated worlds: a client, the proxy and a server on three hosts.
#include "examples/http_proxy.hpp"

#include <beck/io/steady_timer.hpp>
#include <beck/testing/sim.hpp>

#include <chrono>
#include <optional>
#include <string>

#include "http/client_site.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
using namespace std::chrono_literals;
namespace http = beck::http;
namespace ip = beck::ip;
namespace sim = beck::testing::sim;

namespace {

/// A server behind a proxy, and a client in front of it.
struct chain {
  template <class Handler>
  explicit chain(Handler handler, std::uint64_t seed = 1)
      : world(seed, seed == 1 ? sim::settings().calm()
                              : sim::settings().buffer_sizes(1 + seed * 37 % 3000, 700)),
        back(world.host("server")),
        middle(world.host("proxy")),
        far(world.host("client")),
        server(std::move(handler)),
        inner(middle, {.per_origin = 2}),
        proxy(example::http_proxy(inner, "http://10.0.0.1")) {
    server.listen(80);
    proxy.listen(80);
    co_spawn(back, server.serve(), beck::detached);
    co_spawn(middle, proxy.serve(), beck::detached);
    world.run_until_idle();
    outer.emplace(far);
  }
  ~chain() {
    outer.reset();
    proxy.stop();
    server.stop();
    world.run_for(100s);
    CHECK(proxy.stats().connections == 0);
    CHECK(inner.stats().connections == 0);
    CHECK(server.stats().connections == 0);
  }
  outcome& start(beck::http::detail::call_finish operation) {
    outcome& made = outcomes.emplace_back();
    co_spawn(far, collect(std::move(operation), made), beck::detached);
    return made;
  }
  const outcome& finish(beck::http::detail::call_finish operation) {
    outcome& made = start(std::move(operation));
    world.run_for(10s);
    REQUIRE(made.done);
    return made;
  }

  sim::world world;
  beck::io_context back, middle, far;
  http::server server;
  http::client inner;
  http::server proxy;
  std::optional<http::client> outer;
  std::deque<outcome> outcomes;
};

/// Responds with the fields that it got.
void say_fields(http::request& q, http::response& r) {
  std::string text(q.target());
  for (const http::field_view f : q.head())
    text.append("|").append(f.name).append("=").append(f.value);
  r.set("X", "up").set("Via", "1.1 server").send(text);
}

}  // namespace

TEST_CASE("http proxy: fields of a connection stay, those of the message and X-Forwarded go on") {
  chain c(say_fields);
  http::call ask(*c.outer, http::method::get, "http://10.0.0.2/a%20b?c=d");
  ask.set("X-One", "1").set("X-Forwarded-Proto", "evil").set("X-Forwarded-For", "evil");
  const outcome& got = c.finish(ask.async_finish());
  CHECK(got.status == 200);
  CHECK(got.head_field == "up");
  CHECK(contains(got.body, "/a%20b?c=d|Host=10.0.0.1|"));
  CHECK(contains(got.body, "|X-One=1|"));
  CHECK(contains(
      got.body,
      "|X-Forwarded-For=10.0.0.3|X-Forwarded-Host=10.0.0.2|X-Forwarded-Proto=http|Via=1.1 beck"));
  CHECK(!contains(got.body, "evil"));
  http::call hop(*c.outer, http::method::get, "http://10.0.0.2/");
  const outcome& last = c.finish(hop.close().async_finish());
  CHECK(!contains(last.body, "Connection"));
  CHECK(c.inner.stats().made == 1);  // the connection to the server is kept all the same
}

TEST_CASE("http proxy: bodies are streamed in both directions") {
  chain c(count_body);
  const std::string body(1'000'000, 'b');
  CHECK(c.finish(c.outer->async_post("http://10.0.0.2/", "a/b", beck::buffer(body))).body ==
        "1000000");
  chain large([&](http::request&, http::response& r) { r.send(body); });
  CHECK((large.finish(large.outer->async_get("http://10.0.0.2/")).body == body));
  CHECK(large.finish(large.outer->async_head("http://10.0.0.2/")).status == 200);
}

TEST_CASE("http proxy: a target reaches the server as the client has sent it") {
  std::string seen;
  chain c([&](http::request& q, http::response& r) {
    seen = q.target();
    r.send("ok");
  });
  for (const char* target : {"/?a[]=1", "/x|y?", "/%2F/..?^"}) {
    http::call ask(*c.outer, http::method::get, "http://10.0.0.2/");
    CHECK(c.finish(ask.target(target).async_finish()).status == 200);
    CHECK(seen == target);
  }
}

TEST_CASE(
    "http proxy: a server that is down is 502, a silent one 504, a cut response a cut response") {
  chain c(say_path);
  c.server.stop();
  c.world.run_for(30s);
  CHECK(c.finish(c.outer->async_get("http://10.0.0.2/")).status == 502);
  chain silent([](http::request& q, http::response&) -> task<> {
    beck::steady_timer timer(q.get_executor(), beck::duration(70'000'000'000));
    beck::ignore(co_await timer.async_wait());
  });
  outcome& late = silent.start(silent.outer->async_get("http://10.0.0.2/"));
  silent.world.run_for(59s);
  CHECK(!late.done);
  silent.world.run_for(2s);
  // The client's own limit is as long as the proxy's: whichever comes first.
  CHECK((late.status == 504 || late.ec == http::client_error::head_late));
  chain cut([](http::request&, http::response& r) -> task<> {
    r.content_length(100);
    beck::ignore(co_await beck::async_write(r, beck::buffer("part", 4)));
    beck::ignore(co_await r.async_flush());
    throw std::runtime_error("no more");
  });
  const outcome& half = cut.finish(cut.outer->async_get("http://10.0.0.2/"));
  CHECK(half.body == "part");
  CHECK(half.body_ec == http::client_error::cut_short);
}

TEST_CASE("http proxy worlds: as many requests arrive as were sent, and each gets its response") {
  for (std::uint64_t seed = 2; seed < 60; ++seed) {
    CAPTURE(seed);
    std::size_t arrived = 0;
    chain c(
        [&](http::request& q, http::response& r) {
          ++arrived;
          r.send(q.path());
        },
        seed);
    for (int i = 0; i < 20; ++i)
      c.start(c.outer->async_get("http://10.0.0.2/" + std::to_string(i)));
    c.world.run_for(100s);
    std::size_t whole = 0;
    for (int i = 0; i < 20; ++i) {
      const outcome& one = c.outcomes[static_cast<std::size_t>(i)];
      REQUIRE(one.done);
      if (one.ec || one.status != 200) continue;
      ++whole;
      CHECK(one.body == "/" + std::to_string(i));
    }
    CHECK(arrived >= whole);
    CHECK(c.inner.stats().made <= 20);
  }
}
