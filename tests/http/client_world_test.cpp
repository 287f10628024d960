// SPDX-License-Identifier: BSL-1.0
// Thousands of calls in simulated worlds, with splits, resets, silence, cancellations and leaps of
// the clock wherever the seed says: each call completes once, no response belongs to another call,
// and nothing is left.
#include <beck/http/client.hpp>
#include <beck/http/server.hpp>

#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/sim.hpp>

#include <algorithm>
#include <chrono>
#include <string>

#include "http/client_site.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"
#include "support/small_random.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
using namespace std::chrono_literals;
namespace http = beck::http;
namespace error = beck::error;
namespace ip = beck::ip;
namespace sim = beck::testing::sim;

namespace {

/// The body of the response to a path: it names the path, so that no other call's is taken for it.
std::string body_of(std::string_view path) {
  std::string text;
  const std::size_t times = path.size() > 3 ? 1 + static_cast<std::size_t>(path[2] - '0') * 120 : 1;
  for (std::size_t i = 0; i < times; ++i) text.append(path).append(";");
  return text;
}

/// Responses as the second letter of the path says; to a body with its length.
task<> response_by_letter(http::request& q, http::response& r) {
  const std::string path(q.path());
  const char kind = path.size() > 1 ? path[1] : 'p';
  std::size_t bytes = 0;
  char part[1000];
  for (;;) {
    auto [ec, n] = co_await q.body().async_read_some(beck::buffer(part));
    if (ec == error::eof) break;
    if (ec) co_return;
    bytes += n;
  }
  if (bytes != 0) r.set("X", std::to_string(bytes));
  const std::string body = body_of(path);
  if (kind == 'w') {
    beck::steady_timer timer(q.get_executor(), beck::duration(3'000'000));
    beck::ignore(co_await timer.async_wait());
  }
  if (kind == 's') {
    const std::size_t half = body.size() / 2;
    auto first = co_await beck::async_write(r, beck::const_buffer(body.data(), half));
    if (first.error()) co_return;
    beck::ignore(co_await r.async_flush());
    auto rest =
        co_await beck::async_write(r, beck::const_buffer(body.data() + half, body.size() - half));
    beck::ignore(rest);
    co_return;
  }
  if (kind == 'c') r.close();
  r.send(body);
}

/// What the calls of a world have come to.
struct tally {
  std::size_t started = 0, ended = 0, whole = 0;
};

/// One call after another: plain ones, with bodies, streamed, cancelled, dropped.
task<> caller(http::client& web, beck::testing::small_random random, tally& sum,
              std::string origin) {
  for (int i = 0; i < 6; ++i) {
    const auto what = static_cast<unsigned>(random.below(8));
    const std::string path = {'/', "pwscl"[random.below(5)],
                              static_cast<char>('0' + random.below(9)), static_cast<char>('a' + i),
                              static_cast<char>('a' + random.below(26))};
    const std::string url = origin + path;
    const std::string rows(static_cast<std::size_t>(random.below(9000)) + 1, 'r');
    ++sum.started;
    beck::io_result<http::client_response> got;
    if (what == 0) {
      got = co_await beck::timeout(web.async_get(url),
                                   beck::duration(static_cast<long long>(random.below(4'000'000))));
    } else if (what == 1) {
      got = co_await web.async_post(url, "a/b", beck::buffer(rows));
    } else if (what == 2) {
      http::call stream(web, http::method::put, url);
      auto wrote = co_await beck::async_write(stream, beck::buffer(rows));
      if (wrote.error() && random.below(2) == 0) {
        ++sum.ended;
        continue;  // the call is dropped
      }
      got = co_await stream.async_finish();
    } else {
      got = co_await web.async_get(url);
    }
    if (got.error()) {
      CHECK(!*got);
      ++sum.ended;
      continue;
    }
    {
      const http::client_response r = std::move(got).value();
      if (r.status() == http::status::request_timeout) {  // the server's own limit
        ++sum.ended;
        continue;
      }
      CHECK(r.status() == http::status::ok);
      if (what == 3) {
        ++sum.ended;
        continue;  // the response is dropped
      }
      auto text = co_await r.body().async_read_all(100'000);
      if (!text.error()) {
        CHECK((text.value_ == body_of(path)));
        if (what == 1 || what == 2) CHECK(r.get("X") == std::to_string(rows.size()));
        ++sum.whole;
      } else {
        CHECK((body_of(path).substr(0, text.value_.size()) == text.value_));
      }
    }
    ++sum.ended;
  }
}

/// Returns the number of calls that were answered whole in one world.
std::size_t calls_in_world(std::uint64_t seed) {
  beck::testing::small_random random(seed);
  sim::settings how;
  if (seed % 3 == 0) how.calm();
  sim::world world(seed, how.buffer_sizes(1 + seed * 37 % 5000, 1 + seed * 91 % 5000));
  beck::io_context back(world.host("web")), far(world.host("far"));
  http::server server(response_by_letter, {.idle_timeout = seed % 4 == 0 ? 2ms : 75s});
  server.listen(80);
  bool ended = false;
  co_spawn(back, server.serve(), [&](std::exception_ptr) { ended = true; });
  tally sum;
  std::size_t whole = 0;
  {
    http::client web(far, {.per_origin = 1 + seed % 4, .connections = 3, .waiting = 4});
    for (unsigned number = 0; number < 5; ++number) {
      co_spawn(far,
               caller(web, beck::testing::small_random(seed * 10 + number), sum, "http://10.0.0.1"),
               beck::detached);
    }
    for (int i = 0; i < 30; ++i) {
      world.run_for(std::chrono::microseconds(random.below(3000)));
      const auto event = random.below(10);
      if (event == 0) web.close_idle();
      if (event == 1) world.link(world.host("web"), world.host("far")).cut();
      if (event == 2) world.link(world.host("web"), world.host("far")).heal();
      if (event == 3) world.jump(10s);
      REQUIRE(web.stats().connections <= 3);
      REQUIRE(web.stats().waiting <= 4);
    }
    world.link(world.host("web"), world.host("far")).heal();
    world.run_for(400s);
    REQUIRE(sum.started == 5 * 6);
    REQUIRE(sum.ended == sum.started);
    REQUIRE(web.stats().connections == 0);  // the idle ones have ended by now
    REQUIRE(web.stats().waiting == 0);
    whole = sum.whole;
  }
  server.stop();
  world.run_for(100s);
  CHECK(ended);
  return whole;
}

/// A server that sends `text` cut off or reset at `at`, once, and a good response to later
/// requests.
void response_cut_at(const std::string& text, std::size_t at, after how, std::size_t piece) {
  sim::world world(at * 7 + piece, sim::settings().calm().buffer_sizes(4096, piece));
  beck::io_context back(world.host("web")), far(world.host("far"));
  scripted_server server(back, ip::tcp::endpoint(ip::tcp::v4(), 80));
  http::client web(far);
  server.will(text.substr(0, at), how);
  outcome got, next;
  co_spawn(far, collect(web.async_get("http://10.0.0.1/"), got), beck::detached);
  world.run_for(100s);
  REQUIRE(got.done);
  const bool complete = !got.ec && !got.body_ec;
  CHECK(complete == (at == text.size()));
  if (complete) CHECK(got.body == "hello world");
  server.will(ok("next"));
  co_spawn(far, collect(web.async_get("http://10.0.0.1/"), next), beck::detached);
  world.run_for(10s);
  CHECK(next.body == "next");
  world.run_for(100s);
  CHECK(web.stats().connections == 0);
}

}  // namespace

TEST_CASE("http client worlds: each call completes once, and no response belongs to another call") {
  const auto worlds = static_cast<std::uint64_t>(std::max(beck::test::scaled(1000), 200));
  std::size_t whole = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    whole += calls_in_world(seed);
  }
  CHECK(whole > worlds * 8);
  beck::test::report_value("http.client_worlds", static_cast<long long>(worlds));
}

TEST_CASE(
    "http client worlds: a response that ends or is reset at any byte is never taken for whole") {
  const std::string length = ok("hello world", "X: y\r\n");
  const std::string chunked =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nT: x\r\n\r\n";
  for (const std::string& text : {length, chunked}) {
    for (std::size_t at = 0; at <= text.size(); ++at) {
      CAPTURE(at);
      response_cut_at(text, at, after::end, 1 + at % 5);
      if (at != text.size()) response_cut_at(text, at, after::reset, 4096);
    }
  }
}
