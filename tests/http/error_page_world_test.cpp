// SPDX-License-Identifier: BSL-1.0
// Error pages in simulated worlds: time limits of the server, and pipelines of requests that fail
// in all ways.
#include <beck/http/error_page.hpp>
#include <beck/http/server.hpp>

#include <beck/io/steady_timer.hpp>

#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/server_site.hpp"
#include "http/shown_page.hpp"
#include "support/report.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

TEST_CASE("http limits: a head and a body that come too slowly have error pages") {
  site s(count_body, {.head_timeout = 10s, .body_timeout = 10s});
  s.server.on_error_page(&say_all);
  peer& head = s.start("GET / HTTP/1.1\r\n");
  peer& body = s.start(ask_for("POST", "/b", "Content-Length: 5\r\n"));
  s.listen_to(head, 12s);
  s.listen_to(body, 12s);
  REQUIRE(head.responses().size() == 1);
  CHECK(head.responses()[0].status == 408);
  CHECK(has(head.responses()[0].body, "408|head_late|-|refused: the head came too slowly"));
  REQUIRE(body.responses().size() == 1);
  CHECK(body.responses()[0].status == 408);
  CHECK(has(body.responses()[0].body, "408|body_late|-|refused: the body came too slowly"));
}

namespace {

/// Responds, fails or throws, as the letters of the path say, before or behind a wait.
task<> fail_by_letter(http::request& q, http::response& r) {
  const std::string path(q.path());
  if (path[2] == 'w') {
    beck::steady_timer timer(q.get_executor(), 2ms);
    beck::ignore(co_await timer.async_wait());
  }
  if (path[1] == 'f') throw http::failure(404, path);
  if (path[1] == 't') throw std::runtime_error(path);
  if (path[1] == 's') co_return;
  if (path[1] == 'r') r.fail(409, path);
  if (path[1] == 'c') {
    beck::ignore(co_await beck::async_write(r, beck::buffer(path)));
    throw std::runtime_error(path);
  }
  if (path[1] == 'p') r.send(path);
}

/// Returns what a client has to receive for a path; an empty text if its connection is cut.
std::string expected_body(const std::string& path) {
  switch (path[1]) {
    case 'f':
      return "404|none|" + path + '|' + path + '|' + path;
    case 't':
      return "500|none|" + path + "|the handler failed|" + path;
    case 's':
      return "500|none|the handler did not respond|the handler did not respond|" + path;
    case 'r':
      return "409|none|-|" + path + '|' + path;
    case 'p':
      return path;
    default:
      return {};
  }
}

/// Sends pipelines of requests in a world; returns the number of responses that were whole.
std::size_t pages_in_world(std::uint64_t seed) {
  sim::world world(seed, sim::settings().buffer_sizes(1 + seed * 37 % 3000, 1 + seed * 91 % 3000));
  beck::io_context web(world.host("web")), far(world.host("far"));
  http::server server(fail_by_letter);
  std::size_t late = 0;
  server.on_error_page(
      [&](http::error_page& page) { page.has_begun() ? void(++late) : say_all(page); });
  server.listen(80);
  co_spawn(web, server.serve(), beck::detached);
  std::deque<peer> peers;
  std::vector<std::vector<std::string>> asked(3);
  std::deque<std::string> texts;
  for (unsigned number = 0; number < 3; ++number) {
    std::string& text = texts.emplace_back();
    for (unsigned i = 0; i < 1 + seed % 6; ++i) {
      const auto draw = seed * 31 + number * 17 + i * 7;
      const std::string path = {'/', "pftsrc"[draw % 6], "wn"[draw / 6 % 2],
                                static_cast<char>('0' + i)};
      asked[number].push_back(path);
      text += get(path);
    }
    peer& one = peers.emplace_back(far);
    one.socket.async_connect(site::server_at(), [&one, &text](beck::error_code ec) {
      if (ec) return;
      beck::async_write(one.socket, beck::buffer(text), [](beck::error_code, std::size_t) {});
      beck::co_spawn(one.socket.get_executor(), site::receive(one), beck::detached);
    });
  }
  world.run_for(100s);
  std::size_t whole = 0, cut = 0;
  for (unsigned number = 0; number < 3; ++number) {
    const auto all = peers[number].responses();
    std::size_t at = 0;
    for (const std::string& path : asked[number]) {
      const std::string body = expected_body(path);
      REQUIRE(at < all.size());
      if (body.empty()) {
        ++cut;
        CHECK(!all[at++].whole);
        break;
      }
      CHECK(all[at].whole);
      CHECK(all[at++].body == body);
    }
    CHECK(at == all.size());
    whole += at;
  }
  CHECK(late == cut);
  CHECK(server.stats().cut == cut);
  server.stop();
  world.run_for(30s);
  return whole;
}

}  // namespace

TEST_CASE("http worlds: each error has its page, in order, and each late exception is shown") {
  constexpr std::uint64_t worlds = 200;
  std::size_t whole = 0;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    CAPTURE(seed);
    whole += pages_in_world(seed);
  }
  CHECK(whole > worlds * 3);
  beck::test::report_value("http.page_worlds", worlds);
}
