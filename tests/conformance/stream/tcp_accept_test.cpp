// SPDX-License-Identifier: BSL-1.0
// Listening and accepting over TCP, on every backend.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/strand.hpp>

#include <cstring>
#include <ostream>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/manual_executor.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::loopback_v4;
using beck::test::loopback_v6;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

namespace {

/// A handler of async_accept that keeps what it is given.
struct accepted_socket {
  outcome got;
  std::vector<tcp::socket> sockets;

  auto handler() {
    return [this](const error_code& ec, tcp::socket socket) {
      note{got}(ec);
      sockets.push_back(std::move(socket));
    };
  }
};

}  // namespace

CONFORMANCE("an acceptor bound to port 0 listens on a port that the system chose") {
  beck::io_context ctx(context_options());
  tcp::acceptor first(ctx, loopback_v4());
  tcp::acceptor second(ctx, loopback_v4());
  CHECK(first.local_endpoint().port() != 0);
  CHECK(second.local_endpoint().port() != 0);
  CHECK(first.local_endpoint() != second.local_endpoint());
  CHECK(first.local_endpoint().address().is_loopback());
}

CONFORMANCE("both ends of a connection name the same two endpoints") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  CHECK(c.client.local_endpoint() == c.server.remote_endpoint());
  CHECK(c.client.remote_endpoint() == c.server.local_endpoint());
  CHECK(c.client.local_endpoint() != c.client.remote_endpoint());
  CHECK(c.client.local_endpoint().is_v4());
}

CONFORMANCE("a connection over IPv6 has IPv6 endpoints at both ends and carries bytes") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx, loopback_v6());
  CHECK(c.client.local_endpoint() == c.server.remote_endpoint());
  CHECK(c.client.remote_endpoint().is_v6());
  char got[3] = {};
  outcome sent;
  outcome received;
  async_write(c.client, buffer("six", 3), note(sent));
  async_read(c.server, buffer(got), note(received));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(received.ok());
  CHECK(std::memcmp(got, "six", 3) == 0);
}

CONFORMANCE("connections are accepted in the order in which they were made") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  std::vector<tcp::socket> clients;
  for (int i = 0; i < 4; ++i) {
    outcome connected;
    clients.emplace_back(ctx).async_connect(acceptor.local_endpoint(), note(connected));
    beck::test::run_all(ctx);
    REQUIRE(connected.ok());
  }
  for (tcp::socket& client : clients) {
    accepted_socket next;
    acceptor.async_accept(next.handler());
    REQUIRE(beck::test::run_until(ctx, next.got));
    CHECK(next.sockets.front().remote_endpoint() == client.local_endpoint());
  }
}

CONFORMANCE("several accepts in wait are served in the order of their start") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    acceptor.async_accept([&order, i](const error_code& ec, const tcp::socket&) {
      CHECK(!ec);
      order.push_back(i);
    });
  }
  beck::test::let_settle(ctx);
  CHECK(order.empty());
  std::vector<tcp::socket> clients;
  for (std::size_t i = 0; i < 3; ++i) {
    outcome connected;
    clients.emplace_back(ctx).async_connect(acceptor.local_endpoint(), note(connected));
    REQUIRE(beck::test::run_until(ctx, [&] { return connected.ok() && order.size() == i + 1; }));
  }
  CHECK(order == std::vector<int>{0, 1, 2});
}

CONFORMANCE("a connection made before the accept was started is accepted") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  outcome connected;
  outcome sent;
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  REQUIRE(connected.ok());
  async_write(client, buffer("early", 5), note(sent));
  beck::test::run_all(ctx);
  REQUIRE(sent.ok());

  accepted_socket late;
  acceptor.async_accept(late.handler());
  beck::test::run_all(ctx);
  REQUIRE(late.got.ok());
  char got[5] = {};
  outcome received;
  async_read(late.sockets.front(), buffer(got), note(received));
  beck::test::run_all(ctx);
  CHECK(received.bytes == 5);
  CHECK(std::memcmp(got, "early", 5) == 0);
}

