// SPDX-License-Identifier: BSL-1.0
// Responses that come before the whole request has: a client that keeps connections has to learn
// from the head whether it may send the next request.
#include <beck/http/client.hpp>
#include <beck/http/server.hpp>

#include <beck/coro/event.hpp>
#include <beck/io/generic_stream.hpp>

#include <stdexcept>
#include <string>

#include "http/both_streams.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

constexpr const char* says_close = "Connection: close\r\n";

std::string head_of_post(std::string_view framing) {
  return "POST /early HTTP/1.1\r\nHost: a\r\n" + std::string(framing) + "\r\n";
}

/// A handler of each kind that responds without reading, and one for the responses of the library.
template <class Check>
void with_each_handler(Check check) {
  {
    INFO("a plain handler");
    served s(say_path);
    check(s);
  }
  {
    INFO("an observed plain handler");
    served s(say_path);
    s.server.on_finish([](const http::exchange_record&) {});
    check(s);
  }
  {
    INFO("a coroutine");
    served s([](http::request& q, http::response& r) -> task<> {
      r.send(q.path());
      co_return;
    });
    check(s);
  }
  {
    INFO("a coroutine that streams");
    served s([](http::request&, http::response& r) -> task<> {
      beck::ignore(co_await beck::async_write(r, beck::buffer("ab", 2)));
      beck::ignore(co_await r.async_flush());
      beck::ignore(co_await beck::async_write(r, beck::buffer("cd", 2)));
    });
    check(s);
  }
  {
    INFO("an exchange");
    served s([](http::exchange x) { x.response().send("exchange"); });
    check(s);
  }
  {
    INFO("a handler that throws");
    served s([](http::request&, http::response&) { throw std::runtime_error("no"); });
    check(s);
  }
  {
    INFO("a handler that sets a status only");
    served s([](http::request&, http::response& r) { r.status(401); });
    check(s);
  }
}

}  // namespace

