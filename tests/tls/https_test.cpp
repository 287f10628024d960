// SPDX-License-Identifier: BSL-1.0
// HTTP over TLS: the server's one line, the client's one line, and both against each other.
#include <beck/http/client.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/http/tunnel.hpp>

#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/connect_stream.hpp>
#include <beck/tls/error.hpp>
#include <beck/tls/stream.hpp>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "tls/both_contexts.hpp"
#include "tls/narrow_stream.hpp"
#include "tls/read_all.hpp"

using beck::error_code;
using beck::task;
using namespace beck::test;
namespace http = beck::http;
namespace ip = beck::ip;
namespace tls = beck::tls;
using tls::test::both_contexts;
using tls::test::files;
using tls::test::made;
using tls::test::read_all;
using tls::test::trusting;
using namespace std::chrono_literals;

namespace {

task<> echo_body(http::request& q, http::response& r) {
  std::string all;
  char part[5000];
  for (;;) {
    auto [ec, n] = co_await q.body().async_read_some(beck::buffer(part));
    all.append(part, n);
    if (ec == beck::error::eof) break;
    if (ec) co_return;
  }
  if (q.path() == "/stream") {
    beck::ignore(co_await async_write(r, beck::buffer(all)));
  } else {
    r.send(all.empty() ? std::string(q.path()) : all);
  }
}

/// A server with TLS and a client that trusts it, on one context.
struct https {
  template <class Handler>
  explicit https(Handler handler, const http::limits& bounds = http::limits(),
                 beck::stream_layer& layer = both_contexts::get().identity)
      : ctx(context_options()), server(std::move(handler), bounds), web(ctx) {
    server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0), layer);
    server.on_handshake_failed([this](const http::handshake_record& r) {
      failed.push_back(r.error);
      said = std::string(r.error_text);
    });
    server.serve().start(ctx, [](std::exception_ptr) {});
    while (server.endpoint().port() == 0) ctx.poll();
    web.secure(both_contexts::get().trust);
  }
  std::string url(const char* path) const {
    return "https://127.0.0.1:" + std::to_string(server.endpoint().port()) + path;
  }
  /// Runs a task, and the context until it has ended.
  void run(task<> work) {
    bool done = false;
    co_spawn(ctx, std::move(work), [&](std::exception_ptr error) {
      done = true;
      if (error) std::rethrow_exception(error);
    });
    REQUIRE(run_until(ctx, [&] { return done; }));
  }

  std::vector<error_code> failed;
  std::string said;
  beck::io_context ctx;
  http::server server;
  http::client web;
};

/// TLS over transports that take little at once.
class narrow_layer final : public beck::stream_layer {
 public:
  explicit narrow_layer(beck::duration pause) : pause_(pause) {}

  task<beck::io_result<beck::owned_stream>> accept(beck::owned_stream transport) override {
    beck::owned_stream narrow(new tls::test::narrow_stream(std::move(transport), 1000, pause_));
    return both_contexts::get().identity.accept(std::move(narrow));
  }
  task<beck::io_result<beck::owned_stream>> connect(beck::owned_stream transport,
                                                    std::string_view name) override {
    return both_contexts::get().trust.connect(std::move(transport), name);
  }

 private:
  beck::duration pause_;
};

/// Sends a request over a connection of its own. `ends`: says that no other one follows, with
/// close_notify. Returns what comes until the end, which must have been said.
task<> ask_once(https& h, std::string request, bool ends, std::string& text) {
  ip::tcp::socket socket(h.ctx);
  auto connected = co_await socket.async_connect(h.server.endpoint());
  CHECK(!connected.error());
  tls::stream s(std::move(socket), both_contexts::get().trust, "example.com");
  beck::ignore(co_await async_write(s, beck::buffer(request)));
  if (ends) beck::ignore(co_await s.async_shutdown());
  error_code end;
  co_await read_all(s, text, end);
  CHECK(end == beck::error::eof);
}

task<> get(https& h, const char* path, std::string& body) {
  auto got = co_await h.web.async_get(h.url(path));
  CHECK(!got.error());
  if (!got) MESSAGE(got->error_text());
  if (!got) co_return;
  http::client_response response = std::move(got).value();
  auto text = co_await response.body().async_read_all(10'000'000);
  CHECK(!text.error());
  body = std::move(text.value_);
}