CONFORMANCE("an accept that finds a connection at once does not call its handler inside the call") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  outcome connected;
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  accepted_socket next;
  bool checked = false;
  beck::post(ctx, [&] {  // on the runner, where an attempt succeeds inside the call
    acceptor.async_accept(next.handler());
    CHECK(next.got.calls == 0);
    checked = true;
  });
  beck::test::run_all(ctx);
  CHECK(checked);
  CHECK(next.got.ok());
}

CONFORMANCE("an accept into a socket of the caller's opens that socket") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome accepted;
  outcome connected;
  acceptor.async_accept(server, note(accepted));
  CHECK_FALSE(server.is_open());
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
  CHECK(server.is_open());
  CHECK(server.remote_endpoint() == client.local_endpoint());
}

CONFORMANCE("an accept into a socket that is open gives already_open and takes no connection") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  server.open(tcp::v4());
  const int before = server.native_handle();
  outcome connected;
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  outcome refused;
  acceptor.async_accept(server, note(refused));
  beck::test::run_all(ctx);
  CHECK(refused.ended_with(error::already_open));
  CHECK(server.native_handle() == before);

  accepted_socket next;  // the connection is still there
  acceptor.async_accept(next.handler());
  beck::test::run_all(ctx);
  CHECK(next.got.ok());
}

CONFORMANCE("an accept into a socket that was opened meanwhile gives already_open") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome accepted;
  acceptor.async_accept(server, note(accepted));
  beck::test::let_settle(ctx);
  server.open(tcp::v4());
  const int mine = server.native_handle();
  outcome connected;
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(accepted.ended_with(error::already_open));
  CHECK(server.native_handle() == mine);
}

CONFORMANCE("an accept may name another executor for the new socket") {
  beck::io_context ctx(context_options());
  beck::test::manual_queue queue;
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  accepted_socket next;
  outcome connected;
  acceptor.async_accept(beck::any_io_executor(queue.executor()), next.handler());
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  REQUIRE(next.got.ok());  // the accept itself completes on the acceptor's executor
  tcp::socket& server = next.sockets.front();
  CHECK(server.get_executor() == beck::any_io_executor(queue.executor()));

  outcome sent;
  server.async_write_some(buffer("x", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.calls == 0);
  CHECK(queue.run() == 1);
  CHECK(sent.ok());
}

CONFORMANCE("an accepted socket has the executor of its acceptor") {
  beck::io_context ctx(context_options());
  beck::test::manual_queue queue;
  beck::any_io_executor mine(queue.executor());
  tcp::acceptor acceptor(ctx, mine);
  acceptor.open(tcp::v4());
  acceptor.bind(loopback_v4());
  acceptor.listen();
  tcp::socket client(ctx);
  accepted_socket next;
  outcome connected;
  acceptor.async_accept(next.handler());
  client.async_connect(acceptor.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(next.got.calls == 0);
  CHECK(queue.run() == 1);
  REQUIRE(next.got.ok());
  CHECK(next.sockets.front().get_executor() == mine);
}

CONFORMANCE("a coroutine takes the accepted socket out of the result") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  std::size_t served = 0;
  auto serve = [&]() -> beck::task<> {
    auto accepted = co_await acceptor.async_accept();
    CHECK(static_cast<bool>(accepted));
    tcp::socket socket = std::move(accepted).value();
    char data[4];
    auto [ec, n] = co_await async_read(socket, buffer(data));
    CHECK(!ec);
    served = n;
  };
  beck::co_spawn(ctx, std::move(serve), beck::detached);
  auto talk = [&]() -> beck::task<> {
    auto connected = co_await client.async_connect(acceptor.local_endpoint());
    CHECK(static_cast<bool>(connected));
    beck::ignore(co_await async_write(client, buffer("ping", 4)));
  };
  beck::co_spawn(ctx, std::move(talk), beck::detached);
  beck::test::run_all(ctx);
  CHECK(served == 4);
}

CONFORMANCE("an accept on a socket that does not listen gives invalid_argument") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx);
  acceptor.open(tcp::v4());
  acceptor.bind(loopback_v4());
  accepted_socket next;
  acceptor.async_accept(next.handler());
  beck::test::run_all(ctx);
  CHECK(next.got.ended_with(error::invalid_argument));
  CHECK_FALSE(next.sockets.front().is_open());
}

