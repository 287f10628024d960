// SPDX-License-Identifier: BSL-1.0
// Clients that leave while their request is handled: handlers are told and stopped, connections
// make room, and an upload that ends early is no failure of its handler.
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>

#include <beck/coro/event.hpp>
#include <beck/io/steady_timer.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <deque>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "http/both_streams.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

void leave(peer& one, bool resets) {
  error_code ec;
  if (resets) {
    one.socket.set_option(beck::socket_base::linger(true, 0), ec);
    one.socket.close();
  } else {
    one.socket.shutdown(ip::tcp::socket::shutdown_send, ec);
  }
}

/// Long polls: a site whose handlers wait for news, in three ways.
struct polls {
  http::router site() {
    http::router made;
    made.get("/stopped",
             [this](http::request&, http::response& r) -> task<> {
               ++waiting;
               ++started;
               auto came = co_await news.wait();
               --waiting;
               ++(came.error() ? stopped : told);
               if (!came.error()) r.send("news");
             },
             {.waits_for_events = true});
    made.get("/asks", [this](http::request& q, http::response& r) -> task<> {
      ++waiting;
      ++started;
      CHECK(!q.client_left());
      auto gone = co_await q.async_wait_gone();
      --waiting;
      CHECK(!gone.error());
      CHECK(q.client_left());
      ++told;
      if (answers) r.send("too late");
    });
    made.get("/waits", [this](http::request&, http::response& r) -> task<> {
      ++waiting;
      ++started;
      auto came = co_await news.wait();
      --waiting;
      ++(came.error() ? stopped : told);
      r.send("news");
    });
    made.get("/kept", [this](http::exchange x) {
      ++waiting;
      ++started;
      kept.push_back(std::move(x));
    });
    made.get("/", say_path);
    return made;
  }

  beck::manual_reset_event news;
  std::vector<http::exchange> kept;
  int waiting = 0, started = 0, stopped = 0, told = 0;
  bool answers = false;
};

}  // namespace

CONFORMANCE_OVER_BOTH("http: a handler that waits for events is stopped when its client leaves") {
  for (const bool resets : {false, true}) {
    CAPTURE(resets);
    polls all;
    served s(all.site());
    std::optional<http::exchange_record> seen;
    s.server.on_finish([&](const http::exchange_record& r) { seen = r; });
    peer& one = s.start(get("/stopped"));
    s.run_until([&] { return all.waiting == 1; });
    leave(one, resets);
    s.run_until([&] { return s.server.stats().connections == 0; });
    CHECK(all.stopped == 1);
    CHECK(s.server.stats().failed == 0);
    REQUIRE(seen.has_value());
    CHECK(seen->status == 0);
  }
}

CONFORMANCE_OVER_BOTH("http: a client that has left before its handler waits is noticed, too") {
  polls all;
  served s(all.site());
  const peer& one = s.start_deaf(get("/asks") + get("/stopped"));
  s.run_until([&] { return all.waiting == 1; });
  error_code ec;
  s.peers.back().socket.shutdown(ip::tcp::socket::shutdown_send, ec);
  all.answers = true;
  s.run_until([&] { return s.server.stats().connections == 0; });
  CHECK(all.told == 1);     // its response is sent: the connection is not lost
  CHECK(all.stopped == 1);  // the pipelined request behind it
  CHECK(s.server.stats().exchanges == 2);
  CHECK(one.sent);
}

CONFORMANCE_OVER_BOTH("http: a handler learns that its client has left, and may end in silence") {
  for (const bool answers : {false, true}) {
    for (const bool resets : {false, true}) {
      CAPTURE(answers);
      CAPTURE(resets);
      polls all;
      all.answers = answers;
      served s(all.site());
      peer& one = s.start(get("/asks"));
      s.run_until([&] { return all.waiting == 1; });
      leave(one, resets);
      s.run_until([&] { return one.done && s.server.stats().connections == 0; });
      CHECK(all.told == 1);
      CHECK(s.server.stats().failed == 0);
      if (!resets) CHECK(has(one.received, "too late") == answers);
    }
  }
}

CONFORMANCE_OVER_BOTH("http: a wait for the end of a client ends with its handler") {
  int ended = 0;
  error_code of_wait;
  served s([&](http::request& q, http::response& r) {
    q.async_wait_gone([&](error_code ec) {
      of_wait = ec;
      ++ended;
    });
    r.send(q.path());
  });
  const auto all = s.ask(get("/a") + last_get("/b"));
  CHECK(all.size() == 2);
  s.run_until([&] { return ended == 2; });
  CHECK(of_wait == beck::error::operation_aborted);
}

