// SPDX-License-Identifier: BSL-1.0
// The leaderboard of the examples without faults: its replies, with Redis and without it, and the
// events of slow viewers.
#include <doctest/doctest.h>

#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>

#include <deque>
#include <ostream>
#include <string>
#include <vector>

#include "examples/leaderboard_site.hpp"

using namespace leaderboard_test;
using beck::ip::tcp;

namespace {

/// A reply, once it has come.
struct got {
  unsigned status = 0;
  std::string body;
  std::string retry_after;
  std::string content_type;
};

task<> ask(http::call call, got& to) {
  auto finished = co_await call.async_finish();
  if (finished.error()) co_return;
  const http::client_response r = std::move(finished).value();
  auto text = co_await r.body().async_read_all(100'000);
  if (text.error()) co_return;
  to = {http::number_of(r.status()), std::move(*text), std::string(r.get(http::field::retry_after)),
        std::string(r.get(http::field::content_type))};
}

/// A socket that reads a stream of events, once read() is called.
struct listener {
  explicit listener(beck::io_context& on) : socket(on) {}

  task<> connect() {
    const tcp::endpoint at(beck::ip::make_address("10.0.0.2"), 80);
    auto connected = co_await socket.async_connect(at);
    CHECK(!connected.error());
    const std::string request = "GET /events HTTP/1.0\r\nHost: a\r\n\r\n";  // so without chunks
    auto sent = co_await beck::async_write(socket, beck::buffer(request));
    CHECK(!sent.error());
  }
  task<> read() {
    for (;;) {
      char part[512];
      const auto [ec, n] = co_await socket.async_read_some(beck::buffer(part));
      if (ec) break;
      bytes.append(part, n);
    }
    has_ended = true;
  }
  /// Returns the events that have come.
  std::vector<event> events() const {
    std::string left = bytes.substr(bytes.find("\r\n\r\n") + 4);
    std::vector<event> all;
    for (event next; take_event(left, next);) all.push_back(next);
    return all;
  }

  tcp::socket socket;
  std::string bytes;
  bool has_ended = false;
};

/// A world without faults.
struct calm_site {
  explicit calm_site(const sim::settings& how = sim::settings().calm()) : world(1, how) {
    world.run_for(1s);
  }
  ~calm_site() {
    site.app.board.stop();
    world.run_for(10s);
    web.close_idle();
    world.run_for(20s);
    CHECK(site.app.has_ended);
    CHECK(site.app.board.viewers() == 0);
    CHECK(site.front.stats().outstanding == 0);
  }
  got& start(http::method how, std::string_view path) {
    got& to = asked.emplace_back();
    co_spawn(site.far, ask(http::call(web, how, origin + std::string(path)), to), beck::detached);
    return to;
  }
  const got& get(std::string_view path) {
    got& to = start(http::method::get, path);
    world.run_for(100ms);
    return to;
  }
  const got& post(std::string_view path) {
    got& to = start(http::method::post, path);
    world.run_for(100ms);
    return to;
  }
  void publish(redis::client& by, std::string_view text) {
    by.exec<long>("PUBLISH", "leaderboard.changes",
                  text)([](beck::error_code, const redis::reply<long>&) {});
    world.run_for(1s);
  }
  listener& listen(bool reads = true) {
    listener& made = listeners.emplace_back(site.far);
    co_spawn(site.far, made.connect(), beck::detached);
    world.run_for(100ms);
    if (reads) co_spawn(site.far, made.read(), beck::detached);
    return made;
  }

  sim::world world;
  world_site site{world};
  http::client web{site.far};
  std::deque<got> asked;
  std::deque<listener> listeners;
};

}  // namespace

TEST_CASE("leaderboard: points are added, and table, rank and score follow") {
  calm_site s;
  CHECK(s.get("/top").body == "[]");
  CHECK(s.post("/scores/ann?points=5").body == R"({"name":"ann","score":5})");
  CHECK(s.post("/scores/bob?points=7").body == R"({"name":"bob","score":7})");
  CHECK(s.get("/top").body == R"([{"name":"bob","score":7},{"name":"ann","score":5}])");
  CHECK(s.get("/top?n=1").body == R"([{"name":"bob","score":7}])");
  CHECK(s.get("/players/ann").body == R"({"name":"ann","score":5,"rank":2})");
  CHECK(s.post("/scores/ann?points=1000000").body == R"({"name":"ann","score":1000005})");
  CHECK(s.get("/players/ann").body == R"({"name":"ann","score":1000005,"rank":1})");
  CHECK(s.get("/top").body == R"([{"name":"ann","score":1000005},{"name":"bob","score":7}])");
  const std::uint64_t before = s.site.server.commands();
  CHECK(s.get("/top").content_type == "application/json");
  CHECK(s.site.server.commands() == before);  // from the cache
}

TEST_CASE("leaderboard: a bad name or number is refused with its value and the limit") {
  calm_site s;
  const auto refuses = [&](const got& one, std::string_view part) {
    CAPTURE(one.body);
    return one.status == 400 && one.body.find(part) != std::string::npos;
  };
  const std::string longest(32, 'x');
  CHECK(s.post("/scores/" + longest + "?points=1").status == 200);
  CHECK(refuses(s.post("/scores/" + longest + "x?points=1"), "33 bytes; it needs 1 to 32 letters"));
  CHECK(refuses(s.post("/scores/a%20%22b?points=1"), R"(the name "a \"b")"));
  CHECK(refuses(s.get("/players/a.b"), R"(the name "a.b" has 3 bytes)"));
  CHECK(refuses(s.post("/scores/a?points=0"), R"(points is "0"; it needs 1 to 1000000)"));
  CHECK(refuses(s.post("/scores/a?points=1000001"), R"(points is "1000001")"));
  CHECK(refuses(s.post("/scores/a?points=-5"), R"(points is "-5")"));
  CHECK(refuses(s.post("/scores/a?points=1.5"), R"(points is "1.5")"));
  CHECK(refuses(s.post("/scores/a?points=99999999999999999999"), "it needs 1 to 1000000"));
  CHECK(refuses(s.post("/scores/a"), R"(points is "")"));
  CHECK(refuses(s.get("/top?n=0"), R"(n is "0"; it needs 1 to 100)"));
  CHECK(refuses(s.get("/top?n=101"), R"(n is "101")"));
  CHECK(refuses(s.get("/top?m=5"), R"(n is "")"));
  CHECK(s.get("/players/a").status == 404);
  CHECK(s.get("/players/a").body == "there is no player \"a\"\n");
  CHECK(s.get("/scores/a?points=1").status == 405);
  CHECK(s.site.all.score("a") == 0);
}

TEST_CASE("leaderboard: without Redis each call is 503, with Retry-After and the reason") {
  calm_site s;
  s.site.server.close();
  const got& added = s.start(http::method::post, "/scores/ann?points=5");
  const got& top = s.start(http::method::get, "/top");
  const got& player = s.start(http::method::get, "/players/ann");
  s.world.run_for(4s);
  for (const got* one : {&added, &top, &player}) {
    CHECK(one->status == 503);
    CHECK(one->retry_after == "1");
    CHECK(one->body.find("Connection refused") != std::string::npos);
  }
  CHECK(added.body.starts_with("no points were added: "));
}

TEST_CASE("leaderboard: a refusal of Redis is 503, and its words are in the reply") {
  calm_site s;
  s.site.server.fail_next("zincrby", "OOM command not allowed when used memory > 'maxmemory'.");
  const got& refused = s.post("/scores/ann?points=5");
  CHECK(refused.status == 503);
  CHECK(refused.body ==
        "no points were added: OOM command not allowed when used memory > "
        "'maxmemory'.\n");
  CHECK(s.post("/scores/ann?points=6").body == R"({"name":"ann","score":6})");
}

TEST_CASE("leaderboard: points that may have been added are 504, not an invitation to retry") {
  calm_site s;
  CHECK(s.post("/scores/ann?points=5").status == 200);
  s.site.server.pause();
  const got& silent = s.start(http::method::post, "/scores/ann?points=7");
  s.world.run_for(12s);
  CHECK(silent.status == 504);
  CHECK(silent.retry_after.empty());
  CHECK(silent.body.starts_with("the points may have been added, or not: "));
  s.site.server.resume();
  s.world.run_for(10s);
  CHECK(s.site.all.score("ann") == 12);  // they were
}

TEST_CASE("leaderboard: a viewer gets the table, each change, and the table that follows") {
  calm_site s;
  CHECK(s.post("/scores/ann?points=5").status == 200);
  const listener& one = s.listen();
  CHECK(s.post("/scores/bob?points=7").status == 200);
  const std::vector<event> all = one.events();
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind == "top");
  CHECK(all[0].data == R"([{"name":"ann","score":5}])");
  CHECK(all[1].kind == "change");
  CHECK(all[1].data == R"({"name":"bob","points":7})");
  CHECK(all[2].data == R"([{"name":"bob","score":7},{"name":"ann","score":5}])");
}

TEST_CASE("leaderboard: names and messages of other programs stay in one line of an event") {
  calm_site s;
  const listener& one = s.listen();
  redis::client other(s.site.far, "redis://10.0.0.1");
  other.exec<long>("ZADD", "leaderboard", 3,
                   "<b>\"\\\n\n")([](beck::error_code, const redis::reply<long>&) {});
  other.exec<long>("PUBLISH", "leaderboard.changes",
                   "a\n\nevent: top\r\n")([](beck::error_code, const redis::reply<long>&) {});
  s.world.run_for(1s);
  const std::vector<event> all = one.events();
  REQUIRE(all.size() == 3);
  CHECK(all[1].data == "a  event: top  ");
  CHECK(all[2].data == R"([{"name":"<b>\"\\\u000a\u000a","score":3}])");
}

