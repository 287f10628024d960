// SPDX-License-Identifier: BSL-1.0
// Layers between a server and its sockets: handshakes that fail, that take too long, that are cut
// by the end; the side of a client. That requests and responses pass through a layer is tested by
// the files that include both_streams.hpp.
#include <beck/io/stream_layer.hpp>

#include <beck/coro/this_coro.hpp>
#include <beck/coro/within.hpp>
#include <beck/http/server.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/socket_stream.hpp>

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>

#include "http/masked_layer.hpp"
#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// A server with a layer, and peers that do not know of it.
struct with_layer {
  explicit with_layer(const http::limits& bounds = http::limits()) : s(say_path, bounds) {}

  /// Connects, sends `text` as it is, and receives until the end.
  peer& start(std::string text) {
    peer& made = s.peers.emplace_back(s.ctx);
    co_spawn(s.ctx, talk(made, std::move(text)), beck::detached);
    return made;
  }

  struct switch_on {
    switch_on() { layered = true; }
    ~switch_on() { layered = false; }
  } on;
  served s;

 private:
  task<> talk(peer& one, std::string text) {
    auto connected = co_await one.socket.async_connect(s.server.endpoint());
    one.end = connected.error();
    auto sent = co_await beck::async_write(one.socket, beck::buffer(text));
    if (!one.end) one.end = sent.error();
    char part[100];
    while (!one.end) {
      auto got = co_await one.socket.async_read_some(beck::buffer(part));
      one.received.append(part, got.value_);
      one.end = got.error();
    }
    one.done = true;
    one.socket.close();
  }
};

}  // namespace

CONFORMANCE("http layer: a handshake that fails closes the connection, and is counted") {
  with_layer t;
  peer& other = t.start(get("/"));
  t.s.run_until([&] { return other.done; });
  CHECK(other.received.empty());
  peer& leaves = t.start("MA");
  leaves.socket.close();
  t.s.run_until([&] { return t.s.server.stats().handshakes_failed >= 1; });
  t.s.run_until([&] { return t.s.server.stats().connections == 0; });
  CHECK(t.s.server.stats().exchanges == 0);
  peer& good = t.s.start(last_get("/a"));
  t.s.run_until([&] { return good.done; });
  CHECK(good.responses().at(0).body == "/a");
}

CONFORMANCE("http layer: a handshake that takes too long is closed, whether it has begun or not") {
  with_layer t({.handshake_timeout = beck::duration(2'000'000)});
  const peer& silent = t.start("");
  const peer& half = t.start("MAS");
  t.s.run_until([&] { return silent.done && half.done; });
  t.s.run_until([&] { return t.s.server.stats().connections == 0; });
  CHECK(t.s.server.stats().handshakes_failed == 2);
  CHECK(silent.received.empty());
}

CONFORMANCE("http layer: at the limit of connections a handshake makes room") {
  with_layer t({.connections = 1});
  const peer& half = t.start("MAS");
  t.s.run_until([&] { return t.s.server.stats().connections == 1; });
  mask out;
  const peer& whole = t.start(std::string(mask_question) + out.of(last_get("/a")));
  t.s.run_until([&] { return half.done && whole.done; });
  CHECK(half.received.empty());
  CHECK(whole.received.size() > mask_answer.size());
  CHECK(t.s.server.stats().evicted == 1);
  CHECK(t.s.server.stats().exchanges == 1);
}

CONFORMANCE("http layer: at the limit of handshakes the oldest one makes room") {
  with_layer t({.handshakes = 2});
  const auto start_whole = [&]() -> const peer& {
    mask out;
    return t.start(std::string(mask_question) + out.of(last_get("/a")));
  };
  for (int i = 0; i < 2; ++i) {  // handshakes that have ended do not count
    const peer& before = start_whole();
    t.s.run_until([&] { return before.done; });
  }
  const peer& first = t.start("MAS");
  t.s.run_until([&] { return t.s.server.stats().accepted == 3; });
  const peer& second = t.start("MAS");
  t.s.run_until([&] { return t.s.server.stats().accepted == 4; });
  const peer& whole = start_whole();
  t.s.run_until([&] { return first.done && whole.done; });
  CHECK(whole.received.size() > mask_answer.size());
  CHECK(first.received.empty());
  CHECK(!second.done);
  CHECK(t.s.server.stats().handshakes_failed == 1);
  CHECK(t.s.server.stats().evicted == 0);
  CHECK(t.s.server.stats().exchanges == 3);
}

