// SPDX-License-Identifier: BSL-1.0
// Time limits of handlers in simulated worlds: pipelines of requests, some of which take too long.
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>

#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>

#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "http/server_site.hpp"
#include "support/report.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;

namespace {

/// Waits as long as the letter of the path says, and responds as the second one does.
task<> wait_by_letter(http::request& q, http::response& r) {
  const std::string path(q.path());
  if (path[2] == 'p') {
    const beck::const_buffer part("part", 4);
    beck::ignore(co_await beck::async_write(r, part));
  }
  beck::steady_timer timer(q.get_executor(), path[1] == 'l' ? 1h : 1ms * (path[3] - '0'));
  beck::ignore(co_await timer.async_wait());
  if (path[1] == 'l') co_return;
  if (path[2] == 'p') {
    const beck::const_buffer part("part", 4);
    beck::ignore(co_await beck::async_write(r, part));
  } else {
    r.send(path);
  }
}

/// Returns how many handlers were late in a world with pipelines of requests.
std::size_t late_in_world(std::uint64_t seed) {
  sim::world world(seed, sim::settings().buffer_sizes(1 + seed * 37 % 3000, 1 + seed * 91 % 3000));
  beck::io_context web(world.host("web")), far(world.host("far"));
  http::router routes;
  std::deque<std::pair<http::exchange, beck::steady_timer>> kept;
  routes.get("/{a}", &wait_by_letter, {.handler_timeout = 100ms});
  routes.get("/k/{a}",
             [&](http::exchange x) {
               auto& one =
                   kept.emplace_back(std::move(x), beck::steady_timer(web, 10ms * (seed % 20)));
               one.second.async_wait([&one](error_code) { one.first.response().send("kept"); });
             },
             {.handler_timeout = 100ms});
  http::server server(routes);
  server.listen(80);
  bool ended = false;
  co_spawn(web, server.serve(), [&](std::exception_ptr) { ended = true; });
  std::deque<peer> peers;
  std::deque<std::string> texts;
  std::vector<std::vector<std::string>> asked(3);
  for (unsigned number = 0; number < 3; ++number) {
    std::string& text = texts.emplace_back();
    for (unsigned i = 0; i < 1 + seed % 5; ++i) {
      const auto draw = seed * 31 + number * 17 + i * 7;
      const std::string path = {'/', "lss"[draw % 3], "pnn"[draw / 3 % 3],
                                static_cast<char>('0' + i)};
      asked[number].push_back(path);
      text += get(path);
    }
    if (number == 2) text += get("/k/x");
    peer& one = peers.emplace_back(far);
    one.socket.async_connect(site::server_at(), [&one, &text](error_code ec) {
      if (ec) return;
      beck::async_write(one.socket, beck::buffer(text), [](error_code, std::size_t) {});
      beck::co_spawn(one.socket.get_executor(), site::receive(one), beck::detached);
    });
  }
  world.run_for(200s);
  std::size_t late = 0;
  for (unsigned number = 0; number < 3; ++number) {
    const auto all = peers[number].responses();
    std::size_t at = 0;
    bool is_cut = false;
    for (const std::string& path : asked[number]) {
      REQUIRE(at < all.size());
      const seen_response& seen = all[at++];
      if (path[1] == 'l') ++late;
      is_cut = path[1] == 'l' && path[2] == 'p';
      CHECK(seen.whole == !is_cut);
      if (is_cut) break;
      CHECK(seen.status == (path[1] == 'l' ? 503 : 200));
      if (path[1] != 'l') CHECK(seen.body == (path[2] == 'p' ? "partpart" : path));
    }
    if (number == 2 && !is_cut) {
      REQUIRE(at < all.size());
      if (all[at].status == 503) ++late;
      CHECK((all[at].status == 503 || all[at].body == "kept"));
      ++at;
    }
    CHECK(at == all.size());
  }
  CHECK(server.stats().count(http::refusal::handler_late) == late);
  kept.clear();
  server.stop();
  world.run_for(30s);
  CHECK(ended);
  CHECK(server.stats().connections == 0);
  return late;
}

}  // namespace

TEST_CASE("http worlds: handlers whose time is over are answered for, and all others answer") {
  constexpr std::uint64_t worlds = 200;
  std::size_t late = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    late += late_in_world(seed);
  }
  CHECK(late > worlds);
  beck::test::report_value("http.time_worlds", worlds);
}
