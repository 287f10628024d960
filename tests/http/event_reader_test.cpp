// SPDX-License-Identifier: BSL-1.0
// Server-sent events at a client: events come one by one, however the response is cut, and the
// reader says how the stream has ended.
#include <beck/http/client.hpp>
#include <beck/http/event_reader.hpp>

#include <beck/coro/timeout.hpp>

#include <chrono>
#include <string>
#include <utility>

#include "http/client_site.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using namespace std::chrono_literals;
using beck::error_code;
using beck::task;
namespace http = beck::http;

namespace {

/// What a reader has found.
struct heard {
  std::string events;  ///< each with a line end
  error_code end;
  std::string last_id;
  beck::duration retry;
  bool done = false;
};

/// Reads all events of a response.
task<> hear(http::detail::call_finish operation, http::event_limits bounds, heard& to) {
  auto got = co_await std::move(operation);
  to.end = got.error();
  if (!got.error()) {
    const http::client_response r = std::move(got).value();
    http::event_reader first(r.body(), bounds);
    http::event_reader events(std::move(first));
    while (!to.end) {
      auto one = co_await events.next();
      to.end = one.error();
      if (!to.end) to.events += one->name + '<' + one->id + '>' + one->data + '\n';
    }
    auto again = co_await events.next();
    CHECK(again.error() == to.end);
    to.last_id = events.last_id();
    to.retry = events.retry();
  }
  to.done = true;
}

const std::string events_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";

std::string in_chunks(std::string_view body, std::size_t most) {
  std::string text = events_head + "Transfer-Encoding: chunked\r\n\r\n";
  for (; !body.empty(); body.remove_prefix(std::min(most, body.size()))) {
    const std::string_view chunk = body.substr(0, most);
    text.append(std::to_string(chunk.size())).append("\r\n").append(chunk).append("\r\n");
  }
  return text + "0\r\n\r\n";
}

}  // namespace

CONFORMANCE("http events: a client reads them one by one, in chunks of any size") {
  const std::string stream =
      "retry: 2500\r\n\r\n: hello\n\nevent: add\ndata: one\r\ndata: two\rid: 7\n\n"
      "data:three\n\ndata: cut";
  const std::string expected = "add<7>one\ntwo\nmessage<7>three\n";
  for (const std::size_t most : {1U, 2U, 9U}) {  // digits are hexadecimal
    CAPTURE(most);
    client_site s;
    s.server.will(in_chunks(stream, most));
    s.server.will(ok("next"));
    heard found;
    co_spawn(s.ctx, hear(s.web->async_get(s.url()), {}, found), beck::detached);
    s.run_until([&] { return found.done; });
    CHECK(found.events == expected);
    CHECK(found.end == beck::error::eof);
    CHECK(found.last_id == "7");
    CHECK(found.retry.nanoseconds() == 2'500'000'000);
    CHECK(s.get("/b").body == "next");
    CHECK(s.server.connections() == 1);  // the body was read to its end
    s.end();
  }
}

CONFORMANCE("http events: an event is there before the next one is sent") {
  client_site s;
  s.server.will(events_head + "\r\ndata: 1\n\n");
  std::string seen;
  bool done = false;
  const auto read = [&]() -> task<> {
    auto got = co_await s.web->async_post(s.url(), "application/json", beck::buffer("{}", 2));
    CHECK(!got.error());
    const http::client_response r = std::move(got).value();
    http::event_reader events(r.body());
    for (int i = 0; i < 3; ++i) {
      auto one = co_await events.next();
      CHECK(!one.error());
      seen += one->data;
    }
    done = true;
  };
  co_spawn(s.ctx, read(), beck::detached);
  s.run_until([&] { return seen == "1"; });
  s.server.push(0, "data: 2\r");
  s.settle();
  CHECK(seen == "1");
  s.server.push(0, "\r");
  s.run_until([&] { return seen == "12"; });
  s.server.push(0, "\ndata: 3\n\n");
  s.run_until([&] { return done; });
  CHECK(seen == "123");
  CHECK(s.server.requests.at(0).body == "{}");
}

CONFORMANCE("http events: a reader that is cancelled loses no event") {
  client_site s;
  s.server.will(events_head + "\r\ndata: 1\n\nda");
  std::string seen;
  int late = 0;
  bool done = false;
  const auto read = [&]() -> task<> {
    auto got = co_await s.web->async_get(s.url());
    CHECK(!got.error());
    const http::client_response r = std::move(got).value();
    http::event_reader events(r.body());
    while (seen.size() < 3) {
      auto one =
          co_await beck::timeout(events.next(), beck::duration(late < 3 ? 100'000 : 1'000'000'000));
      if (one.error() == beck::error::timeout) {
        if (++late == 3) s.server.push(0, "ta: 2\n\ndata: 3\n\n");
        continue;
      }
      CHECK(!one.error());
      seen += one->data;
    }
    done = true;
  };
  co_spawn(s.ctx, read(), beck::detached);
  s.run_until([&] { return done; });
  CHECK(seen == "123");
  CHECK(late >= 3);
}

CONFORMANCE("http events: a reader says how a stream has ended") {
  client_site s;
  s.server.will(events_head + "Content-Length: 100\r\n\r\ndata: 1\n\n", after::end);
  s.server.will(events_head + "\r\ndata: 1\n\n", after::reset);
  s.server.will(
      in_chunks("data:" + std::string(4, 'x') + "\n\ndata:" + std::string(5, 'x') + "\n\n", 9));
  s.server.will(events_head + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\nz\r\n");
  heard found[4];
  for (int i = 0; i < 4; ++i) {
    co_spawn(s.ctx, hear(s.web->async_get(s.url()), {.line_bytes = 9}, found[i]), beck::detached);
    s.run_until([&] { return found[i].done; });
  }
  CHECK(found[0].end == http::client_error::cut_short);
  CHECK(found[0].events == "message<>1\n");
  CHECK(found[0].retry == beck::duration());
  CHECK(found[1].end);
  CHECK(found[1].end != beck::error::eof);
  CHECK(found[2].events == "message<>xxxx\n");
  CHECK(found[2].end == std::errc::message_size);
  CHECK(found[3].end == http::refusal::bad_chunk_size);
}