CONFORMANCE_OVER_BOTH("http: of two waits for the end of a client the second one is refused") {
  std::optional<error_code> first, second;
  std::optional<http::exchange> kept;
  served s([&](http::exchange x) {
    kept.emplace(std::move(x));
    kept->request().async_wait_gone([&](error_code ec) { first = ec; });
    kept->request().async_wait_gone([&](error_code ec) { second = ec; });
  });
  peer& one = s.start(get("/"));
  s.run_until([&] { return second.has_value(); });
  CHECK(*second == beck::error::already_started);
  CHECK(!first);
  leave(one, true);
  s.run_until([&] { return first.has_value(); });
  CHECK(!*first);
  kept.reset();
}

CONFORMANCE_OVER_BOTH("http: a kept exchange learns that its client has left") {
  int ended = 0;
  std::optional<http::exchange> kept;
  served s([&](http::exchange x) {
    kept.emplace(std::move(x));
    kept->request().async_wait_gone([&](error_code ec) {
      CHECK(!ec);
      ++ended;
      kept.reset();
    });
  });
  for (const bool resets : {false, true}) {
    peer& one = s.start(get("/"));
    s.run_until([&] { return kept.has_value(); });
    leave(one, resets);
    s.run_until([&] { return s.server.stats().connections == 0; });
  }
  CHECK(ended == 2);
  CHECK(s.server.stats().failed == 0);
}

CONFORMANCE_OVER_BOTH("http: at the limit of connections those whose client has left make room") {
  for (const char* path : {"/waits", "/kept"}) {
    for (const bool resets : {false, true}) {
      CAPTURE(path);
      CAPTURE(resets);
      polls all;
      served s(all.site(), {.connections = 5});
      peer& stays = s.start(get("/waits"));
      s.run_until([&] { return all.waiting == 1; });
      for (int i = 0; i < 12; ++i) {
        peer& one = s.start(get(path));
        s.run_until([&] { return all.started == i + 2; });
        leave(one, resets);
      }
      CHECK(s.ask(last_get("/")).size() == 1);
      all.news.set();
      s.wait_for(stays, 1);
      CHECK(stays.responses().at(0).body == "news");
      s.stop(beck::duration(1'000'000));
      all.kept.clear();
    }
  }
}

CONFORMANCE_OVER_BOTH("http: a stop of the server stops handlers that wait for events") {
  polls all;
  served s(all.site());
  peer& one = s.start(get("/stopped"));
  peer& other = s.start(get("/waits"));
  s.run_until([&] { return all.waiting == 2; });
  s.server.stop();
  s.run_until([&] { return one.done; });
  CHECK(one.responses().at(0).status == 503);
  CHECK(has(one.responses()[0].fields, "Connection: close"));
  CHECK(all.stopped == 1);
  CHECK(!other.done);
  CHECK(s.server.stats().failed == 0);
  all.news.set();
  s.run_until([&] { return s.ended; });
  CHECK(other.responses().at(0).body == "news");
}

CONFORMANCE_OVER_BOTH(
    "http: an upload that its client cuts is 400, and no failure of the handler") {
  const std::string upload = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc";
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
  for (const bool throws : {false, true}) {
    for (const bool resets : {false, true}) {
      for (const std::string& text : {upload, chunked}) {
        CAPTURE(throws);
        CAPTURE(resets);
        std::size_t read = 0;
        served s([&](http::request& q, http::response&) -> task<> {
          char part[20];
          for (;;) {
            auto got = co_await q.body().async_read_some(beck::buffer(part));
            read += got.value_;
            if (got.error() && throws) throw std::runtime_error("cut");
            if (got.error()) co_return;
          }
        });
        std::optional<http::exchange_record> seen;
        s.server.on_finish([&](const http::exchange_record& r) { seen = r; });
        peer& one = s.start(text);
        s.run_until([&] { return read == 3; });
        leave(one, resets);
        s.run_until([&] { return one.done && s.server.stats().connections == 0; });
        CHECK(s.server.stats().failed == 0);
        REQUIRE(seen.has_value());
        CHECK(seen->status == 400);
        if (!resets) CHECK(one.responses().at(0).status == 400);
      }
    }
  }
}

CONFORMANCE("http: the descriptors of the process bound the connections, too") {
  served s(say_path);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(1);
  REQUIRE(next >= 0);
  ::close(next);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 8;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  http::server two(say_path);
  two.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  bool ended = false;
  two.serve().start(s.ctx, [&](std::exception_ptr) { ended = true; });
  while (two.endpoint().port() == 0) s.ctx.poll();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  const auto most = static_cast<std::size_t>(few.rlim_cur / 4 * 3);
  std::deque<ip::tcp::socket> silent;
  for (std::size_t i = 0; i < most + 3; ++i) {
    silent.emplace_back(s.ctx).async_connect(two.endpoint(), [](error_code) {});
    s.run_until([&] { return two.stats().accepted == i + 1; });
  }
  CHECK(two.stats().connections == most);
  CHECK(two.stats().evicted == 3);
  silent.clear();
  two.stop();
  s.run_until([&] { return ended; });
}