TEST_CASE("leaderboard: a slow viewer loses old news, and begins again with the table of now") {
  for (std::size_t changes = 80; changes < 90; ++changes) {  // its queue is full in any state
    CAPTURE(changes);
    calm_site s(sim::settings().calm().buffer_sizes(1000, 1000));
    listener& slow = s.listen(false);
    const listener& fast = s.listen();
    redis::client other(s.site.far, "redis://10.0.0.1");
    if (changes % 2 != 0) s.publish(other, "news without a change");
    for (std::size_t i = 1; i <= changes; ++i)
      CHECK(s.post("/scores/ann?points=" + std::to_string(i)).status == 200);
    CHECK(fast.events().size() == 2 * changes + 1 + changes % 2);
    co_spawn(s.site.far, slow.read(), beck::detached);
    s.world.run_for(1s);
    const std::vector<event> got = slow.events();
    CHECK(got.size() < 60);  // those that wait, and those in the buffers of the sockets
    CHECK(got.back().kind == "top");
    CHECK(got.back().data == s.site.all.table());
    CHECK(s.post("/scores/ann?points=1").status == 200);
    CHECK(slow.events().back().data == s.site.all.table());  // and it goes on
  }
}

TEST_CASE("leaderboard: silent viewers get a heartbeat, and one that is gone is forgotten") {
  calm_site s;
  const listener& one = s.listen();
  s.world.run_for(31s);
  std::vector<event> all = one.events();
  REQUIRE(all.size() == 3);
  CHECK(all[1].kind.empty());
  CHECK(all[2].kind.empty());
  listener& gone = s.listen();
  const got& head = s.start(http::method::head, "/events");  // no stream, and no viewer
  s.world.run_for(1s);
  CHECK(head.status == 200);
  CHECK(head.content_type == "text/event-stream");
  CHECK(s.site.app.board.viewers() == 2);
  gone.socket.close();
  s.world.run_for(31s);
  CHECK(s.site.app.board.viewers() == 1);
}

