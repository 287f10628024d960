// SPDX-License-Identifier: BSL-1.0
// Operations of a client's call at the same time, which its rules forbid: the later one ends with
// an error, and nothing else is harmed.
#include <beck/http/client.hpp>

#include <string>

#include "http/client_site.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace error = beck::error;
namespace http = beck::http;

namespace {

/// The end of an operation.
struct ending {
  auto note() {
    return [this](error_code code, std::size_t n) {
      ++count;
      ec = code;
      bytes = n;
    };
  }
  error_code ec;
  std::size_t bytes = 0;
  int count = 0;
};

/// Gets the head of a response.
http::client_response head_of(client_site& s, std::string_view path = "/") {
  http::client_response got;
  bool done = false;
  s.web->async_get(s.url(path), [&](error_code ec, http::client_response r) {
    CHECK(!ec);
    got = std::move(r);
    done = true;
  });
  s.run_until([&] { return done; });
  return got;
}

}  // namespace

CONFORMANCE("http client: of two reads at once the second one ends, and takes no byte") {
  for (const bool chunked : {false, true}) {
    CAPTURE(chunked);
    client_site s;
    const std::string head("HTTP/1.1 200 OK\r\n");
    s.server.will(chunked ? head + "Transfer-Encoding: chunked\r\n\r\n"
                          : head + "Content-Length: 10\r\n\r\n");
    http::client_response r = head_of(s);
    char first[64] = {};
    char second[64] = {};
    ending a, b;
    r.body().async_read_some(beck::buffer(first), a.note());
    r.body().async_read_some(beck::buffer(second), b.note());
    s.settle();
    s.server.push(0, chunked ? "a\r\n0123456789\r\n0\r\n\r\n" : "0123456789");
    s.run_until([&] { return a.count == 1 && b.count == 1; });
    CHECK(!a.ec);
    CHECK(std::string_view(first, a.bytes) == std::string_view("0123456789").substr(0, a.bytes));
    CHECK(b.ec == error::already_started);
    CHECK(b.bytes == 0);
    std::string rest;
    r.body().async_read_all(100, [&](error_code ec, std::string text) {
      CHECK(!ec);
      rest = std::move(text) + ".";
    });
    s.run_until([&] { return !rest.empty(); });
    CHECK(std::string(first, a.bytes) + rest == "0123456789.");
    s.server.will(ok("next"));
    CHECK(s.get().body == "next");
    CHECK(s.server.connections() == 1);  // it was given back whole, and once
  }
}

CONFORMANCE("http client: a read beside one of all the body ends, and takes no byte") {
  client_site s;
  s.server.will("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234");
  http::client_response r = head_of(s);
  std::string all;
  ending more;
  char room[64] = {};
  r.body().async_read_all(100, [&](error_code ec, std::string text) {
    CHECK(!ec);
    all = std::move(text);
  });
  s.settle();
  r.body().async_read_some(beck::buffer(room), more.note());
  s.settle();
  s.server.push(0, "56789");
  s.run_until([&] { return !all.empty() && more.count == 1; });
  CHECK(all == "0123456789");
  CHECK(more.ec == error::already_started);
}

CONFORMANCE("http client: of two writes at once the second one ends, and takes no byte") {
  client_site s;
  s.server.will(ok("x"));
  http::call c(*s.web, http::method::post, s.url());
  ending a, b;
  c.async_write_some(beck::buffer("first", 5), a.note());
  c.async_write_some(beck::buffer("second", 6), b.note());
  s.run_until([&] { return a.count == 1 && b.count == 1; });
  CHECK(!a.ec);
  CHECK(b.ec == error::already_started);
  const outcome& got = s.finish(c.async_finish());
  CHECK(got.body == "x");
  CHECK(s.server.requests.at(0).body == "first");
}

