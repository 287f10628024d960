// SPDX-License-Identifier: BSL-1.0
// Connecting over TCP: who opens the socket, what a refusal leaves behind, what may be started
// meanwhile.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "support/connecting.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::deaf_port;
using beck::test::loopback_v4;
using beck::test::loopback_v6;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

CONFORMANCE("async_connect opens a closed socket for the family of the endpoint") {
  beck::io_context ctx(context_options());
  for (const tcp::endpoint& at : {loopback_v4(), loopback_v6()}) {
    tcp::acceptor acceptor(ctx, at);
    tcp::socket client(ctx);
    outcome connected;
    CHECK_FALSE(client.is_open());
    client.async_connect(acceptor.local_endpoint(), note(connected));
    CHECK(client.is_open());
    beck::test::run_all(ctx);
    CHECK(connected.ok());
    CHECK(client.local_endpoint().is_v4() == at.is_v4());
  }
}

CONFORMANCE("a connect to a port where nobody listens gives connection_refused") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx);
  tcp::socket client(ctx);
  outcome connected;
  client.async_connect(nobody, note(connected));
  CHECK(connected.calls == 0);
  beck::test::run_all(ctx);
  CHECK(connected.ended_with(error::connection_refused));
  error_code ec;
  client.remote_endpoint(ec);
  CHECK(ec == error::not_connected);
}

CONFORMANCE("a socket whose connect was refused may be closed and connect elsewhere") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  outcome refused;
  client.async_connect(nobody, note(refused));
  beck::test::run_all(ctx);
  CHECK(refused.ec == error::connection_refused);
  client.close();
  outcome connected;
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(connected.ok());
  CHECK(client.remote_endpoint() == acceptor.local_endpoint());
}

CONFORMANCE("a coroutine sees a refused connect as a result, not as an exception") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx);
  tcp::socket client(ctx);
  error_code seen;
  auto connect = [&]() -> beck::task<> {
    auto connected = co_await client.async_connect(nobody);
    seen = connected.error();
  };
  beck::co_spawn(ctx, std::move(connect), beck::detached);
  beck::test::run_all(ctx);
  CHECK(seen == error::connection_refused);
}

CONFORMANCE("a connect on a connected socket gives already_connected and leaves it connected") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  const tcp::endpoint peer = c.client.remote_endpoint();
  outcome again;
  c.client.async_connect(peer, note(again));
  beck::test::run_all(ctx);
  CHECK(again.ended_with(error::already_connected));
  CHECK(c.client.remote_endpoint() == peer);
}

CONFORMANCE("a second connect waits for the first and then finds the socket connected") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  outcome first;
  outcome second;
  client.async_connect(acceptor.local_endpoint(), note(first));
  client.async_connect(acceptor.local_endpoint(), note(second));
  beck::test::run_all(ctx);
  CHECK(first.ok());
  CHECK(second.ended_with(error::already_connected));
}

CONFORMANCE("a write started while connecting goes out when the connection stands") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome connected;
  outcome sent;
  outcome accepted;
  outcome received;
  char got[7] = {};
  acceptor.async_accept(server, note(accepted));
  client.async_connect(acceptor.local_endpoint(), note(connected));
  async_write(client, buffer("at once", 7), note(sent));
  REQUIRE(beck::test::run_until(ctx, accepted));
  async_read(server, buffer(got), note(received));
  beck::test::run_all(ctx);
  CHECK(connected.ok());
  CHECK(sent.ok());
  CHECK(received.ok());
  CHECK(std::memcmp(got, "at once", 7) == 0);
}

CONFORMANCE("a read started while connecting gets what the peer sends") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome connected;
  outcome received;
  outcome accepted;
  outcome sent;
  char got[5] = {};
  acceptor.async_accept(server, note(accepted));
  client.async_connect(acceptor.local_endpoint(), note(connected));
  async_read(client, buffer(got), note(received));
  REQUIRE(beck::test::run_until(ctx, accepted));
  async_write(server, buffer("hello", 5), note(sent));
  beck::test::run_all(ctx);
  CHECK(connected.ok());
  CHECK(received.ok());
  CHECK(std::memcmp(got, "hello", 5) == 0);
}

CONFORMANCE("a socket bound before it connects keeps its local endpoint") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx, loopback_v4());
  const tcp::endpoint mine = client.local_endpoint();
  CHECK(mine.port() != 0);
  outcome connected;
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(connected.ok());
  CHECK(client.local_endpoint() == mine);
}