TEST_CASE("leaderboard: the end closes the streams, and takes no viewer any more") {
  calm_site s;
  const listener& one = s.listen();
  CHECK(s.get("/top").status == 200);  // over a connection that is kept
  s.site.app.board.stop();
  const got& late = s.start(http::method::get, "/events");
  s.world.run_for(500ms);
  CHECK(one.has_ended);
  CHECK(late.status == 503);
  s.world.run_for(2s);
  CHECK(s.site.app.has_ended);
}

TEST_CASE("leaderboard: there is a bound to the number of viewers") {
  calm_site s;
  constexpr std::size_t most = example::leaderboard::viewers_max;
  constexpr std::size_t each = 250;  // below the server's bound for an address
  std::deque<beck::io_context> hosts;
  std::deque<listener> crowd;
  for (std::size_t i = 0; i < most; ++i) {
    if (i % each == 0) hosts.emplace_back(s.world.host("crowd" + std::to_string(i)));
    co_spawn(hosts.back(), crowd.emplace_back(hosts.back()).connect(), beck::detached);
  }
  s.world.run_for(5s);
  CHECK(s.site.app.board.viewers() == most);
  CHECK(s.get("/events").status == 503);
  crowd.clear();
  s.world.run_for(31s);
  CHECK(s.site.app.board.viewers() == 0);
}

TEST_CASE("leaderboard: the page, and the counters") {
  calm_site s;
  CHECK(s.get("/").body.find("new EventSource('/events')") != std::string::npos);
  CHECK(s.get("/").content_type == "text/html; charset=utf-8");
  s.listen();
  const std::string counters = s.get("/metrics").body;
  CHECK(counters.find("\nleaderboard_viewers 1\n") != std::string::npos);
  CHECK(counters.find("\nbeck_http_exchanges_total ") != std::string::npos);
}
