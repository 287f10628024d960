// SPDX-License-Identifier: BSL-1.0
// Connections that handlers take over: Upgrade and CONNECT, when they are allowed, and how the
// server still counts and ends them.
#include <beck/http/tunnel.hpp>

#include <beck/http/server.hpp>
#include <beck/io/steady_timer.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "http/both_streams.hpp"
#include "http/served.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

std::string upgrade(std::string_view path, std::string_view protocols = "chat, echo") {
  return get(path,
             "Connection: keep-alive, Upgrade\r\nUpgrade: " + std::string(protocols) + "\r\n");
}

task<bool> write_all(beck::byte_stream& to, std::string_view text) {
  while (!text.empty()) {
    const beck::const_buffer part(text.data(), text.size());
    auto [ec, n] = co_await to.write_some(beck::const_buffer_span(&part, 1));
    if (ec) co_return false;
    text.remove_prefix(n);
  }
  co_return true;
}

/// Sends everything back until the end of the stream. Returns the error that it ended with.
task<error_code> echo(http::tunnel& through) {
  const std::string ahead(through.read_ahead());
  bool good = co_await write_all(through.stream(), ahead);
  while (good) {
    auto got = co_await through.stream().receive();
    if (got.error()) co_return got.error();
    const beck::buffer_lease lease = std::move(got).value();
    const std::string text(lease.data(), lease.size());
    good = co_await write_all(through.stream(), text);
  }
  co_return make_error_code(std::errc::broken_pipe);
}

task<> echo_protocol(http::request&, http::response& r) {
  r.set(http::field::upgrade, "echo").set("Sec-Echo", "1");
  auto taken = co_await r.take_over();
  http::tunnel through = std::move(taken).value();
  beck::ignore(co_await echo(through));
}

}  // namespace

CONFORMANCE_OVER_BOTH(
    "http tunnel: after 101 the stream is the handler's, with what was sent ahead") {
  served s(echo_protocol);
  peer& one = s.start(get("/", "Connection: upgrade\r\nUpgrade: ECHO\r\n") + "GET ahead");
  s.run_until([&] { return has(one.received, "ahead"); });
  CHECK(one.received.substr(0, 34) == "HTTP/1.1 101 Switching Protocols\r\n");
  CHECK(has(one.received, "Connection: upgrade\r\n"));
  CHECK(has(one.received, "Upgrade: echo\r\nSec-Echo: 1\r\n\r\nGET ahead"));
  CHECK(!has(one.received, "Content-Length"));
  CHECK(!has(one.received, "Transfer-Encoding"));
  CHECK(!has(one.received, "close"));
  s.send(one, " and later\r\n\r\n");
  s.run_until([&] { return has(one.received, "ahead and later\r\n\r\n"); });
  CHECK(s.server.stats().connections == 1);
  CHECK(s.server.stats().taken_over == 1);
  CHECK(s.server.stats().exchanges == 0);  // the handler still runs
  error_code ec;
  one.socket.shutdown(ip::tcp::socket::shutdown_send, ec);
  s.run_until([&] { return one.done && s.server.stats().connections == 0; });
  CHECK(s.server.stats().exchanges == 1);
  CHECK(s.server.stats().failed == 0);
  CHECK(s.server.stats().cut == 0);
}