CONFORMANCE("an acceptor on an address in use throws an io_error that names the call") {
  beck::io_context ctx(context_options());
  tcp::acceptor first(ctx, loopback_v4());
  bool thrown = false;
  try {
    tcp::acceptor second(ctx, first.local_endpoint());
  } catch (const beck::io_error& refused) {
    thrown = true;
    CHECK(refused.code() == error::address_in_use);
    CHECK(std::strlen(refused.operation()) != 0);
  }
  CHECK(thrown);
}

CONFORMANCE("a non-blocking acceptor without a connection gives would_block") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  acceptor.non_blocking(true);
  CHECK(acceptor.non_blocking());
  error_code ec;
  tcp::socket none = acceptor.accept(ec);
  CHECK(ec == error::would_block);
  CHECK_FALSE(none.is_open());
}

CONFORMANCE("a port is listened on again at once after its acceptor was closed") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  const tcp::endpoint at = acceptor.local_endpoint();
  for (int i = 0; i < 3; ++i) {
    accepted_socket next;
    outcome connected;
    tcp::socket client(ctx);
    acceptor.async_accept(next.handler());
    client.async_connect(at, note(connected));
    beck::test::run_all(ctx);
    REQUIRE(connected.ok());
    acceptor.close();
    CHECK_NOTHROW(acceptor = tcp::acceptor(ctx, at));
  }
}

CONFORMANCE("synchronous connect, accept, write and read need no running context") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  tcp::socket server = acceptor.accept();
  CHECK(server.remote_endpoint() == client.local_endpoint());
  CHECK(client.write_some(buffer("sync", 4)) == 4);
  char got[4];
  CHECK(beck::read(server, buffer(got)) == 4);
  CHECK(std::memcmp(got, "sync", 4) == 0);
  CHECK(ctx.stats().delivered == 0);
}

CONFORMANCE("an IPv6 acceptor takes IPv4 peers unless v6_only says otherwise") {
  beck::io_context ctx(context_options());
  for (const bool only : {false, true}) {
    tcp::acceptor acceptor(ctx);
    acceptor.open(tcp::v6());
    acceptor.set_option(beck::ip::v6_only(only));
    acceptor.bind(tcp::endpoint(tcp::v6(), 0));
    acceptor.listen();
    tcp::socket client(ctx);
    outcome connected;
    client.async_connect(loopback_v4(acceptor.local_endpoint().port()), note(connected));
    beck::test::run_all(ctx);
    CHECK(connected.calls == 1);
    CHECK(connected.ec == (only ? error_code(error::connection_refused) : error_code()));
  }
}

namespace {

/// Each of the forms of async_accept with a handler, one connection each.
struct forms {
  explicit forms(beck::io_context& context)
      : ctx(context), acceptor(context, loopback_v4()), strand(make_strand(context)) {}

  /// A client that connects, and everything that comes of it. Gives the client's endpoint.
  tcp::endpoint connect() {
    clients.emplace_back(ctx);
    clients.back().async_connect(acceptor.local_endpoint(), beck::detached);
    beck::test::run_all(ctx);
    return clients.back().local_endpoint();
  }
  tcp::socket take() {
    REQUIRE(accepted.got.ok());
    REQUIRE(accepted.sockets.size() == 1);
    tcp::socket socket(std::move(accepted.sockets.front()));
    accepted = accepted_socket();
    return socket;
  }

  beck::io_context& ctx;
  tcp::acceptor acceptor;
  beck::any_io_executor strand;
  std::vector<tcp::socket> clients;
  accepted_socket accepted;
};

}  // namespace