CONFORMANCE("an IPv4 socket refuses an IPv6 endpoint") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v6());
  tcp::socket client(ctx, tcp::v4());
  outcome connected;
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(connected.ended_with(error::address_family_not_supported));
}

CONFORMANCE("a connect that is closed at once ends with operation_aborted, in its own time") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  outcome connected;
  bool inside = false;
  beck::post(ctx, [&] {
    client.async_connect(acceptor.local_endpoint(), note(connected));
    client.close();
    CHECK_FALSE(client.is_open());
    inside = connected.done();
  });
  beck::test::run_all(ctx);
  CHECK_FALSE(inside);
  CHECK(connected.aborted());
}

CONFORMANCE("sockets whose connects were closed leave no descriptor behind") {  // S13
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket probe(ctx, tcp::v4());
  const int before = probe.native_handle();
  probe.close();
  for (int i = 0; i < 20; ++i) {
    tcp::socket client(ctx);
    outcome connected;
    client.async_connect(acceptor.local_endpoint(), note(connected));
    if (i % 2 == 0) beck::test::let_settle(ctx);
    client.close();
    beck::test::run_all(ctx);
    CHECK(connected.calls == 1);
  }
  probe.open(tcp::v4());
  CHECK(probe.native_handle() == before);  // the lowest free number, as it was
}

CONFORMANCE(
    "a connect that the peer's full backlog delays is cancelled, and the socket still works") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx);
  acceptor.open(tcp::v4());
  acceptor.bind(loopback_v4());
  acceptor.listen(0);
  std::vector<tcp::socket> holders;
  outcome stuck;
  for (int i = 0; i < 8 && !stuck.done(); ++i) {  // a backlog of 0 takes one or two
    outcome connected;
    tcp::socket& next = holders.emplace_back(ctx);
    next.async_connect(acceptor.local_endpoint(), note(connected));
    beck::test::let_settle(ctx);
    if (connected.done()) continue;
    next.cancel();
    beck::test::run_all(ctx);
    CHECK(connected.aborted());
    CHECK(next.is_open());
    stuck = connected;
  }
  CHECK(stuck.done());
}

CONFORMANCE("a connect that hangs is ended by close, with no descriptor left") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx);
  acceptor.open(tcp::v4());
  acceptor.bind(loopback_v4());
  acceptor.listen(0);
  std::vector<tcp::socket> holders;
  int hung = 0;
  for (int i = 0; i < 8 && hung < 2; ++i) {
    outcome connected;
    tcp::socket next(ctx);
    next.async_connect(acceptor.local_endpoint(), note(connected));
    beck::test::let_settle(ctx);
    if (connected.done()) {
      holders.push_back(std::move(next));
      continue;
    }
    ++hung;
    const int fd = next.native_handle();
    next.close();
    beck::test::run_all(ctx);
    CHECK(connected.aborted());
    tcp::socket reuse(ctx, tcp::v4());
    CHECK(reuse.native_handle() == fd);
  }
  CHECK(hung == 2);
}

CONFORMANCE("a synchronous connect to a port where nobody listens throws connection_refused") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx);
  tcp::socket client(ctx);
  error_code ec;
  client.connect(nobody, ec);
  CHECK(ec == error::connection_refused);
  tcp::socket other(ctx);
  CHECK_THROWS_AS(other.connect(nobody), beck::io_error);
}

CONFORMANCE("a port that is out of range is refused before any socket sees it") {
  error_code ec;
  CHECK(beck::ip::make_port(65535, ec) == 65535);
  CHECK(!ec);
  CHECK(beck::ip::make_port(65536, ec) == 0);
  CHECK(ec == error::invalid_argument);
  try {
    beck::ip::make_port(-1);
    CHECK(false);
  } catch (const beck::io_error& refused) {
    CHECK(std::string(refused.what()).find("-1") != std::string::npos);
    CHECK(std::string(refused.what()).find("65535") != std::string::npos);
  }
}

namespace {

/// Starts a connect and cancels it before anybody has asked for its outcome.
outcome connect_and_cancel(beck::io_context& ctx, tcp::socket& socket, const tcp::endpoint& to) {
  outcome first;
  post(ctx, [&] {
    socket.async_connect(to, note(first));
    socket.cancel();
  });
  beck::test::run_all(ctx);
  return first;
}

}  // namespace