CONFORMANCE_OVER_BOTH(
    "http tunnel: responses before it go out first, a tunnel may outlive its handler") {
  std::optional<http::tunnel> kept;
  served s([&](http::request& q, http::response& r) -> task<> {
    if (q.method() != http::method::connect) {
      r.send("before");
      co_return;
    }
    beck::steady_timer timer(q.get_executor(), beck::duration(100'000));
    beck::ignore(co_await timer.async_wait());  // a reset is watched for by then
    auto taken = co_await r.status(200).take_over();
    kept.emplace(std::move(taken).value());
  });
  peer& one = s.start(get("/") + "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\nraw");
  s.run_until([&] { return kept.has_value() && s.server.stats().exchanges == 2; });
  CHECK(kept->read_ahead() == "raw");
  CHECK(kept->stream().is_plain() == !s.with_layer);
  CHECK(s.server.stats().connections == 1);
  bool ended = false;
  co_spawn(s.ctx, echo(*kept), [&](std::exception_ptr, error_code) { ended = true; });
  s.run_until([&] { return has(one.received, "\r\n\r\nraw"); });
  const auto all = one.responses();
  REQUIRE(all.size() == 2);
  CHECK(all[0].body == "before");
  CHECK(all[1].status == 200);
  CHECK(!has(all[1].fields, "Content-Length"));
  CHECK(!has(all[1].fields, "Connection"));
  CHECK(!ended);
  error_code ec;
  one.socket.set_option(beck::socket_base::linger(true, 0), ec);
  one.socket.close();
  s.run_until([&] { return ended; });
  CHECK(s.server.stats().connections == 1);  // the tunnel is still there
  kept.reset();
  s.run_until([&] { return s.server.stats().connections == 0; });
}

CONFORMANCE_OVER_BOTH("http tunnel: the destructor closes, and a moved tunnel is the same") {
  bool stopped = true;
  served s([&](http::request&, http::response& r) -> task<> {
    auto taken = co_await r.set("Upgrade", "echo").take_over();
    http::tunnel first = std::move(taken).value();
    http::tunnel second(std::move(first));
    CHECK(!first);  // a moved tunnel owns none
    first = std::move(second);
    CHECK(first);
    beck::ignore(co_await write_all(first.stream(), "bye"));
    first = http::tunnel();
    beck::steady_timer timer(r.get_executor(), beck::duration(100'000));
    auto waited = co_await timer.async_wait();
    stopped = bool(waited.error());  // a handler may go on without its tunnel
  });
  peer& one = s.start(upgrade("/"));
  s.run_until([&] { return one.done && s.server.stats().connections == 0; });
  CHECK(has(one.received, "\r\n\r\nbye"));
  CHECK(!stopped);
}

CONFORMANCE_OVER_BOTH(
    "http tunnel: what is not asked for, or not agreed to, is refused before it begins") {
  int refused = 0;
  served s([&](http::request& q, http::response& r) -> task<> {
    const std::string path(q.path());
    if (path == "/other") r.set("Upgrade", "websocket");
    if (path == "/length") r.content_length(1);
    if (path != "/none" && path != "/other") r.set("Upgrade", "echo");
    if (q.method() == http::method::connect) r.status(404);
    try {
      auto taken = co_await r.take_over();
      CHECK(!taken);
    } catch (const std::logic_error&) {
      ++refused;
    }
    r.content_length(2).send("no");
  });
  const std::string connection = "Connection: upgrade\r\n", offer = "Upgrade: echo\r\n";
  auto all = s.ask(get("/", offer) + get("/", connection) + upgrade("/none") + upgrade("/other") +
                   upgrade("/length") + "GET / HTTP/1.0\r\nConnection: upgrade, keep-alive\r\n" +
                   offer + "\r\n" + "POST / HTTP/1.1\r\nHost: a\r\n" + connection + offer +
                   "Content-Length: 2\r\n\r\nab" + last_get("/"));
  REQUIRE(all.size() == 8);
  for (const seen_response& one : all) CHECK(one.body == "no");
  CHECK(refused == 8);
  all = s.ask("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
  CHECK(all.at(0).status == 404);
  CHECK(refused == 9);
  CHECK(s.server.stats().taken_over == 0);
}

CONFORMANCE_OVER_BOTH("http tunnel: a function has no time for one, and nothing follows its head") {
  int refused = 0;
  served plain([&](http::request&, http::response& r) {
    try {
      static_cast<void>(r.set("Upgrade", "echo").take_over());
    } catch (const std::logic_error&) {
      ++refused;
    }
    r.send("no");
  });
  CHECK(plain.ask(upgrade("/") + last_get("/")).size() == 2);
  CHECK(refused == 2);
  served again([&](http::request&, http::response& r) -> task<> {
    auto taken = co_await r.set("Upgrade", "echo").take_over();
    const http::tunnel through = std::move(taken).value();
    for (int i = 0; i < 2; ++i) {
      try {
        i == 0 ? r.send("more") : static_cast<void>(r.take_over());
      } catch (const std::logic_error&) {
        ++refused;
      }
    }
    auto [ec, n] = co_await r.async_write_some(beck::buffer("x", 1));
    CHECK(ec);
  });
  peer& one = again.start(upgrade("/"));
  again.run_until([&] { return one.done; });
  CHECK(refused == 4);
  CHECK(one.received.substr(one.received.size() - 4) == "\r\n\r\n");
}

CONFORMANCE_OVER_BOTH(
    "http tunnel: the grace of a stop reaches tunnels, in their handler and outside") {
  std::vector<http::tunnel> kept;
  error_code end_inside, end_outside;
  bool outside_ended = false;
  served s([&](http::request& q, http::response& r) -> task<> {
    const bool keeps = q.path() == "/keep";
    auto taken = co_await r.set("Upgrade", "echo").take_over();
    http::tunnel through = std::move(taken).value();
    if (keeps) {
      kept.push_back(std::move(through));
    } else {
      end_inside = co_await echo(through);
    }
  });
  const peer& inside = s.start(upgrade("/"));
  const peer& outside = s.start(upgrade("/keep"));
  s.run_until([&] { return s.server.stats().taken_over == 2 && kept.size() == 1; });
  co_spawn(s.ctx, echo(kept[0]), [&](std::exception_ptr, error_code ec) {
    end_outside = ec;
    outside_ended = true;
  });
  s.server.stop(beck::duration(3'600'000'000'000));
  for (int i = 0; i < 50; ++i) s.ctx.poll();
  CHECK(s.server.stats().connections == 2);
  CHECK(!s.ended);
  s.stop(beck::duration(1'000'000));
  CHECK(s.server.stats().connections == 0);
  s.run_until([&] { return outside_ended && inside.done && outside.done; });
  CHECK(end_inside == beck::error::operation_aborted);
  CHECK(end_outside == beck::error::operation_aborted);
  kept.clear();
}

CONFORMANCE_OVER_BOTH(
    "http tunnel: a context is destroyed with tunnels under way, also while it drains") {
  for (const bool drains : {false, true}) {
    std::optional<http::tunnel> kept;
    served s([&](http::request& q, http::response& r) -> task<> {
      const bool keeps = q.path() == "/keep";
      auto taken = co_await r.set("Upgrade", "echo").take_over();
      http::tunnel through = std::move(taken).value();
      if (keeps) {
        kept.emplace(std::move(through));
      } else {
        beck::ignore(co_await echo(through));
      }
    });
    s.start(upgrade("/"));
    s.start(upgrade("/keep"));
    s.run_until([&] { return s.server.stats().taken_over == 2 && kept; });
    if (drains) s.server.stop(beck::duration(3'600'000'000'000));
    for (int i = 0; i < 50; ++i) s.ctx.poll();
    CHECK(s.server.stats().connections == 2);
    kept.reset();
    CHECK(s.server.stats().connections == 1);
  }
}

CONFORMANCE_OVER_BOTH("http: a change of the protocol whose exchange has ended gives nothing") {
  std::optional<error_code> ended;
  served s([&](http::exchange x) {
    x.response().set(http::field::upgrade, "echo");
    auto change = x.response().take_over();
    beck::co_spawn(x.get_executor(), std::move(change),
                   [&](const std::exception_ptr&, beck::io_result<http::tunnel> result) {
                     ended = result.error();
                   });
  });
  const std::string text =
      s.talk(get("/", "Connection: upgrade\r\nUpgrade: echo\r\n") + get("/next"));
  s.run_until([&] { return ended.has_value(); });
  CHECK(*ended == std::errc::broken_pipe);
  CHECK(!has(text, "101"));
  s.run_until([&] { return s.server.stats().connections == 0; });
}

CONFORMANCE_OVER_BOTH("http tunnel: of two tasks of one response the second one is refused") {
  bool was_refused = false;
  served s([&](http::request&, http::response& r) -> task<> {
    r.set(http::field::upgrade, "echo");
    auto first = r.take_over();
    auto second = r.take_over();
    auto taken = co_await std::move(first);
    CHECK(taken);
    try {
      beck::ignore(co_await std::move(second));
    } catch (const std::logic_error&) {
      was_refused = true;
    }
  });
  peer& one = s.start(upgrade("/"));
  s.run_until([&] { return one.done; });
  CHECK(was_refused);
  CHECK(one.received.find("101", 12) == std::string::npos);
}

CONFORMANCE_OVER_BOTH(
    "http tunnel: a second task ends with broken_pipe when the first tunnel is gone") {
  std::optional<error_code> ended;
  served s([&](http::request&, http::response& r) -> task<> {
    r.set(http::field::upgrade, "echo");
    auto first = r.take_over();
    auto second = r.take_over();
    {
      auto taken = co_await std::move(first);
      CHECK(taken);
    }
    auto again = co_await std::move(second);
    ended = again.error();
  });
  peer& one = s.start(upgrade("/"));
  s.run_until([&] { return one.done && ended.has_value(); });
  CHECK(*ended == std::errc::broken_pipe);
  s.run_until([&] { return s.server.stats().connections == 0; });
}
