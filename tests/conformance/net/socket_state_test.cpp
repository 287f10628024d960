// SPDX-License-Identifier: BSL-1.0
// Sockets that are closed, moved from, opened twice, adopted and given up: a clear error
// everywhere, never a crash, and no descriptor that is not accounted for.
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <cstring>
#include <ostream>
#include <string>
#include <utility>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::loopback_v4;
using beck::test::note;
using beck::test::outcome;
namespace error = beck::error;

namespace {

using stream = beck::local::stream_protocol::socket;

/// Every synchronous call but open and connect, on a socket without a descriptor.
template <class Socket>
void check_calls_fail(Socket& socket) {
  error_code ec;
  char byte = 'x';
  CHECK_FALSE(socket.is_open());
  CHECK(socket.native_handle() == -1);
  const auto fails = [&ec](const char* call) {
    INFO(call);
    CHECK(ec == error::bad_descriptor);
    ec = error_code();
  };
  socket.bind(loopback_v4(), ec), fails("bind");
  socket.cancel(ec), fails("cancel");
  CHECK(socket.release(ec) == -1), fails("release");
  socket.non_blocking(true, ec), fails("non_blocking");
  socket.native_non_blocking(true, ec), fails("native_non_blocking");
  socket.set_option(tcp::no_delay(true), ec), fails("set_option");
  tcp::no_delay option;
  socket.get_option(option, ec), fails("get_option");
  socket.local_endpoint(ec), fails("local_endpoint");
  socket.remote_endpoint(ec), fails("remote_endpoint");
  socket.shutdown(Socket::shutdown_both, ec), fails("shutdown");
  CHECK(socket.available(ec) == 0), fails("available");
  CHECK(socket.read_some(buffer(&byte, 1), ec) == 0), fails("read_some");
  CHECK(socket.write_some(buffer(&byte, 1), ec) == 0), fails("write_some");
  socket.wait(Socket::wait_read, ec), fails("wait");
  socket.close(ec);
  CHECK(!ec);  // closing is idempotent
}

/// Every asynchronous operation but connect on such a socket.
template <class Socket>
void check_operations_fail(beck::io_context& ctx, Socket& socket) {
  char bytes[2] = {};
  const beck::mutable_buffer parts[2] = {buffer(bytes, 1), buffer(bytes + 1, 1)};
  std::string text;
  outcome all[10];
  socket.async_read_some(buffer(bytes), note(all[0]));
  socket.async_read_some(parts, note(all[1]));
  socket.async_write_some(buffer(bytes), note(all[2]));
  socket.async_write_some(parts, note(all[3]));
  socket.async_wait(Socket::wait_read, note(all[4]));
  socket.async_wait(Socket::wait_write, note(all[5]));
  socket.async_wait(Socket::wait_error, note(all[6]));
  async_write(socket, parts, note(all[7]));
  async_read(socket, buffer(bytes), note(all[8]));
  async_read_until(socket, beck::dynamic_buffer(text), '\n', note(all[9]));
  for (const outcome& one : all) CHECK(one.calls == 0);
  beck::test::run_all(ctx);
  for (std::size_t i = 0; i < 10; ++i) {
    INFO("operation ", i);
    CHECK(all[i].ended_with(error::bad_descriptor));
    CHECK(all[i].bytes == 0);
  }
}

}  // namespace

CONFORMANCE("every call on a socket that was never opened gives bad_descriptor") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx);
  check_calls_fail(socket);
}

CONFORMANCE("every operation on a closed socket completes with bad_descriptor") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  c.client.close();
  check_calls_fail(c.client);
  check_operations_fail(ctx, c.client);
}

CONFORMANCE("every call and operation on a moved-from socket gives bad_descriptor") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  tcp::socket taken(std::move(c.client));
  CHECK(taken.is_open());
  check_calls_fail(c.client);
  check_operations_fail(ctx, c.client);
  CHECK(taken.is_open());
}

