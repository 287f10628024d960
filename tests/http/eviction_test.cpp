// SPDX-License-Identifier: BSL-1.0
// The limit of connections in simulated worlds: which connection makes room, when accepting pauses,
// and that the phases of idle time add up to limits::idle_timeout.
#include <beck/http/server.hpp>

#include <string>

#include "http/server_site.hpp"

using namespace beck::http::test;
namespace http = beck::http;

TEST_CASE("http limits: at the limit of connections the one that is idle longest makes room") {
  site s(say_path, {.connections = 2});
  peer& first = s.start(get("/1"), 1s);
  peer& second = s.start(get("/2"), 1s);
  peer& third = s.start(get("/3"), 1s);
  s.listen_to(third, 1s);
  CHECK(third.responses().size() == 1);
  s.listen_to(first, 1s);
  CHECK(first.done);
  s.listen_to(second, 1s);
  CHECK(!second.done);
  CHECK(s.server.stats().connections == 2);
}

TEST_CASE("http limits: a connection that has sent no whole head makes room before all others") {
  const std::string half = "GET / HTTP/1.1\r\n";
  for (const bool drips : {false, true}) {
    CAPTURE(drips);
    site s(say_path, {.connections = 3});
    peer& first = s.start(get("/1"), 5s);
    peer& hostile = drips ? s.start(half) : s.start();
    peer& later = s.start(1s);
    peer& third = s.start(get("/3"));
    CHECK(s.server.stats().evicted == 1);
    s.listen_to(hostile, 1ms);
    CHECK(hostile.end == beck::error::eof);
    CHECK(hostile.received.empty());
    s.start(get("/4"));
    CHECK(s.server.stats().evicted == 2);
    s.listen_to(later, 1ms);
    CHECK(later.done);
    for (peer* good : {&first, &third}) {
      s.step(*good, get("/again"));
      s.listen_to(*good, 1ms);
      CHECK(good->responses().size() == 2);
      CHECK(!good->done);
    }
    CHECK(s.server.stats().connections == 3);
  }
}

TEST_CASE("http limits: a flood of connections does not cut clients between two requests") {
  site s(say_path, {.connections = 10});
  peer& first = s.start(get("/"));
  peer& second = s.start(get("/"));
  for (int i = 0; i < 200; ++i) {
    s.start(10ms);
    if (i % 50 == 0) s.step(i % 100 == 0 ? first : second, get("/"));
  }
  CHECK(s.server.stats().accepted == 202);
  CHECK(s.server.stats().evicted == 192);
  CHECK(s.server.stats().exchanges == 6);
  for (peer* good : {&first, &second}) {
    s.listen_to(*good, 1ms);
    CHECK(good->responses().size() == 3);
    CHECK(!good->done);
  }
}

TEST_CASE("http limits: after an exchange a connection is kept for a second, so accepting pauses") {
  site s(say_path, {.connections = 2});
  peer& first = s.start(get("/1"), 100ms);
  peer& second = s.start(get("/2"), 100ms);
  peer& third = s.start(get("/3"), 700ms);
  CHECK(s.server.stats().accepted == 2);
  CHECK(s.server.stats().evicted == 0);
  s.world.run_for(100ms);  // the first has been idle for a second
  CHECK(s.server.stats().evicted == 1);
  s.listen_to(first, 1ms);
  CHECK(first.done);
  s.listen_to(third, 1ms);
  CHECK(third.responses().size() == 1);
  s.listen_to(second, 1ms);
  CHECK(!second.done);
}

TEST_CASE("http limits: an exchange begins the second anew, and an end makes room at once") {
  site s(say_path, {.connections = 1});
  peer& busy = s.start(get("/1"));
  peer& waits = s.start(get("/2"));
  for (int i = 0; i < 10; ++i) s.both(busy, get("/1"), 900ms);
  CHECK(s.server.stats().exchanges == 11);
  CHECK(s.server.stats().accepted == 1);
  busy.socket.close();
  s.listen_to(waits, 10ms);
  CHECK(waits.responses().size() == 1);
  CHECK(s.server.stats().evicted == 0);
}

TEST_CASE("http limits: a connection in an exchange is never evicted") {
  site s(count_body, {.connections = 1});
  peer& uploads = s.start(std::string("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n"));
  peer& waits = s.start(std::string("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), 3s);
  CHECK(s.server.stats().accepted == 1);
  s.step(uploads, "sixsix");
  s.listen_to(uploads, 500ms);
  CHECK(uploads.responses().at(0).body == "6");
  CHECK(!uploads.done);
  s.listen_to(waits, 600ms);
  CHECK(waits.responses().at(0).body == "0");
}

TEST_CASE("http limits: the idle time is exact, before the first request and behind one") {
  for (const auto idle : {300ms, 1000ms, 1001ms, 20'000ms}) {
    CAPTURE(idle.count());
    for (const bool asks : {false, true}) {
      CAPTURE(asks);
      site s(say_path, {.idle_timeout = beck::duration(idle)});
      if (asks) {
        s.start(get("/"));
      } else {
        s.start();
      }
      s.world.run_for(idle - 2ms);
      CHECK(s.server.stats().connections == 1);
      s.world.run_for(2ms);
      CHECK(s.server.stats().connections == 0);
    }
  }
}

TEST_CASE("http limits: a stop gives a second to connections in every state of idleness") {
  for (const int state : {0, 1, 2}) {  // no request yet, kept, idle
    for (const bool asks : {false, true}) {
      CAPTURE(state);
      CAPTURE(asks);
      site s(say_path);
      peer& one = state == 0 ? s.start(5s) : s.start(get("/a"), state == 1 ? 500ms : 5000ms);
      s.server.stop();
      s.world.run_for(900ms);
      CHECK(s.server.stats().connections == 1);
      if (asks) s.step(one, get("/b"));
      s.world.run_for(110ms);
      if (!asks) CHECK(s.server.stats().connections == 0);
      s.listen_to(one, 1s);
      CHECK(one.done);
      CHECK(one.responses().size() == static_cast<std::size_t>((state != 0) + asks));
    }
  }
}
