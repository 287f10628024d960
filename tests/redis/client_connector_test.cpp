// SPDX-License-Identifier: BSL-1.0
// The client over a connector and streams of the program's own, which see its writes.
#include <beck/redis/connector.hpp>

#include <beck/net/connect_stream.hpp>

#include <memory>
#include <ostream>
#include <string>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "redis/client_site.hpp"
#include "redis/plain_layer.hpp"

using namespace beck::redis::test;

namespace {

/// The calls that the streams of a connector have seen.
struct sightings {
  int connects = 0;
  int writing = 0;  // write_some() under way
  int closes = 0;
  int socket = -1;     // the last one
  bool fails = false;  // writes do
};

/// A stream over another one.
class watched_stream final : public beck::byte_stream {
 public:
  watched_stream(beck::any_io_executor on, beck::owned_stream carrier,
                 std::shared_ptr<sightings> seen)
      : on_(std::move(on)), carrier_(std::move(carrier)), seen_(std::move(seen)) {}

  task<beck::io_result<beck::buffer_lease>> receive() override { return carrier_->receive(); }
  task<beck::io_result<std::size_t>> read_some(beck::mutable_buffer to) override {
    return carrier_->read_some(to);
  }
  task<beck::io_result<std::size_t>> write_some(beck::const_buffer_span parts) override {
    ++seen_->writing;
    auto writing = carrier_->write_some(parts);
    auto wrote = co_await std::move(writing);
    for (int i = 0; i < 10; ++i) co_await beck::post(on_);  // a layer may need its time
    --seen_->writing;
    co_return wrote;
  }
  std::size_t write_now(beck::const_buffer_span parts, beck::error_code& ec) noexcept override {
    if (seen_->fails) {
      ec = beck::error::broken_pipe;
      return 0;
    }
    return carrier_->write_now(parts, ec);
  }
  task<beck::io_result<>> finish() override { return carrier_->finish(); }
  void close() noexcept override {
    ++seen_->closes;
    carrier_->close();
  }
  beck::detail::stream_object& socket() noexcept override { return carrier_->socket(); }
  bool is_plain() const noexcept override { return false; }

 private:
  beck::any_io_executor on_;
  beck::owned_stream carrier_;
  const std::shared_ptr<sightings> seen_;  // a stream may outlive its connector
};

/// Waits for ever.
class stuck_connector final : public redis::connector {
 public:
  task<beck::io_result<beck::owned_stream>> connect(beck::any_io_executor on) override {
    beck::io_result<beck::owned_stream> result;
    beck::steady_timer timer(on, beck::duration::max());
    auto waited = co_await timer.async_wait();
    result.error_ = waited.error();
    co_return result;
  }
};

/// Connects to a server, or fails as often as it is asked to.
class own_connector final : public redis::connector {
 public:
  explicit own_connector(std::uint16_t port) : port_(port) {}

  task<beck::io_result<beck::owned_stream>> connect(beck::any_io_executor on) override {
    beck::io_result<beck::owned_stream> result;
    ++seen->connects;
    if (failures > 0) {
      --failures;
      if (throws) throw beck::io_error(beck::error::host_unreachable);
      result.error_ = beck::error::host_unreachable;
      co_return result;
    }
    auto connecting = beck::ip::connect_stream(on, "127.0.0.1", port_);
    result = co_await std::move(connecting);
    if (result.error()) co_return result;
    seen->socket = result.value_->socket().native_handle();
    auto* const watched = new watched_stream(on, std::move(result.value_), seen);
    result.value_ = beck::owned_stream(watched);
    co_return result;
  }

  const std::shared_ptr<sightings> seen = std::make_shared<sightings>();
  int failures = 0;
  bool throws = false;

 private:
  std::uint16_t port_;
};

/// A client that connects through an own_connector.
struct connector_site : client_site {
  connector_site() { make_client(); }
  ~connector_site() { db.reset(); }  // before its connector

  void make_client() {
    db.emplace(ctx, "redis://nowhere");
    db->connect_with(how);
  }
  /// Runs a command, over a new connection if there is none.
  void increment() {
    run([](redis::client& c) -> task<> {
      const auto n = co_await c.exec<long>("INCR", "n");
      CHECK(n);
    }(*db));
  }

  own_connector how{server.port()};
  sightings& seen = *how.seen;
};

}  // namespace

CONFORMANCE("redis client: a connector of the program makes the connections") {
  connector_site s;
  for (const bool throws : {false, true}) {
    s.how.failures = 2;
    s.how.throws = throws;
    s.seen = {};
    s.make_client();
    s.increment();
    CHECK(s.seen.connects == 3);
    CHECK(s.seen.closes == 0);
    s.db.reset();
    s.run_until([&] { return s.seen.closes != 0; });
    CHECK(s.seen.closes != 0);
  }
  CHECK(s.server.integer("n") == 2);
}