CONFORMANCE_OVER_BOTH(
    "http: a response that ends its connection says so, whatever the handler is") {
  with_each_handler([](served& s) {
    for (const std::string& request :
         {head_of_post("Content-Length: 70000\r\n"),
          head_of_post("Content-Length: 70000\r\n") + std::string(70'000, 'b'),
          head_of_post("Content-Length: 5\r\nExpect: 100-continue\r\n"),
          head_of_post("Transfer-Encoding: chunked\r\n"),
          head_of_post("Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n",
          head_of_post("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n") + "3\r\nabc\r\n",
          get("/", says_close), std::string("GET / HTTP/1.0\r\n\r\n")}) {
      CAPTURE(request.substr(0, 120));
      peer& one = s.start(request);
      s.wait_for(one, 1);
      const bool says_so = has(one.received, says_close);
      CHECK(says_so);
      if (!says_so) continue;  // the server waits for the rest
      s.run_until([&] { return one.done; });
      CHECK(one.responses().size() == 1);
    }
  });
}

CONFORMANCE_OVER_BOTH(
    "http: a response without `close` to a request that goes on leads to the next") {
  with_each_handler([](served& s) {
    for (const std::string& begin :
         {head_of_post("Content-Length: 60000\r\n"),
          head_of_post("Content-Length: 65000\r\n") + std::string(5'000, 'b')}) {
      peer& one = s.start(begin);
      s.wait_for(one, 1);
      CHECK(!has(one.responses()[0].fields, "Connection"));
      s.send(one, std::string(60'000, 'b') + last_get("/next"));
      s.run_until([&] { return one.done; });
      CHECK(one.responses().size() == 2);
    }
    for (const std::string& whole :
         {head_of_post("Content-Length: 5\r\nExpect: 100-continue\r\n") + "abcde",
          head_of_post("Transfer-Encoding: chunked\r\n") + "3\r\nabc\r\n0\r\n\r\n",
          head_of_post("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n") +
              "0\r\nA: b\r\n\r\n"}) {
      CAPTURE(whole);
      const auto all = s.ask(whole + get("/") + last_get("/"));
      REQUIRE(all.size() == 3);
      CHECK(!has(all[0].fields, "Connection"));
    }
  });
}

CONFORMANCE_OVER_BOTH("http: limits::unread_body_bytes counts what is unread, in all pieces") {
  served s(say_path, {.unread_body_bytes = 10});
  for (const bool fits : {true, false}) {
    const std::string ten = "3\r\nabc\r\n7\r\n1234567\r\n";
    const std::string one_more = fits ? "" : "1\r\nx\r\n";
    const auto chunked = s.ask(head_of_post("Transfer-Encoding: chunked\r\n") + ten + one_more +
                               "0\r\n\r\n" + last_get("/"));
    CHECK(has(chunked.at(0).fields, says_close) == !fits);
    CHECK(chunked.size() == (fits ? 2 : 1));
    const std::string body(fits ? 10 : 11, 'b');
    const auto announced =
        s.ask(head_of_post("Content-Length: " + std::to_string(body.size()) + "\r\n") + body +
              last_get("/"));
    CHECK(has(announced.at(0).fields, says_close) == !fits);
    CHECK(announced.size() == (fits ? 2 : 1));
  }
}

CONFORMANCE_OVER_BOTH("http: what a handler has read of a body counts as read, also in part") {
  served s(
      [](http::request& q, http::response& r) -> task<> {
        char part[20];
        auto got = co_await q.body().async_read_some(beck::buffer(part));
        r.send(std::to_string(got.value()));
      },
      {.unread_body_bytes = 10});
  for (const char* more : {"", "Expect: 100-continue\r\n"}) {
    peer& one =
        s.start(head_of_post("Content-Length: 30\r\n" + std::string(more)) + std::string(20, 'b'));
    s.run_until([&] { return has(one.received, "20"); });
    CHECK(!has(one.received, says_close));
    s.send(one, std::string(10, 'b') + last_get("/"));
    s.run_until([&] { return one.done; });
    CHECK(has(one.responses().back().fields, says_close));
    peer& over = s.start(head_of_post("Content-Length: 31\r\n") + std::string(20, 'b'));
    s.wait_for(over, 1);
    CHECK(has(over.received, says_close));
  }
  CHECK(s.server.stats().exchanges == 6);
}

CONFORMANCE_OVER_BOTH(
    "http: a chunk that a handler has read in part counts with what it has left") {
  for (const std::size_t most : {9U, 10U}) {
    served s(
        [](http::request& q, http::response& r) -> task<> {
          char part[20];
          auto got = co_await q.body().async_read_some(beck::buffer(part));
          r.send(std::to_string(got.value()));
        },
        {.unread_body_bytes = most});
    const auto all = s.ask(head_of_post("Transfer-Encoding: chunked\r\n") + "19\r\n" +
                           std::string(25, 'b') + "\r\n5\r\n12345\r\n0\r\n\r\n" + last_get("/"));
    CHECK(all.at(0).body == "20");
    CHECK(has(all[0].fields, says_close) == (most != 10));
    CHECK(s.server.stats().exchanges == (most == 10 ? 2 : 1));
  }
}

CONFORMANCE_OVER_BOTH(
    "http: a stop behind the head of a response ends the connection with the next one") {
  beck::manual_reset_event go;
  served s([&](http::request& q, http::response& r) -> task<> {
    if (q.path() == "/next") {
      r.send("next");
      co_return;
    }
    beck::ignore(co_await beck::async_write(r, beck::buffer("ab", 2)));
    beck::ignore(co_await r.async_flush());
    beck::ignore(co_await go.wait());
    beck::ignore(co_await beck::async_write(r, beck::buffer("cd", 2)));
  });
  peer& one = s.start(get("/"));
  s.run_until([&] { return has(one.received, "ab"); });
  s.server.stop();
  go.set();
  s.wait_for(one, 1);
  s.send(one, get("/next"));
  s.run_until([&] { return one.done; });
  const auto all = one.responses();
  REQUIRE(all.size() == 2);
  CHECK(!has(all[0].fields, "Connection"));
  CHECK(all[0].body == "abcd");
  CHECK(has(all[1].fields, says_close));
  CHECK(all[1].body == "next");
  s.run_until([&] { return s.ended; });
}

CONFORMANCE("http: the library's client loses no request behind an early response") {
  with_each_handler([](served& s) {
    int done = 0;
    const auto run = [&](std::size_t bytes, bool streams) -> task<> {
      http::client web(s.ctx);
      const std::string url =
          "http://127.0.0.1:" + std::to_string(s.server.endpoint().port()) + '/';
      const std::string body(bytes, 'b');
      for (int i = 0; i < 10; ++i) {
        for (const std::string& sent : {body, std::string("next")}) {
          http::call post(web, http::method::post, url);
          if (streams && sent.size() > 4) {
            auto wrote = co_await beck::async_write(post, beck::buffer(sent));
            if (wrote.error()) CHECK(wrote.error() == beck::errc::broken_pipe);
            auto got = co_await post.async_finish();
            CHECK(!got.error());
          } else {
            auto got = co_await post.async_finish(beck::buffer(sent));
            CHECK(!got.error());
            if (got.error()) continue;
            auto read = co_await got->body().async_read_all(1000);
            CHECK(!read.error());
          }
        }
      }
      ++done;
    };
    for (const bool streams : {false, true}) {
      for (const std::size_t bytes : {5'000U, 70'000U, 1'000'000U}) {
        done = 0;
        co_spawn(s.ctx, run(bytes, streams), beck::detached);
        s.run_until([&] { return done == 1; });
      }
    }
  });
}