CONFORMANCE(
    "http client: a call that is finished while a write of it waits ends, as the write does") {
  for (const char* text : {"HTTP/1.1 303 See Other\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"}) {
    CAPTURE(text);
    client_site s({.redirects = 3});
    s.server.answers_early = true;
    http::call c(*s.web, http::method::post, s.url());
    const std::string large(50'000, 'x');
    ending last;
    c.async_write_some(beck::buffer(large), last.note());
    s.run_until([&] { return last.count == 1; });
    for (int i = 0; i < 1000 && last.count == 1; ++i) {  // until the socket is full, and one waits
      last = ending();
      c.async_write_some(beck::buffer(large), last.note());
      s.settle();
    }
    REQUIRE(last.count == 0);
    outcome& got = s.start(c.async_finish());
    s.server.push(0, text);
    s.run_until([&] { return got.done && last.count == 1; });
    CHECK(got.ec == error::already_started);
    CHECK(static_cast<bool>(last.ec));
    s.settle();
    CHECK(s.web->stats().connections == 0);
  }
}

CONFORMANCE("http client: a write beside the end of its call, or behind it, ends with an error") {
  client_site s;
  http::call c(*s.web, http::method::post, s.url());
  ending first, beside, behind;
  c.async_write_some(beck::buffer("part", 4), first.note());
  s.run_until([&] { return first.count == 1; });
  outcome& got = s.start(c.async_finish());
  s.settle();
  c.async_write_some(beck::buffer("more", 4), beside.note());
  s.run_until([&] { return beside.count == 1; });
  CHECK(beside.ec == error::already_started);
  s.server.push(0, ok("response"));
  s.run_until([&] { return got.done; });
  CHECK(got.body == "response");
  c.async_write_some(beck::buffer("more", 4), behind.note());
  s.run_until([&] { return behind.count == 1; });
  CHECK(behind.ec == std::errc::invalid_argument);
  CHECK(s.server.requests.at(0).body == "part");
  s.server.will(ok("next"));
  CHECK(s.get().body == "next");
  CHECK(s.server.connections() == 1);
}

CONFORMANCE("http client: a write behind the start of a whole body takes no byte of it") {
  client_site s;
  s.server.will(ok("x"));
  http::call c(*s.web, http::method::post, s.url());
  auto whole = c.async_finish(beck::buffer("123456789", 9));  // not started yet
  ending part;
  c.async_write_some(beck::buffer("PART", 4), part.note());
  const outcome& got = s.finish(std::move(whole));
  CHECK(part.ec == std::errc::invalid_argument);
  CHECK(got.body == "x");
  CHECK(s.server.requests.at(0).body == "123456789");
}

CONFORMANCE(
    "http client: a target that is refused while a write waits for a connection ends both") {
  enum class way { at_once, old_connection, new_connection };
  for (const way by : {way::at_once, way::old_connection, way::new_connection}) {
    CAPTURE(static_cast<int>(by));
    client_site s({.per_origin = 1});
    if (by != way::at_once) {
      s.start("/busy");
      s.run_until([&] { return s.server.requests.size() == 1; });
    }
    http::call c(*s.web, http::method::post, s.url());
    ending part;
    c.async_write_some(beck::buffer("part", 4), part.note());
    if (by != way::at_once) s.settle();
    REQUIRE(part.count == 0);
    c.target("no target");
    if (by == way::old_connection) s.server.push(0, ok("x"));
    if (by == way::new_connection) s.server.close(0);
    s.run_until([&] { return part.count == 1; });
    CHECK(part.ec == http::client_error::bad_url);
    CHECK(part.bytes == 0);
    CHECK(s.finish(c.async_finish()).ec == http::client_error::bad_url);
    s.settle();
    CHECK(s.server.requests.size() == (by == way::at_once ? 0 : 1));
    CHECK(s.web->stats().connections == 0);
  }
}

CONFORMANCE("http client: a call may expect 100 Continue as long as its write has no connection") {
  client_site s({.per_origin = 1});
  s.server.continues = true;
  s.start("/busy");
  s.run_until([&] { return s.server.requests.size() == 1; });
  http::call c(*s.web, http::method::post, s.url());
  ending part;
  c.async_write_some(beck::buffer("part", 4), part.note());
  s.settle();
  REQUIRE(part.count == 0);
  c.expect_continue();
  s.server.push(0, ok("x"));
  s.run_until([&] { return part.count == 1; });
  CHECK(!part.ec);
  s.server.will(ok("y"));
  CHECK(s.finish(c.async_finish()).body == "y");
  REQUIRE(s.server.requests.size() == 2);
  CHECK(s.server.requests[1].body == "part");
  CHECK(contains(s.server.requests[1].head, "Expect: 100-continue\r\n"));
}

CONFORMANCE("http client: a stream that is taken over after its client is gone is a closed one") {
  client_site s;
  s.server.will("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nfirst");
  http::call ask(*s.web, http::method::get, s.url());
  http::client_response r;
  bool done = false;
  ask.upgrade("x").async_finish([&](error_code ec, http::client_response got) {
    CHECK(!ec);
    r = std::move(got);
    done = true;
  });
  s.run_until([&] { return done; });
  s.web.reset();
  const http::taken_stream taken = r.take_over();
  CHECK(taken.read_ahead == "first");
  REQUIRE(taken.stream);
  char byte = 0;
  error_code ec;
  const auto use = [&]() -> task<> {
    auto got = co_await taken.stream->read_some(beck::mutable_buffer(&byte, 1));
    ec = got.error();
  };
  co_spawn(s.ctx, use(), beck::detached);
  s.settle();
  CHECK(ec == beck::errc::bad_file_descriptor);
}