CONFORMANCE("a moved-from or closed acceptor gives bad_descriptor") {
  beck::io_context ctx(context_options());
  tcp::acceptor closed(ctx, loopback_v4());
  closed.close();
  tcp::acceptor gone(ctx, loopback_v4());
  const tcp::acceptor taken(std::move(gone));
  for (tcp::acceptor* acceptor : {&closed, &gone}) {
    error_code ec;
    acceptor->listen(1, ec);
    CHECK(ec == error::bad_descriptor);
    CHECK_FALSE(acceptor->accept(ec).is_open());
    CHECK(ec == error::bad_descriptor);
    error_code seen;
    acceptor->async_accept([&seen](const error_code& e, const tcp::socket&) { seen = e; });
    beck::test::run_all(ctx);
    CHECK(seen == error::bad_descriptor);
  }
}

CONFORMANCE("move assignment closes what the target held and carries the source over") {
  beck::io_context ctx(context_options());
  beck::test::local_connection first(ctx);
  beck::test::local_connection second(ctx);
  outcome pending;
  char byte = 0;
  first.a.async_read_some(buffer(&byte, 1), note(pending));
  beck::test::let_settle(ctx);
  const int kept = second.a.native_handle();
  first.a = std::move(second.a);
  CHECK(first.a.native_handle() == kept);
  beck::test::run_all(ctx);
  CHECK(pending.aborted());
  std::size_t bytes = 0;
  CHECK(beck::test::drain(ctx, first.b, bytes) == error::eof);
  outcome sent;
  async_write(first.a, buffer("x", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  beck::test::let_arrive(ctx);
  CHECK(second.b.available() == 1);
}

CONFORMANCE("a pending operation moves with its socket") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  outcome received;
  outcome sent;
  char got[4] = {};
  async_read(c.a, buffer(got), note(received));
  beck::test::let_settle(ctx);
  stream taken(std::move(c.a));
  async_write(c.b, buffer("move", 4), note(sent));
  beck::test::run_all(ctx);
  CHECK(received.ok());
  CHECK(std::memcmp(got, "move", 4) == 0);
}

CONFORMANCE("opening an open socket gives already_open and keeps its descriptor") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  const int before = socket.native_handle();
  error_code ec;
  socket.open(tcp::v6(), ec);
  CHECK(ec == error::already_open);
  CHECK(socket.native_handle() == before);
  CHECK_THROWS_AS(socket.open(tcp::v4()), beck::io_error);
}

CONFORMANCE("assigning to an open socket gives already_open and takes nothing over") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  stream other(ctx);
  other.open(beck::local::stream_protocol());
  const int mine = other.native_handle();
  error_code ec;
  other.assign(beck::local::stream_protocol(), c.a.native_handle(), ec);
  CHECK(ec == error::already_open);
  CHECK(other.native_handle() == mine);
  CHECK(c.a.is_open());
}

CONFORMANCE("assigning a number that is no descriptor gives bad_descriptor") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx);
  error_code ec;
  socket.assign(tcp::v4(), 1 << 20, ec);
  CHECK(ec == error::bad_descriptor);
  CHECK_FALSE(socket.is_open());
  socket.assign(tcp::v4(), -1, ec);
  CHECK(ec == error::bad_descriptor);
}

CONFORMANCE("release gives the descriptor up without closing it and aborts what waits") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  outcome pending;
  outcome behind;
  char byte = 0;
  c.a.async_read_some(buffer(&byte, 1), note(pending));
  c.a.async_read_some(buffer(&byte, 1), note(behind));
  beck::test::let_settle(ctx);
  const int number = c.a.native_handle();
  const int fd = c.a.release();
  CHECK(fd == number);
  CHECK_FALSE(c.a.is_open());
  beck::test::run_all(ctx);
  CHECK(pending.aborted());
  CHECK(behind.aborted());

  std::size_t none = 0;  // the peer sees no end
  CHECK(beck::test::drain(ctx, c.b, none) == error::would_block);
  stream again(ctx);
  again.assign(beck::local::stream_protocol(), fd);
  outcome sent;
  async_write(c.b, buffer("z", 1), note(sent));
  outcome received;
  again.async_read_some(buffer(&byte, 1), note(received));
  beck::test::run_all(ctx);
  CHECK(received.ok());
  CHECK(byte == 'z');
}

