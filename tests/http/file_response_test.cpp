// SPDX-License-Identifier: BSL-1.0
// Files as bodies of responses: whole, in part, in chunks, behind other responses; files that end
// early, and peers that do not read.
#include <beck/http/server.hpp>

#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/run/post.hpp>
#include <beck/transfer/transfer_report.hpp>

#include <memory>
#include <optional>
#include <string>

#include "http/both_streams.hpp"
#include "http/served.hpp"
#include "support/file_place.hpp"
#include "support/pattern.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
using beck::test::pattern;
namespace error = beck::error;
namespace http = beck::http;

namespace {

/// A server of one file, whose path in the request says how it is sent.
class file_server {
 public:
  explicit file_server(beck::backend where, std::size_t bytes)
      : place(where),
        content(pattern(bytes)),
        s([this](http::request& q, http::response& r) { return handle(q, r); }) {
    beck::random_access_file file(s.ctx, place.path("file"),
                                  beck::file_object::write_only | beck::file_object::create);
    std::string_view left = content;
    while (!left.empty()) {
      const std::size_t n =
          file.write_some_at(content.size() - left.size(), beck::buffer(left.data(), left.size()));
      left.remove_prefix(n);
    }
  }

  task<> handle(http::request& q, http::response& r) {
    beck::random_access_file file(q.get_executor());
    file.open(place.path("file"), beck::file_object::read_only);
    std::uint64_t offset = 0, bytes = beck::to_the_end;
    const std::string_view path = q.path();
    if (path == "/part") offset = 10, bytes = 20;
    if (path == "/behind") offset = content.size() + 1;
    if (path == "/beyond") bytes = content.size() + 1;
    if (path == "/between") {
      r.content_length(content.size() + 10);
      const beck::const_buffer before("before", 6);
      beck::ignore(co_await beck::async_write(r, before));
    }
    if (path == "/chunks") {
      const beck::const_buffer before("before", 6);
      beck::ignore(co_await beck::async_write(r, before));
    }
    if (path == "/chunks-beyond") {
      const beck::const_buffer before("before", 6);
      beck::ignore(co_await beck::async_write(r, before));
      bytes = content.size() + 1;
    }
    if (path == "/chunks-closed" || path == "/chunks-lack") {
      const beck::const_buffer before("before", 6);
      beck::ignore(co_await beck::async_write(r, before));
    }
    if (path == "/chunks-closed") file.close();
    if (path == "/chunks-lack")
      beck::ignore(co_await r.async_send_file(file, 0, content.size() + 1));
    if (path == "/promised-less") r.content_length(3);
    auto sent = co_await r.async_send_file(file, offset, bytes);
    last_error = sent.error();
    last_bytes = sent.value_;
    if (path == "/between") {
      const beck::const_buffer behind("done", 4);
      beck::ignore(co_await beck::async_write(r, behind));
    }
  }

  beck::test::file_place place;
  std::string content;
  error_code last_error;
  std::uint64_t last_bytes = 0;
  served s;
};

}  // namespace

