// SPDX-License-Identifier: BSL-1.0
// The end of a connection while something is under way: parts of a message, writes that wait,
// streams that are assigned.
#include <beck/websocket/stream.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/counted_server.hpp"
#include "support/conformance.hpp"
#include "websocket/pair.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;
using beck::io_result;
using beck::task;

namespace {

constexpr auto text = message_kind::text;

/// Starts a write, and returns its result if it ends by itself.
std::optional<io_result<>> result_of(pair_site& s, task<io_result<>> write) {
  auto result = std::make_shared<std::optional<io_result<>>>();
  co_spawn(s.ends.ctx, std::move(write), [result](const std::exception_ptr& failed, io_result<> r) {
    if (!failed) result->emplace(r);
  });
  s.settle();
  return *result;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "websocket: what a peer has sent is read, although a write finds that it is gone") {
  std::vector<std::string> got;
  beck::error_code write_error, close_error, end;
  bool waits = false;
  beck::http::test::counted_server s(
      [&](beck::http::request& q, beck::http::response& r) -> task<> {
        auto accepted = co_await accept(q, r);
        stream ws = std::move(accepted).value();
        const std::string data(100'000, 'd');  // never read, so that the peer resets
        while (!write_error) {
          waits = ws.queued() != 0;
          auto sent = co_await ws.write(text, as_buffer(data));
          write_error = sent.error();
        }
        CHECK(ws.send(message(text, as_buffer("more"))) == write_error);
        beck::flat_buffer line;
        beck::error_code found;
        while (!found) {
          auto read = co_await ws.read(line);
          found = read.error();
          if (!found) got.emplace_back(line.view());
        }
        auto closed = co_await ws.close();
        close_error = closed.error();
        end = found;
      });
  const int fd = s.connect();
  s.send(fd, upgrade_request());
  while (!waits) s.ctx.poll();
  for (int i = 0; i < 20; ++i) s.ctx.poll();
  s.send(fd, text_frame("one") + text_frame("two") + close_frame(1000));
  ::close(fd);
  s.peers.clear();
  while (!end) s.ctx.poll();
  CHECK((write_error == std::errc::broken_pipe || write_error == std::errc::connection_reset));
  CHECK(got == std::vector<std::string>{"one", "two"});
  CHECK(end == stream_error::closed);
  CHECK(close_error == write_error);  // the peer has got no close frame
}

CONFORMANCE_ON(
    beck::test::kernel,
    "websocket: a close frame behind more than a socket takes may find that it is gone") {
  std::vector<stream> kept;
  std::optional<beck::error_code> end;
  beck::http::test::counted_server s(
      [&](beck::http::request& q, beck::http::response& r) -> task<> {
        auto accepted = co_await accept(q, r);
        kept.push_back(std::move(accepted).value());
      });
  const int fd = s.connect();
  s.send(fd, upgrade_request());
  while (kept.empty()) s.ctx.poll();
  for (int i = 0; i < 20; ++i) s.ctx.poll();
  ::close(fd);  // with the response in it: this resets the connection
  s.peers.clear();
  const auto close = [&]() -> task<> {
    const std::string data(65'520, 'd');  // with its head just not so much that it is sent at once
    CHECK(!kept[0].send(message(text, as_buffer(data))));
    auto closed = co_await kept[0].close(close_code::normal, "a reason");
    end = closed.error();
  };
  co_spawn(s.ctx, close, beck::detached);
  while (!end) s.ctx.poll();
  CHECK((*end == std::errc::broken_pipe || *end == std::errc::connection_reset));
  kept.clear();
}

CONFORMANCE_ON(beck::test::kernel,
               "websocket: a close frame that is sent at the end of the turn may find the same") {
  std::vector<stream> kept;
  std::optional<beck::error_code> end;
  beck::http::test::counted_server s(
      [&](beck::http::request& q, beck::http::response& r) -> task<> {
        auto accepted = co_await accept(q, r);
        kept.push_back(std::move(accepted).value());
      });
  const int fd = s.connect();
  s.send(fd, upgrade_request());
  while (kept.empty()) s.ctx.poll();
  for (int i = 0; i < 20; ++i) s.ctx.poll();
  ::close(fd);  // with the response in it: this resets the connection
  s.peers.clear();
  const auto close = [&]() -> task<> {
    auto closed = co_await kept[0].close(close_code::normal, "a reason");
    end = closed.error();
  };
  co_spawn(s.ctx, close, beck::detached);
  while (!end) s.ctx.poll();
  CHECK((*end == std::errc::broken_pipe || *end == std::errc::connection_reset));
  kept.clear();
}

CONFORMANCE_ON(
    beck::test::kernel,
    "websocket: a stream that is not read outlives a failed write by the time of an end") {
  std::vector<stream> kept;
  const auto most = limits{.close_timeout = beck::duration(1'000'000)};
  beck::http::test::counted_server s(
      [&](beck::http::request& q, beck::http::response& r) -> task<> {
        auto accepted = co_await accept(q, r, accept_options{.limits = most});
        kept.push_back(std::move(accepted).value());
      });
  const int fd = s.connect();
  s.send(fd, upgrade_request());
  while (kept.empty()) s.ctx.poll();
  const message data(text, as_buffer(std::string(100'000, 'd')));
  while (!kept[0].send(data)) {}  // until the queue is full
  ::close(fd);
  s.peers.clear();
  while (!kept[0].error()) s.ctx.poll();
  CHECK((kept[0].error() == std::errc::broken_pipe ||
         kept[0].error() == std::errc::connection_reset));
  kept.clear();
}

CONFORMANCE("websocket: behind a message in parts every write gets the error of the connection") {
  pair_site s;
  REQUIRE(!s.connect());
  CHECK(!s.run(s.server().write_part(text, as_buffer("a"), false)).error());
  s.clients.clear();
  CHECK(s.run(read_text(s.server())).starts_with("error: "));
  for (int round = 0; round < 2; ++round) {
    const auto part = result_of(s, s.server().write_part(text, as_buffer("b"), false));
    REQUIRE(part);
    CHECK(part->error() == s.server().error());
    const auto whole = result_of(s, s.server().write(text, as_buffer("c")));
    REQUIRE(whole);
    CHECK(whole->error() == s.server().error());
  }
}

CONFORMANCE("websocket: a close inside a message in parts ends the writes that wait for its end") {
  for (const bool by_peer : {false, true}) {
    pair_site s;
    REQUIRE(!s.connect());
    CHECK(!s.run(s.server().write_part(text, as_buffer("a"), false)).error());
    std::optional<io_result<>> waits, closed;
    std::optional<std::string> read;
    s.start(s.server().write(text, as_buffer("b")), waits);
    s.settle();
    REQUIRE(!waits);
    if (by_peer) {
      s.start(read_text(s.server()), read);
      s.start(s.client().close(), closed);
      s.ends.run_until([&] { return waits.has_value(); });
    } else {
      s.start(s.server().close(), closed);
      s.settle();
      REQUIRE(waits);  // though the client has not answered yet
    }
    CHECK(waits->error() == stream_error::closed);
    const auto part = result_of(s, s.server().write_part(text, as_buffer("c"), true));
    REQUIRE(part);
    CHECK(part->error() == stream_error::closed);
    if (!by_peer) {
      char room[10];
      CHECK(s.run(s.client().read_some(beck::buffer(room)))->bytes == 1);
      CHECK(s.run(read_text(s.client())) == "error: The WebSocket connection is closed");
    }
    s.ends.run_until([&] { return closed.has_value(); });
    CHECK(!closed->error());
  }
}

CONFORMANCE("websocket: the end of a server's grace ends writes that wait, also without a read") {
  pair_site s;
  REQUIRE(!s.connect());
  CHECK(!s.run(s.server().write_part(text, as_buffer("a"), false)).error());
  std::optional<io_result<>> waits;
  s.start(s.server().write(text, as_buffer("b")), waits);
  s.settle();
  REQUIRE(!waits);
  s.ends.stop(beck::duration());
  s.settle();
  REQUIRE(waits);
  CHECK(waits->error() == beck::error::operation_aborted);
  CHECK(s.server().error() == beck::error::operation_aborted);
  CHECK(s.server().send(message(text, as_buffer("c"))) == beck::error::operation_aborted);
}

CONFORMANCE(
    "websocket: a read behind a read of a part gets the rest of the message, and nothing else") {
  pair_site s;
  REQUIRE(!s.connect());
  CHECK(!s.run(s.server().write(text, as_buffer("abcdef"))).error());
  char part[2];
  CHECK(s.run(s.client().read_some(beck::buffer(part)))->bytes == 2);
  beck::flat_buffer data;
  data.commit(beck::buffer_copy(data.prepare(3), as_buffer("old")));
  CHECK(!s.run(s.client().read(data)).error());
  CHECK(data.view() == "cdef");
}

CONFORMANCE("websocket: a close behind a message that was read waits for the peer's close") {
  pair_site s;
  REQUIRE(!s.connect());
  CHECK(!s.run(s.client().write(text, as_buffer("abc"))).error());
  CHECK(s.run(read_text(s.server())) == "abc");
  std::optional<std::string> end;
  s.start(read_text(s.client()), end);
  CHECK(!s.run(s.server().close(close_code::unsupported)).error());
  s.ends.run_until([&] { return end.has_value(); });
  CHECK(s.client().peer_code() == close_code::unsupported);
}

CONFORMANCE("websocket: a stream that gets another connection cuts its own") {
  pair_site s;
  REQUIRE(!s.connect());
  REQUIRE(!s.connect());
  std::optional<std::string> first;
  s.start(read_text(s.servers[0]), first);
  s.settle();
  s.clients[0] = std::move(s.clients[1]);
  REQUIRE(!s.clients[1]);
  s.ends.run_until([&] { return first.has_value(); });
  CHECK(s.servers[0].peer_code() == close_code::abnormal);
  stream& same = s.clients[0];
  s.clients[0] = std::move(same);
  CHECK(!s.run(s.clients[0].write(text, as_buffer("still"))).error());
  CHECK(s.run(read_text(s.servers[1])) == "still");
}