CONFORMANCE("a new socket blocks its synchronous calls, whatever the one before it was told") {
  beck::io_context ctx(context_options());
  {
    tcp::socket socket(ctx, tcp::v4());
    socket.non_blocking(true);
    CHECK(socket.non_blocking());
  }
  const tcp::socket socket(ctx, tcp::v4());  // in the slot of the first one
  CHECK_FALSE(socket.non_blocking());
}

CONFORMANCE("the descriptor of an open socket is non-blocking, and remains so") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx);
  CHECK_FALSE(socket.native_non_blocking());
  socket.open(tcp::v4());
  CHECK(socket.native_non_blocking());
  socket.native_non_blocking(true);
  error_code ec;
  socket.native_non_blocking(false, ec);
  CHECK(ec == error::operation_not_supported);
  CHECK_THROWS_AS(socket.native_non_blocking(false), beck::io_error);
  CHECK(socket.native_non_blocking());
}

CONFORMANCE("an acceptor that a protocol opens is bound and listens later") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, tcp::v4());
  CHECK(acceptor.is_open());
  acceptor.bind(loopback_v4());
  acceptor.listen();
  tcp::socket client(ctx);
  error_code connected = error::eof;
  client.async_connect(acceptor.local_endpoint(), [&](error_code ec) { connected = ec; });
  beck::test::run_all(ctx);
  CHECK_FALSE(connected);
}

CONFORMANCE("a released socket object can be opened again") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  stream holder(ctx);
  holder.assign(beck::local::stream_protocol(), c.a.release());
  stream fresh(ctx);
  connect_pair(c.a, fresh);
  outcome sent;
  async_write(c.a, buffer("new", 3), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  beck::test::let_arrive(ctx);
  CHECK(fresh.available() == 3);
  CHECK(c.b.available() == 0);
}

CONFORMANCE("throwing forms throw io_error with the operation's name") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx);
  char byte = 0;
  const auto operation_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const beck::io_error& thrown) {
      CHECK(thrown.code() == error::bad_descriptor);
      return thrown.operation();
    }
    return "nothing thrown";
  };
  CHECK(operation_of([&] { socket.bind(loopback_v4()); }) == "bind");
  CHECK(operation_of([&] { socket.cancel(); }) == "cancel");
  CHECK(operation_of([&] { socket.local_endpoint(); }) == "local_endpoint");
  CHECK(operation_of([&] { socket.set_option(tcp::no_delay(true)); }) == "set_option");
  CHECK(operation_of([&] { socket.read_some(buffer(&byte, 1)); }) == "read_some");
  CHECK(operation_of([&] { socket.write_some(buffer(&byte, 1)); }) == "write_some");
  CHECK(operation_of([&] { socket.shutdown(tcp::socket::shutdown_send); }) == "shutdown");
}

CONFORMANCE("an unconnected socket gives not_connected") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx, tcp::v4());
  error_code ec;
  socket.remote_endpoint(ec);
  CHECK(ec == error::not_connected);
  tcp::socket other(ctx, tcp::v4());  // Linux marks it as shut down although it reports an error
  other.shutdown(tcp::socket::shutdown_both, ec);
  CHECK(ec == error::not_connected);
  char byte = 0;
  outcome received;
  outcome sent;
  socket.async_read_some(buffer(&byte, 1), note(received));
  beck::test::run_all(ctx);
  CHECK(received.ended_with(error::not_connected));
  socket.async_write_some(buffer(&byte, 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.calls == 1);
  CHECK((sent.ec == error::broken_pipe || sent.ec == error::not_connected));
}