CONFORMANCE("redis client: a call whose bytes are being written ends behind that write") {
  connector_site s;
  s.increment();
  s.server.pause();
  const std::string large(8'000'000, 'x');  // more than the sockets hold
  int ended = 0;
  s.db->exec<void>("SET", "large", large)([&](beck::error_code ec, const redis::reply<void>& r) {
    CHECK(ec == beck::error::operation_aborted);
    CHECK(r.outcome() == redis::outcome::not_sent);
    CHECK(s.seen.writing == 0);
    ++ended;
  });
  REQUIRE(s.run_until([&] { return s.seen.writing == 1; }));
  s.db.reset();
  CHECK(ended == 0);
  REQUIRE(s.run_until([&] { return ended == 1; }));
}

CONFORMANCE("redis client: replies that are on their way are taken although a write has failed") {
  connector_site s;
  s.increment();
  s.server.pause();
  bool first = false;
  bool second = false;
  s.db->exec<long>("INCR", "n")([&](beck::error_code ec, const redis::reply<long>& r) {
    CHECK(!ec);
    CHECK(*r == 2);
    first = true;
  });
  REQUIRE(s.run_until([&] { return s.db->stats().in_flight == 1; }));
  s.seen.fails = true;
  s.db->exec<long>("INCR", "n")([&](beck::error_code ec, const redis::reply<long>& r) {
    CHECK(!ec);  // over the next connection
    CHECK(*r == 3);
    second = true;
  });
  s.wait(beck::duration(1'000'000));
  s.server.resume();
  REQUIRE(s.run_until([&] { return first; }));
  s.seen.fails = false;
  s.server.cut();
  REQUIRE(s.run_until([&] { return second; }));
  CHECK(s.db->stats().connections == 2);
}

CONFORMANCE("redis client: rediss connects through its layer, and not without one") {
  client_site s;
  const auto ask = [](redis::client& db) -> task<> {
    const auto n = co_await db.exec<long>("INCR", "n");
    CHECK(*n == 1);
  };
  plain_layer layer;
  s.db.emplace(s.ctx, "rediss://" + s.address());
  s.db->secure(layer);
  s.run(ask(*s.db));
  CHECK(layer.peers.back() == "127.0.0.1");
  s.db.emplace(s.ctx, "rediss://" + s.address(), redis::client_options{.fails_fast = true});
  s.run([](redis::client& db) -> task<> {
    const auto n = co_await db.exec<long>("INCR", "n");
    CHECK(n.error() == std::errc::protocol_not_supported);
    CHECK(n.outcome() == redis::outcome::not_sent);
  }(*s.db));
  CHECK(s.server.integer("n") == 1);
}

CONFORMANCE("redis lane: the client's connector and layer make its connections, too") {
  const auto pop_late = [](redis::client& db) -> task<> {
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto late =
        co_await beck::timeout(lane->exec<redis::value>("BLPOP", "q", 0), beck::duration(1));
    CHECK(late.error() == beck::error::timeout);
    CHECK(late.outcome() == redis::outcome::executed);
    const auto n = co_await lane->exec<long>("INCR", "n");
    CHECK(n);
  };
  connector_site s;
  s.run(pop_late(*s.db));
  CHECK(s.seen.connects == 2);
  plain_layer layer;
  s.db.emplace(s.ctx, "rediss://" + s.address());
  s.db->secure(layer);
  s.run(pop_late(*s.db));
  CHECK(layer.peers.back() == "127.0.0.1");
}

CONFORMANCE_ON(beck::test::kernel, "redis lane: the kernel looks whether its peer is still there") {
  connector_site s;
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t bytes = sizeof value;
    CHECK(::getsockopt(s.seen.socket, level, name, &value, &bytes) == 0);
    return value;
  };
  s.increment();
  CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 0);
  redis::lane lane;
  s.run([](redis::client& db, redis::lane& to) -> task<> {
    auto taken = co_await db.lane();
    REQUIRE(taken);
    to = std::move(taken).value();
  }(*s.db, lane));
  CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(IPPROTO_TCP, TCP_KEEPIDLE) == 2);
  CHECK(option(IPPROTO_TCP, TCP_KEEPINTVL) == 2);
  CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == 10'000);
}

CONFORMANCE("redis client: an attempt to connect has a time limit") {
  client_site s;
  stuck_connector nowhere;
  s.db.emplace(
      s.ctx, "redis://nowhere",
      redis::client_options{.connect_timeout = beck::duration(5'000'000), .fails_fast = true});
  s.db->connect_with(nowhere);
  s.run([](redis::client& db) -> task<> {
    const auto n = co_await db.exec<long>("INCR", "n");
    CHECK(n.error() == beck::error::timeout);
    CHECK(n.outcome() == redis::outcome::not_sent);
  }(*s.db));
}