CONFORMANCE("a connect after a cancelled one that stands does not succeed with the wrong peer") {
  for (const bool synchronous : {false, true}) {
    beck::io_context ctx(context_options());
    tcp::acceptor first(ctx, loopback_v4()), second(ctx, loopback_v4());
    tcp::socket socket(ctx, tcp::v4());
    REQUIRE(connect_and_cancel(ctx, socket, first.local_endpoint()).aborted());
    beck::test::let_arrive(ctx);
    if (synchronous) {
      error_code ec;
      socket.connect(second.local_endpoint(), ec);
      CHECK(ec == error::already_connected);
    } else {
      outcome connected;
      socket.async_connect(second.local_endpoint(), note(connected));
      beck::test::run_all(ctx);
      CHECK(connected.ended_with(error::already_connected));
    }
    socket.close();  // the way out
    outcome connected;
    socket.async_connect(second.local_endpoint(), note(connected));
    beck::test::run_all(ctx);
    CHECK(connected.ok());
    CHECK(socket.remote_endpoint() == second.local_endpoint());
  }
}

CONFORMANCE("a connect to where a cancelled one has come to succeeds") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket socket(ctx, tcp::v4());
  REQUIRE(connect_and_cancel(ctx, socket, acceptor.local_endpoint()).aborted());
  beck::test::let_arrive(ctx);
  outcome connected;
  socket.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(connected.ok());
  outcome again;
  socket.async_connect(acceptor.local_endpoint(), note(again));
  beck::test::run_all(ctx);
  CHECK(again.ended_with(error::already_connected));
}

CONFORMANCE("a connect after a cancelled one that was refused goes where it should") {
  for (const bool synchronous : {false, true}) {
    beck::io_context ctx(context_options());
    const deaf_port nobody(ctx);
    tcp::acceptor acceptor(ctx, loopback_v4());
    tcp::socket socket(ctx, tcp::v4());
    REQUIRE(connect_and_cancel(ctx, socket, nobody).aborted());
    beck::test::let_arrive(ctx);
    error_code ec;
    if (synchronous) {
      socket.connect(acceptor.local_endpoint(), ec);
    } else {
      outcome connected;
      socket.async_connect(acceptor.local_endpoint(), note(connected));
      beck::test::run_all(ctx);
      ec = connected.ec;
    }
    CHECK(ec == error_code());
    CHECK(socket.remote_endpoint(ec) == acceptor.local_endpoint());
  }
}

CONFORMANCE("a connect beside one that is still under way gives already_started at once") {
  for (const int threads : {1, 2}) {
    if (threads == 2 && where == beck::test::on_uring) continue;
    beck::io_context ctx(context_options({.threads = threads}));
    tcp::acceptor full(ctx), other(ctx, loopback_v4());
    full.open(tcp::v4());
    full.bind(loopback_v4());
    full.listen(0);
    std::vector<tcp::socket> holders;
    bool hung = false;
    for (int i = 0; i < 8 && !hung; ++i) {  // a backlog of 0 takes one or two
      outcome connected;
      tcp::socket& next = holders.emplace_back(ctx);
      next.async_connect(full.local_endpoint(), note(connected));
      beck::test::let_settle(ctx);
      beck::test::let_arrive(ctx);
      if (connected.done()) continue;
      hung = true;
      next.cancel();
      beck::test::run_all(ctx);
      REQUIRE(connected.aborted());
      outcome again;
      next.async_connect(other.local_endpoint(), note(again));
      beck::test::let_settle(ctx);
      beck::test::let_settle(ctx);
      CHECK(again.ended_with(error::already_started));
      error_code ec;
      next.connect(other.local_endpoint(), ec);
      CHECK(ec == error::already_started);
      next.close();
      outcome fresh;
      next.async_connect(other.local_endpoint(), note(fresh));
      ctx.restart();
      ctx.run_for(beck::duration(2'000'000'000));
      CHECK(fresh.ok());
    }
    CHECK(hung);
  }
}

CONFORMANCE("a connect that waits behind a cancelled one is tried") {
  beck::io_context ctx(context_options());
  tcp::acceptor first(ctx, loopback_v4()), second(ctx, loopback_v4());
  tcp::socket socket(ctx, tcp::v4());
  beck::cancellation_signal signal;
  outcome cancelled, connected;
  post(ctx, [&] {
    socket.async_connect(first.local_endpoint(),
                         bind_cancellation_slot(signal.slot(), note(cancelled)));
    socket.async_connect(second.local_endpoint(), note(connected));
    signal.emit(beck::cancellation_type::terminal);
  });
  beck::test::run_all(ctx);
  CHECK(cancelled.aborted());
  CHECK((connected.ended_with(error::already_connected) ||
         connected.ended_with(error::already_started)));
}