task<> post(https& h, const char* path, const std::string& text, std::string& body) {
  auto got = co_await h.web.async_post(h.url(path), "text/plain", beck::buffer(text));
  CHECK(!got.error());
  if (!got) co_return;
  http::client_response response = std::move(got).value();
  auto answer = co_await response.body().async_read_all(10'000'000);
  CHECK(!answer.error());
  body = std::move(answer.value_);
}

}  // namespace

CONFORMANCE("https: requests and responses, one connection for all") {
  https h(echo_body, {.bodies = {.body_bytes = 10'000'000}});
  std::string body;
  for (const char* path : {"/a", "/b", "/c"}) {
    h.run(get(h, path, body));
    CHECK(body == path);
  }
  for (const std::size_t bytes : {1U, 5'000U, 100'000U, 1'000'000U}) {
    const std::string text = pattern(bytes);
    h.run(post(h, "/whole", text, body));
    CHECK((body == text));
    h.run(post(h, "/stream", text, body));
    CHECK((body == text));
  }
  CHECK(h.server.stats().accepted == 1);
  CHECK(h.server.stats().handshakes_failed == 0);
  CHECK(h.web.stats().reused == 10);
}

CONFORMANCE("https: a handler reads the name in the certificate of its client") {
  const auto asking = tls::server_options().clients(
      tls::authorities().file(files().path("root.pem")), tls::client_certificate::optional);
  tls::server_context identity(files().chain(made::address), files().key(made::address), asking);
  const auto say_name = [](const http::request& q, http::response& r) {
    r.send("client: " + std::string(q.peer_name()));
  };
  std::string body;
  https anonymous(say_name, http::limits(), identity);
  anonymous.run(get(anonymous, "/", body));
  CHECK(body == "client: ");
  tls::client_context seven(
      trusting().identity(files().chain(made::client), files().key(made::client)));
  https named(say_name, http::limits(), identity);
  named.web.secure(seven);
  named.run(get(named, "/", body));
  CHECK(body == "client: client seven");
}

CONFORMANCE("https: a record has the result of the handshake, of a resumed one, too") {
  struct seen_security {
    std::string version, cipher, name;
    bool is_resumed;
  };
  std::vector<seen_security> all;
  https h(echo_body);
  h.server.on_finish([&](const http::exchange_record& one) {
    const beck::stream_security& s = one.security;
    all.push_back(
        {std::string(s.version), std::string(s.cipher), std::string(s.server_name), s.is_resumed});
  });
  std::string text;
  const std::string request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  for (int i = 0; i < 2; ++i) h.run(ask_once(h, request, false, text));
  std::string body;
  h.run(get(h, "/", body));  // 127.0.0.1: an address is no name
  REQUIRE(all.size() == 3);
  for (const seen_security& one : all) {
    CHECK(one.version == "TLSv1.3");
    CHECK(one.cipher.starts_with("TLS_"));
  }
  CHECK(all[0].name == "example.com");
  CHECK(!all[0].is_resumed);
  CHECK(all[1].is_resumed);
  CHECK(all[2].name.empty());
}

CONFORMANCE("https: a call that fails says which name was expected") {
  https h(echo_body);
  h.run([](https& s) -> task<> {
    const std::string url = "https://localhost:" + std::to_string(s.server.endpoint().port());
    auto got = co_await s.web.async_get(url);
    CHECK(got.error() == tls::error::wrong_name);
    CHECK(got->error_text().find(url) != std::string::npos);
    CHECK(got->error_text().find("127.0.0.1") != std::string::npos);  // the name that was offered
  }(h));
}