CONFORMANCE_OVER_BOTH("http: a file is sent whole, in part, and beside written parts") {
  for (const std::size_t bytes : {0U, 1U, 5000U, 300'000U}) {
    file_server f(where, bytes);
    const auto all = f.s.ask(get("/whole") + get("/part") + get("/between") + get("/chunks") +
                             get("/behind") + last_get("/whole"));
    if (bytes < 30) {  // "/part" cannot be sent
      REQUIRE(all.size() == 2);
      CHECK(!all[1].whole);
      CHECK(f.last_error == error::eof);
      continue;
    }
    REQUIRE(all.size() == 6);
    CHECK(all[0].body == f.content);
    CHECK(has(all[0].fields, "Content-Length: " + std::to_string(bytes) + "\r\n"));
    CHECK(all[1].body == f.content.substr(10, 20));
    CHECK(all[2].body == "before" + f.content + "done");
    CHECK(all[3].body == "before" + f.content);
    CHECK(has(all[3].fields, "chunked"));
    CHECK(all[4].body.empty());
    CHECK(all[4].whole);
    CHECK(all[5].body == f.content);
    CHECK(f.last_bytes == bytes);
    CHECK(f.s.server.stats().cut == 0);
  }
}

CONFORMANCE_OVER_BOTH("http: HEAD for a file has its length and no body") {
  file_server f(where, 5000);
  const std::string text = "HEAD /whole HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const std::string got = f.s.talk(text);
  CHECK(has(got, "Content-Length: 5000\r\n"));
  CHECK(got.substr(got.size() - 4) == "\r\n\r\n");
  CHECK(f.last_bytes == 5000);
}

CONFORMANCE_OVER_BOTH(
    "http: a file that is shorter than promised cuts the connection, also in chunks") {
  for (const char* path : {"/beyond", "/chunks-beyond"}) {
    file_server f(where, 5000);
    const auto all = f.s.ask(get(path) + get("/whole"));
    REQUIRE(all.size() == 1);
    CHECK(!all[0].whole);
    CHECK(f.last_error == error::eof);
    CHECK(f.last_bytes == 5000);
    CHECK(f.s.server.stats().cut == 1);
  }
}

CONFORMANCE_OVER_BOTH(
    "http: a response in chunks that lacks a file is cut, whatever its handler does then") {
  for (const char* path : {"/chunks-closed", "/chunks-lack"}) {
    CAPTURE(std::string(path));
    file_server f(where, 5000);
    const auto all = f.s.ask(get(path) + get("/whole"));
    REQUIRE(all.size() == 1);
    CHECK(!all[0].whole);
    CHECK(f.s.server.stats().cut == 1);
  }
}

CONFORMANCE_OVER_BOTH("http: more of a file than content_length() has said is not sent") {
  file_server f(where, 5000);
  const auto all = f.s.ask(get("/promised-less"));
  CHECK(f.last_error == std::errc::message_size);
  CHECK(f.last_bytes == 0);
  REQUIRE(all.size() == 1);
  CHECK(all[0].body.empty());
  CHECK(f.s.server.stats().cut == 1);
}

CONFORMANCE_OVER_BOTH("http: a peer that goes in the middle of a file ends the operation") {
  file_server f(where, 20'000'000);
  peer& one = f.s.start_deaf(get("/whole"));
  char first[4096];
  bool received = false;
  f.s.run_until([&] { return one.sent; });
  beck::async_read(one.socket, beck::buffer(first),
                   [&](error_code ec, std::size_t) { received = !ec; });
  f.s.run_until([&] { return received; });
  one.socket.close();
  f.s.run_until([&] { return f.s.server.stats().connections == 0; });
  CHECK(f.last_error);
  CHECK(f.last_bytes < f.content.size());
}

CONFORMANCE_OVER_BOTH(
    "http: a file that is out of time, or cancelled, cuts its response; the handler goes on") {
  for (const bool by_time : {true, false}) {
    beck::test::file_place place(where);
    std::unique_ptr<beck::random_access_file> file;
    error_code failed;
    std::uint64_t sent_bytes = 0;
    bool is_over = false;
    served s([&](http::request& q, http::response& r) -> task<> {
      auto sending = r.async_send_file(*file, 0, beck::to_the_end);
      if (by_time) {
        auto sent = co_await beck::timeout(std::move(sending), beck::duration(20'000'000));
        failed = sent.error();
        sent_bytes = sent.value_;
      } else {
        beck::steady_timer timer(q.get_executor(), beck::duration(20'000'000));
        auto both = beck::when_any(std::move(sending), timer.async_wait());
        const auto first = co_await std::move(both);
        if (first.index() == 1) failed = error::operation_aborted;
      }
      is_over = true;
    });
    file = std::make_unique<beck::random_access_file>(
        s.ctx, place.path("file"), beck::file_object::read_write | beck::file_object::create);
    const std::string text = pattern(30'000'000);
    beck::write_at(*file, 0, beck::buffer(text));
    peer& deaf = s.start_deaf(get("/"));
    s.run_until([&] { return is_over; });
    CHECK(failed == (by_time ? error_code(error::timeout) : error_code(error::operation_aborted)));
    CHECK(sent_bytes < text.size());
    deaf.socket.close();
    s.run_until([&] { return s.server.stats().connections == 0; });
    CHECK(s.server.stats().cut == 1);
    CHECK(s.ask(last_get("/")).size() <= 1);
    file.reset();
  }
}

CONFORMANCE_OVER_BOTH(
    "http: a file that is left behind by its exchange does not become another response") {
  beck::test::file_place place(where);
  std::optional<error_code> sent;
  std::unique_ptr<beck::random_access_file> file;
  served s([&](http::exchange x) {
    if (x.request().path() == "/b") return x.response().send("b");
    x.response().async_send_file(*file, 0, beck::to_the_end,
                                 [&](error_code ec, std::uint64_t) { sent = ec; });
  });
  file = std::make_unique<beck::random_access_file>(
      s.ctx, place.path("file"), beck::file_object::read_write | beck::file_object::create);
  const std::string text = pattern(100'000);
  beck::write_at(*file, 0, beck::buffer(text));
  for (const std::string& more : {std::string(), get("/b")}) {
    sent.reset();
    const peer& one = s.start(get("/a") + more);
    s.run_until([&] { return sent.has_value() && one.done; });
    CHECK(*sent == std::errc::broken_pipe);
    CHECK(one.received.empty());
  }
  CHECK(s.server.stats().exchanges == 2);
  file.reset();
}

CONFORMANCE_OVER_BOTH("http: what is written beside a file that is being sent goes out behind it") {
  beck::test::file_place place(where);
  std::unique_ptr<beck::random_access_file> file;
  const std::string text = pattern(3'000'000);
  bool is_flushed = false;
  const auto write_beside = [&](http::response& r) -> task<beck::io_result<>> {
    for (int i = 0; i < 3; ++i) co_await beck::post(r.get_executor());  // the file has begun
    const beck::const_buffer behind("done", 4);
    beck::ignore(co_await beck::async_write(r, behind));
    auto flushed = co_await r.async_flush();
    is_flushed = !flushed.error();
    co_return flushed;
  };
  served s([&](http::request&, http::response& r) -> task<> {
    r.content_length(text.size() + 4);
    auto both = beck::when_all(r.async_send_file(*file, 0, text.size()), write_beside(r));
    beck::ignore(co_await std::move(both));
  });
  file = std::make_unique<beck::random_access_file>(
      s.ctx, place.path("file"), beck::file_object::read_write | beck::file_object::create);
  beck::write_at(*file, 0, beck::buffer(text));
  peer& one = s.start(last_get("/"));
  s.run_until([&] { return one.done; });
  CHECK(is_flushed);
  CHECK(one.received.size() > text.size() + 4);
  if (!beck::http::test::layered) CHECK(one.received.substr(one.received.size() - 4) == "done");
  file.reset();
}