CONFORMANCE("an accept gives the peer's endpoint, in each of its forms") {
  beck::io_context ctx(context_options());
  forms f(ctx);
  tcp::endpoint peer;
  f.acceptor.async_accept(peer, f.accepted.handler());
  CHECK(f.connect() == peer);
  CHECK(f.take().remote_endpoint() == peer);
  f.acceptor.async_accept(f.strand, peer, f.accepted.handler());
  CHECK(f.connect() == peer);
  CHECK(f.take().get_executor() == f.strand);
  f.acceptor.async_accept(ctx, peer, f.accepted.handler());
  CHECK(f.connect() == peer);
  CHECK(f.take().get_executor() == ctx.get_executor());
  f.acceptor.async_accept(ctx, f.accepted.handler());
  f.connect();
  CHECK(f.take().is_open());
  tcp::socket into(ctx);
  outcome done;
  f.acceptor.async_accept(into, peer, note(done));
  CHECK(f.connect() == peer);
  CHECK(done.ok());
  CHECK(into.remote_endpoint() == peer);
  into.close();
  bool all = false;
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        auto one = co_await f.acceptor.async_accept(peer);
        CHECK(one->remote_endpoint() == peer);
        auto on_strand = co_await f.acceptor.async_accept(f.strand, peer);
        CHECK(on_strand->remote_endpoint() == peer);
        auto here = co_await f.acceptor.async_accept(ctx);
        CHECK(here->is_open());
        const auto kept = co_await f.acceptor.async_accept(into, peer);
        CHECK_FALSE(kept.error());
        CHECK(into.remote_endpoint() == peer);
        all = true;
      },
      beck::detached);
  for (int i = 0; i < 4; ++i) {
    f.clients.emplace_back(ctx);
    f.clients.back().async_connect(f.acceptor.local_endpoint(), beck::detached);
  }
  beck::test::run_all(ctx);
  CHECK(all);
}

CONFORMANCE_ON(beck::test::kernel, "an accept gives the endpoint of a peer that has reset it") {
  for (const bool waits : {true, false}) {
    beck::io_context ctx(context_options());
    forms f(ctx);
    const tcp::endpoint wanted = f.connect();
    f.clients.back().set_option(beck::socket_base::linger(true, 0));
    f.clients.clear();
    beck::test::run_all(ctx);
    tcp::endpoint peer;
    if (waits) f.acceptor.async_accept(peer, f.accepted.handler());
    beck::test::run_all(ctx);
    if (!waits) f.acceptor.accept(peer);
    CHECK(peer == wanted);
  }
}

CONFORMANCE("the synchronous forms of accept") {
  beck::io_context ctx(context_options());
  forms f(ctx);
  tcp::endpoint peer;
  error_code ec;
  for (int i = 0; i < 6; ++i) f.connect();
  CHECK(f.acceptor.accept(peer).remote_endpoint() == peer);
  CHECK(f.acceptor.accept(f.strand).get_executor() == f.strand);
  CHECK(f.acceptor.accept(ctx, ec).get_executor() == ctx.get_executor());
  CHECK(f.acceptor.accept(f.strand, peer, ec).remote_endpoint() == peer);
  tcp::socket into(ctx);
  f.acceptor.accept(into);
  CHECK(into.is_open());
  f.acceptor.accept(into, ec);
  CHECK(ec == error::already_open);  // and the connection stays for the next
  CHECK(f.acceptor.accept().is_open());
}

CONFORMANCE("an accept may give its socket to another context") {
  beck::io_context ctx(context_options());
  beck::io_context other(context_options());
  forms f(ctx);
  f.acceptor.async_accept(other, f.accepted.handler());
  f.connect();
  if (where == beck::test::on_sim) {  // where each has a world of its own
    CHECK(f.accepted.got.ended_with(error::operation_not_supported));
    return;
  }
  tcp::socket server = f.take();
  CHECK(server.get_executor() == other.get_executor());
  char byte = 0;
  outcome received;
  server.async_read_some(buffer(&byte, 1), note(received));
  beck::write(f.clients.back(), buffer("x", 1));
  CHECK(other.run() == 1);
  CHECK(received.ok());
  CHECK(byte == 'x');
}