CONFORMANCE("https: plain HTTP on a port of TLS is told to the observer, in words") {
  https h(echo_body);
  beck::ip::tcp::socket peer(h.ctx);
  outcome connected, sent, got;
  char room[100];
  peer.async_connect(h.server.endpoint(), note(connected));
  REQUIRE(run_until(h.ctx, connected));
  async_write(peer, beck::buffer("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27), note(sent));
  REQUIRE(run_until(h.ctx, [&] { return !h.failed.empty(); }));
  CHECK(h.failed[0] == tls::error::not_tls);
  CHECK(h.said.find("does not speak TLS") != std::string::npos);
  CHECK(h.server.stats().handshakes_failed == 1);
  peer.async_read_some(beck::buffer(room), note(got));
  REQUIRE(run_until(h.ctx, got));
}

CONFORMANCE("https: at the limit of handshakes the oldest one makes room, and a good one passes") {
  https h(echo_body, {.handshakes = 20});
  std::vector<ip::tcp::socket> silent;
  for (int i = 0; i < 100; ++i) {
    outcome connected;
    silent.emplace_back(h.ctx);
    silent.back().async_connect(h.server.endpoint(), note(connected));
    REQUIRE(run_until(h.ctx, connected));
  }
  REQUIRE(run_until(h.ctx, [&] { return h.server.stats().handshakes_failed == 80; }));
  std::string body;
  h.run(get(h, "/good", body));
  CHECK(body == "/good");
  CHECK(h.server.stats().handshakes_failed == 81);
  for (const error_code& ec : h.failed) CHECK(ec == beck::error::operation_aborted);
}

CONFORMANCE("https: handshakes that have ended, well or badly, do not count") {
  https h(echo_body, {.handshakes = 2});
  std::string body;
  for (int i = 0; i < 4; ++i) {
    h.run(get(h, "/kept", body));
    CHECK(body == "/kept");
    h.web.close_idle();
    ip::tcp::socket leaves(h.ctx);
    outcome connected;
    leaves.async_connect(h.server.endpoint(), note(connected));
    REQUIRE(run_until(h.ctx, connected));
    leaves.close();
    REQUIRE(run_until(h.ctx, [&] { return h.failed.size() == static_cast<std::size_t>(i) + 1; }));
  }
  ip::tcp::socket silent(h.ctx);
  outcome connected;
  silent.async_connect(h.server.endpoint(), note(connected));
  REQUIRE(run_until(h.ctx, connected));
  h.run(get(h, "/good", body));
  CHECK(body == "/good");
  CHECK(h.failed.size() == 4);  // the silent one has not had to make room
}

CONFORMANCE("https: a handshake that takes too long ends with timeout") {
  https h(echo_body, {.handshake_timeout = beck::duration(2'000'000)});
  ip::tcp::socket silent(h.ctx);
  outcome connected;
  silent.async_connect(h.server.endpoint(), note(connected));
  REQUIRE(run_until(h.ctx, [&] { return !h.failed.empty(); }));
  CHECK(h.failed[0] == beck::error::timeout);
}

CONFORMANCE("https: a server ends its connections with close_notify") {
  https h(echo_body, {.idle_timeout = beck::duration(50'000'000)});
  ip::tcp::socket raw(h.ctx);
  outcome connected;
  raw.async_connect(h.server.endpoint(), note(connected));
  REQUIRE(run_until(h.ctx, connected));
  h.run([](ip::tcp::socket socket) -> task<> {
    tls::stream s(std::move(socket), both_contexts::get().trust, "example.com");
    beck::ignore(co_await async_write(s, beck::buffer("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 28)));
    std::string text;
    error_code end;
    co_await read_all(s, text, end);
    CHECK(end == beck::error::eof);  // the connection was idle for too long
    CHECK(text.ends_with("/x"));
  }(std::move(raw)));
}

CONFORMANCE("https: the last response of a connection comes whole to a peer that reads slowly") {
  const std::string body = pattern(100'000);
  narrow_layer layer(beck::duration::zero());
  https h([&](http::request&, http::response& r) { r.send(body); }, http::limits(), layer);
  const std::string go_on = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const struct {
    std::string request;
    bool ends;  // with a close_notify behind the request
    std::size_t responses;
  } cases[] = {{last, false, 1}, {go_on, true, 1}, {go_on + go_on + last, false, 3}};
  for (const auto& one : cases) {
    std::string text;
    h.run(ask_once(h, one.request, one.ends, text));
    CAPTURE(one.request);
    CHECK(text.size() > one.responses * body.size());
    CHECK(text.ends_with(body));
  }
}

CONFORMANCE_ON(sim,
               "https: a response may take longer than an end, as long as the peer takes some") {
  const std::string body = pattern(150'000);
  narrow_layer layer(beck::duration(100'000'000));  // 10 KB/s
  https h([&](http::request&, http::response& r) { r.send(body); }, http::limits(), layer);
  for (const char* field : {"", "Connection: close\r\n"}) {
    std::string text;
    h.run(ask_once(h, std::string("GET / HTTP/1.1\r\nHost: a\r\n") + field + "\r\n", true, text));
    CHECK(text.ends_with(body));
  }
}

CONFORMANCE_ON(sim,
               "https: an idle connection that makes room for another one ends with close_notify") {
  https h(echo_body, {.connections = 1});
  h.run([](https& s) -> task<> {
    ip::tcp::socket socket(s.ctx);
    auto connected = co_await socket.async_connect(s.server.endpoint());
    CHECK(!connected.error());
    tls::stream idle(std::move(socket), both_contexts::get().trust, "example.com");
    beck::ignore(
        co_await async_write(idle, beck::buffer("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 28)));
    char part[1000];
    auto response = co_await idle.async_read_some(beck::buffer(part));
    CHECK(!response.error());
    beck::steady_timer timer(s.ctx, 2s);
    beck::ignore(co_await timer.async_wait());
    std::string body;
    co_await get(s, "/y", body);
    CHECK(body == "/y");
    auto end = co_await idle.async_read_some(beck::buffer(part));
    CHECK(end.error() == beck::error::eof);
  }(h));
  CHECK(h.server.stats().evicted == 1);
}

CONFORMANCE_ON(kernel, "https: files are served") {
  const file_place place(where);
  const std::string large = pattern(300'000);
  std::ofstream(place.path("large.bin")) << large;
  https h(http::static_files(place.path("")));
  std::string body;
  h.run(get(h, "/large.bin", body));
  CHECK((body == large));
  h.run(get(h, "/large.bin", body));
  CHECK((body == large));
}

CONFORMANCE("https: a handler takes the stream over, and speaks its own protocol over TLS") {
  https h([](http::request&, http::response& r) -> task<> {
    r.set(http::field::upgrade, "shout");
    auto taken = co_await r.take_over();
    if (!taken) co_return;
    http::tunnel tunnel = std::move(taken).value();
    char part[100];
    const beck::mutable_buffer room(part, sizeof part);
    auto got = co_await tunnel.stream().read_some(room);
    for (std::size_t i = 0; i < got.value_; ++i) part[i] = static_cast<char>(part[i] - 32);
    const beck::const_buffer answer(part, got.value_);
    beck::ignore(co_await tunnel.stream().write_some(beck::const_buffer_span(&answer, 1)));
    beck::ignore(co_await tunnel.stream().finish());
    beck::ignore(co_await tunnel.stream().read_some(room));
  });
  h.run([](https& s) -> task<> {
    http::call call(s.web, http::method::get, s.url("/"));
    call.upgrade("shout");
    auto got = co_await call.async_finish();
    CHECK(!got.error());
    if (!got) co_return;
    http::client_response response = std::move(got).value();
    http::taken_stream taken = response.take_over();
    const beck::const_buffer text("abc", 3);
    beck::ignore(co_await taken.stream->write_some(beck::const_buffer_span(&text, 1)));
    char part[10];
    auto back = co_await taken.stream->read_some(beck::mutable_buffer(part, sizeof part));
    CHECK(std::string(part, back.value_) == "ABC");
    auto end = co_await taken.stream->read_some(beck::mutable_buffer(part, sizeof part));
    CHECK(end.error() == beck::error::eof);
  }(h));
}

CONFORMANCE("https: pipelined responses before the end of the connection are whole") {
  https s([](http::request&, http::response& r) { r.send(std::string(2000, 'r')); });
  for (const int count : {1, 31, 32, 33, 40}) {
    CAPTURE(count);
    std::size_t got = 0;
    error_code end;
    s.run([](https& site, int asked, std::size_t& bytes, error_code& why) -> task<> {
      const auto port = site.server.endpoint().port();
      const beck::any_io_executor on = site.ctx.get_executor();
      auto transport = co_await ip::connect_stream(on, std::string("127.0.0.1"), port);
      auto shaking = both_contexts::get().trust.connect(std::move(transport).value(), "127.0.0.1");
      auto made = co_await std::move(shaking);
      REQUIRE(!made.error());
      const beck::owned_stream to = std::move(made).value();
      std::string requests;
      for (int i = 1; i < asked; ++i) requests += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
      requests += "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
      const beck::const_buffer part(requests.data(), requests.size());
      beck::ignore(co_await to->write_some(beck::const_buffer_span(&part, 1)));
      while (!why) {
        char room[4096];
        auto one = co_await to->read_some(beck::mutable_buffer(room, sizeof room));
        bytes += one.value_;
        why = one.error();
      }
    }(s, count, got, end));
    CHECK(got > static_cast<std::size_t>(count) * 2000);
    CHECK(end == beck::error::eof);
  }
}