CONFORMANCE("http layer: connections that make room count until they have gone") {
  /// Never begins a handshake, and needs a millisecond to end.
  class slow final : public beck::stream_layer {
    task<beck::io_result<beck::owned_stream>> accept(beck::owned_stream carrier) override {
      const beck::any_io_executor here = co_await beck::this_coro::executor;
      beck::steady_timer timer(here, beck::duration(1'000'000));
      beck::ignore(co_await carrier->receive());
      beck::ignore(co_await beck::shield(timer.async_wait()));
      co_return beck::io_result<beck::owned_stream>(beck::error::operation_aborted, {});
    }
    task<beck::io_result<beck::owned_stream>> connect(beck::owned_stream,
                                                      std::string_view) override {
      co_return beck::io_result<beck::owned_stream>(beck::error::operation_aborted, {});
    }
  } layer;
  beck::io_context ctx(context_options());
  http::server server(say_path, {.connections = 2});
  const ip::tcp::endpoint any_port(ip::address_v4::loopback(), 0);
  for (int i = 0; i < 3; ++i) server.listen(any_port, layer);  // each accepts for itself
  co_spawn(ctx, server.serve(), beck::detached);
  while (server.endpoint(2).port() == 0) ctx.poll();
  std::deque<ip::tcp::socket> peers;
  for (unsigned i = 0; i < 9; ++i)
    peers.emplace_back(ctx).async_connect(server.endpoint(i % 3), [](error_code) {});
  std::uint64_t most = 0;
  while (server.stats().accepted < 9) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
    most = std::max(most, server.stats().connections);
  }
  CHECK(most == 2);
  CHECK(server.stats().evicted == 7);
}

namespace {

/// Hands on the bytes of the handshake when its socket is closed.
class late_stream final : public beck::byte_stream {
 public:
  late_stream(beck::owned_stream carrier, beck::io_result<beck::buffer_lease> got, int& handed_on)
      : carrier_(std::move(carrier)), got_(std::move(got)), handed_on_(handed_on) {}
  task<beck::io_result<beck::buffer_lease>> receive() override {
    const beck::any_io_executor here = co_await beck::this_coro::executor;
    beck::steady_timer timer(here);
    while (carrier_->socket().is_open()) {
      timer.expires_after(beck::duration(100'000));
      beck::ignore(co_await beck::shield(timer.async_wait()));
    }
    handed_on_ += got_.error() ? 0 : 1;
    co_return std::move(got_);
  }
  task<beck::io_result<std::size_t>> read_some(beck::mutable_buffer to) override {
    return carrier_->read_some(to);
  }
  task<beck::io_result<std::size_t>> write_some(beck::const_buffer_span parts) override {
    return carrier_->write_some(parts);
  }
  std::size_t write_now(beck::const_buffer_span parts, error_code& ec) noexcept override {
    return carrier_->write_now(parts, ec);
  }
  task<beck::io_result<>> finish() override { return carrier_->finish(); }
  beck::detail::stream_object& socket() noexcept override { return carrier_->socket(); }
  bool is_plain() const noexcept override { return true; }

 private:
  beck::owned_stream carrier_;
  beck::io_result<beck::buffer_lease> got_;
  int& handed_on_;
};

/// Waits for the request in the handshake: the idle time of the connection begins behind it.
class late_layer final : public beck::stream_layer {
 public:
  explicit late_layer(int& handed_on) : handed_on_(handed_on) {}

 private:
  task<beck::io_result<beck::owned_stream>> accept(beck::owned_stream carrier) override {
    auto got = co_await carrier->receive();
    beck::owned_stream made(new late_stream(std::move(carrier), std::move(got), handed_on_));
    co_return beck::io_result<beck::owned_stream>(error_code(), std::move(made));
  }
  task<beck::io_result<beck::owned_stream>> connect(beck::owned_stream, std::string_view) override {
    co_return beck::io_result<beck::owned_stream>(beck::error::operation_aborted, {});
  }

  int& handed_on_;
};

}  // namespace

CONFORMANCE(
    "http layer: a request whose connection is lost while it is on its way is not handled") {
  int handed_on = 0;
  late_layer layer(handed_on);
  beck::io_context ctx(context_options());
  int handled = 0;
  http::server server([&](http::request&, http::response& r) { ++handled, r.send("too late"); },
                      {.idle_timeout = beck::duration(2'000'000)});
  server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0), layer);
  co_spawn(ctx, server.serve(), beck::detached);
  while (server.endpoint().port() == 0) ctx.poll();
  const std::string text = get("/");
  ip::tcp::socket peer(ctx);
  peer.async_connect(server.endpoint(), [&](error_code) {
    async_write(peer, beck::buffer(text), [](error_code, std::size_t) {});
  });
  while (handed_on == 0 || server.stats().connections != 0) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
  }
  CHECK(handled == 0);
  CHECK(server.stats().exchanges == 0);
}

CONFORMANCE("http layer: the first request may come with the last message of the handshake") {
  with_layer t;
  mask out, in;
  peer& one = t.start(std::string(mask_question) + out.of(get("/a") + last_get("/b")));
  t.s.run_until([&] { return one.done; });
  REQUIRE(one.received.substr(0, mask_answer.size()) == mask_answer);
  const auto all = responses_in(in.of(one.received.substr(mask_answer.size())));
  REQUIRE(all.size() == 2);
  CHECK(all[0].body == "/a");
  CHECK(all[1].body == "/b");
  CHECK(t.s.server.stats().handshakes_failed == 0);
}

CONFORMANCE("http layer: handshakes that outlast the grace are cut, and serve() ends") {
  with_layer t({.handshake_timeout = beck::duration(3'600'000'000'000)});
  const peer& half = t.start("MAS");
  t.s.run_until([&] { return t.s.server.stats().connections == 1; });
  t.s.stop(beck::duration(1'000'000));
  t.s.run_until([&] { return half.done; });
  CHECK(t.s.server.stats().connections == 0);
  CHECK(t.s.server.stats().handshakes_failed == 1);
}

CONFORMANCE("http layer: a context is destroyed in the middle of a handshake") {
  with_layer t;
  t.start("MAS");
  t.s.run_until([&] { return t.s.server.stats().connections == 1; });
  for (int i = 0; i < 20; ++i) t.s.ctx.poll();
  CHECK(t.s.server.stats().handshakes_failed == 0);
}

CONFORMANCE("http layer: a layer that throws fails like any other, and one may lack a stream") {
  class broken final : public beck::stream_layer {
   public:
    task<beck::io_result<beck::owned_stream>> accept(beck::owned_stream carrier) override {
      if (++calls_ == 1) throw std::runtime_error("no");
      beck::owned_stream none = std::move(carrier);
      none = beck::owned_stream();
      co_return beck::io_result<beck::owned_stream>(error_code(), std::move(none));
    }
    task<beck::io_result<beck::owned_stream>> connect(beck::owned_stream,
                                                      std::string_view) override {
      co_return beck::io_result<beck::owned_stream>();
    }

   private:
    int calls_ = 0;
  } layer;
  served plain(say_path);
  http::server server(say_path);
  server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0), layer);
  server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  server.serve().start(plain.ctx, [](std::exception_ptr) {});
  while (server.endpoint(1).port() == 0) plain.ctx.poll();
  for (std::uint64_t failed = 1; failed <= 2; ++failed) {
    ip::tcp::socket one(plain.ctx);
    one.async_connect(server.endpoint(0), [](error_code) {});
    plain.run_until([&] { return server.stats().handshakes_failed == failed; });
  }
  ip::tcp::socket beside(plain.ctx);  // an endpoint without a layer
  std::string text = last_get("/x"), got(200, ' ');
  std::size_t bytes = 0;
  beside.async_connect(server.endpoint(1), [](error_code) {});
  beck::async_write(beside, beck::buffer(text), [](error_code, std::size_t) {});
  beside.async_read_some(beck::buffer(got), [&](error_code, std::size_t n) { bytes = n; });
  plain.run_until([&] { return bytes != 0; });
  CHECK(has(got, "200 OK"));
}

CONFORMANCE("http layer: a client makes its side of the layer with the name of its peer") {
  with_layer t;
  std::string received;
  error_code refused;
  bool done = false;
  co_spawn(
      t.s.ctx,
      [](served& s, std::string& text, error_code& without_name) -> task<> {
        ip::tcp::socket socket(s.ctx);
        beck::ignore(co_await socket.async_connect(s.server.endpoint()));
        auto made = co_await s.layer.connect(
            beck::owned_stream(new beck::socket_stream(std::move(socket))), "example.com");
        beck::owned_stream stream = std::move(made).value();
        const std::string asked = last_get("/client");
        const beck::const_buffer part(asked.data(), asked.size());
        auto sent = co_await stream->write_some(beck::const_buffer_span(&part, 1));
        CHECK(sent.value_ == asked.size());
        for (;;) {
          auto got = co_await stream->receive();
          if (got.error()) break;
          const beck::buffer_lease lease = std::move(got).value();
          text.append(lease.data(), lease.size());
        }
        CHECK(!stream->is_plain());
        auto second = co_await s.layer.connect(beck::owned_stream(), "");
        without_name = second.error();
      }(t.s, received, refused),
      [&](std::exception_ptr) { done = true; });
  t.s.run_until([&] { return done; });
  CHECK(responses_in(received).at(0).body == "/client");
  CHECK(refused == std::errc::invalid_argument);
}
