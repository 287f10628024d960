// SPDX-License-Identifier: BSL-1.0
// Bad input: every public function of a socket, an acceptor and a timer, on objects that were moved
// from or closed, with error codes, exceptions, callbacks and coroutines. A clear error each time,
// and the object that took over is as it was.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/strand.hpp>

#include <chrono>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::buffer;
using beck::error_code;
using beck::ip::tcp;
using beck::test::loopback_v4;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_task;
namespace error = beck::error;

namespace {

using socket_base = beck::socket_base;

/// What io_error `call` throws, by name, or a complaint.
template <class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const beck::io_error& thrown) {
    return thrown.code() == error::bad_descriptor ? thrown.operation() : thrown.what();
  }
  return "nothing thrown";
}

/// The functions that sockets and acceptors share, without a descriptor.
template <class Object>
void check_shared_calls(Object& object, beck::io_context& ctx) {
  CHECK_FALSE(object.is_open());
  CHECK(object.native_handle() == -1);
  CHECK(object.get_executor() == ctx.get_executor());
  CHECK_FALSE(object.non_blocking());
  error_code ec;
  const auto fails = [&ec](const char* call) {
    INFO(call);
    CHECK(ec == error::bad_descriptor);
    ec = error_code();
  };
  tcp::no_delay option;
  object.bind(loopback_v4(), ec), fails("bind");
  object.cancel(ec), fails("cancel");
  CHECK(object.release(ec) == -1), fails("release");
  object.non_blocking(true, ec), fails("non_blocking");
  object.set_option(socket_base::reuse_address(true), ec), fails("set_option");
  object.get_option(option, ec), fails("get_option");
  CHECK(object.local_endpoint(ec) == tcp::endpoint()), fails("local_endpoint");
  object.wait(socket_base::wait_read, ec), fails("wait");
  CHECK_FALSE(object.non_blocking());

  CHECK(thrown_by([&] { object.bind(loopback_v4()); }) == "bind");
  CHECK(thrown_by([&] { object.cancel(); }) == "cancel");
  CHECK(thrown_by([&] { object.release(); }) == "release");
  CHECK(thrown_by([&] { object.non_blocking(true); }) == "non_blocking");
  CHECK(thrown_by([&] { object.set_option(tcp::no_delay(true)); }) == "set_option");
  CHECK(thrown_by([&] { object.get_option(option); }) == "get_option");
  CHECK(thrown_by([&] { object.local_endpoint(); }) == "local_endpoint");
  CHECK(thrown_by([&] { object.wait(socket_base::wait_write); }) == "wait");

  object.close(ec);  // closing is idempotent
  CHECK(!ec);
  object.close();
}

template <class Object>
beck::task<> await_shared(Object& object) {
  for (const auto what :
       {socket_base::wait_read, socket_base::wait_write, socket_base::wait_error}) {
    const auto waited = co_await object.async_wait(what);
    CHECK(waited.error() == error::bad_descriptor);
  }
}

void check_stream_calls(tcp::socket& socket) {
  error_code ec;
  char byte = 'x';
  const auto fails = [&ec](const char* call) {
    INFO(call);
    CHECK(ec == error::bad_descriptor);
    ec = error_code();
  };
  CHECK(socket.remote_endpoint(ec) == tcp::endpoint()), fails("remote_endpoint");
  socket.shutdown(socket_base::shutdown_both, ec), fails("shutdown");
  CHECK(socket.available(ec) == 0), fails("available");
  CHECK(socket.read_some(buffer(&byte, 1), ec) == 0), fails("read_some");
  CHECK(socket.write_some(buffer(&byte, 1), ec) == 0), fails("write_some");
  CHECK(beck::read(socket, buffer(&byte, 1), ec) == 0), fails("read");
  CHECK(beck::write(socket, buffer(&byte, 1), ec) == 0), fails("write");

  CHECK(thrown_by([&] { socket.remote_endpoint(); }) == "remote_endpoint");
  CHECK(thrown_by([&] { socket.shutdown(socket_base::shutdown_send); }) == "shutdown");
  CHECK(thrown_by([&] { static_cast<void>(socket.available()); }) == "available");
  CHECK(thrown_by([&] { socket.read_some(buffer(&byte, 1)); }) == "read_some");
  CHECK(thrown_by([&] { socket.write_some(buffer(&byte, 1)); }) == "write_some");
  CHECK(thrown_by([&] { socket.receive(buffer(&byte, 1)); }) == "read_some");
  CHECK(thrown_by([&] { socket.send(buffer(&byte, 1)); }) == "write_some");
}

beck::task<> await_stream(tcp::socket& socket) {
  char bytes[2] = {};
  const beck::mutable_buffer parts[2] = {buffer(bytes, 1), buffer(bytes + 1, 1)};
  std::string text;
  const auto read = co_await socket.async_read_some(buffer(bytes));
  const auto read_parts = co_await socket.async_read_some(parts);
  const auto written = co_await socket.async_write_some(buffer(bytes));
  const auto written_parts = co_await socket.async_write_some(parts);
  const auto received = co_await socket.async_receive(buffer(bytes));
  const auto sent = co_await socket.async_send(buffer(bytes));
  const auto all_read = co_await beck::async_read(socket, buffer(bytes));
  const auto all_written = co_await beck::async_write(socket, parts);
  const auto line = co_await beck::async_read_until(socket, beck::dynamic_buffer(text), '\n');
  for (const auto* one : {&read, &read_parts, &written, &written_parts, &received, &sent, &all_read,
                          &all_written, &line}) {
    CHECK(one->error() == error::bad_descriptor);
    CHECK(**one == 0);
  }
}

void check_acceptor(tcp::acceptor& acceptor, beck::io_context& ctx) {
  check_shared_calls(acceptor, ctx);
  run_task(ctx, await_shared(acceptor));
  error_code ec;
  acceptor.listen(1, ec);
  CHECK(ec == error::bad_descriptor);
  CHECK_FALSE(acceptor.accept(ec).is_open());
  CHECK(ec == error::bad_descriptor);
  CHECK(thrown_by([&] { acceptor.listen(); }) == "listen");
  CHECK(thrown_by([&] { acceptor.accept(); }) == "accept");

  tcp::socket peer(ctx);
  outcome into;
  error_code made;
  error_code made_on;
  acceptor.async_accept(peer, note(into));
  acceptor.async_accept([&made](error_code e, const tcp::socket&) { made = e; });
  acceptor.async_accept(ctx.get_executor(),
                        [&made_on](error_code e, const tcp::socket&) { made_on = e; });
  CHECK(into.calls == 0);
  beck::test::run_all(ctx);
  CHECK(into.ended_with(error::bad_descriptor));
  CHECK(made == error::bad_descriptor);
  CHECK(made_on == error::bad_descriptor);
  ctx.restart();
  run_task(ctx, [&]() -> beck::task<> {
    const auto accepted = co_await acceptor.async_accept();
    CHECK(accepted.error() == error::bad_descriptor);
    const auto accepted_into = co_await acceptor.async_accept(peer);
    CHECK(accepted_into.error() == error::bad_descriptor);
  });
  CHECK_FALSE(peer.is_open());
}

}  // namespace

CONFORMANCE("each function of a closed or moved-from socket gives bad_descriptor, in each form") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection first(ctx);
  beck::test::tcp_connection second(ctx);
  first.client.close();
  tcp::socket taken(std::move(second.client));
  for (tcp::socket* socket : {&first.client, &second.client}) {
    check_shared_calls(*socket, ctx);
    check_stream_calls(*socket);
    run_task(ctx, await_shared(*socket));
    run_task(ctx, await_stream(*socket));
  }
  outcome sent;  // who took it over has noticed nothing
  async_write(taken, buffer("x", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
}

CONFORMANCE("each function of a closed or moved-from acceptor gives bad_descriptor, in each form") {
  beck::io_context ctx(context_options());
  tcp::acceptor closed(ctx, loopback_v4());
  closed.close();
  tcp::acceptor gone(ctx, loopback_v4());
  tcp::acceptor taken(std::move(gone));
  check_acceptor(closed, ctx);
  check_acceptor(gone, ctx);
  tcp::socket client(ctx);
  tcp::socket server(ctx);
  outcome connected;
  outcome accepted;
  taken.async_accept(server, note(accepted));
  client.async_connect(taken.local_endpoint(), note(connected));
  beck::test::run_all(ctx);
  CHECK(connected.ok());
  CHECK(accepted.ok());
}

CONFORMANCE("a moved-from acceptor and a closed one can be opened again") {
  beck::io_context ctx(context_options());
  tcp::acceptor gone(ctx, loopback_v4());
  const tcp::acceptor taken(std::move(gone));
  tcp::acceptor closed(ctx, loopback_v4());
  closed.close();
  for (tcp::acceptor* acceptor : {&gone, &closed}) {
    acceptor->open(tcp::v4());
    CHECK(thrown_by([&] { acceptor->open(tcp::v4()); }).find("Already open") != std::string::npos);
    acceptor->bind(loopback_v4());
    acceptor->listen();
    CHECK(acceptor->local_endpoint().port() != 0);
    CHECK(acceptor->local_endpoint() != taken.local_endpoint());
    tcp::socket client(ctx);
    outcome connected;
    client.async_connect(acceptor->local_endpoint(), note(connected));
    error_code accepted = error::interrupted;
    acceptor->async_accept([&](error_code ec, const tcp::socket&) { accepted = ec; });
    beck::test::run_all(ctx);
    CHECK(connected.ok());
    CHECK(!accepted);
  }
  CHECK(taken.is_open());
}

CONFORMANCE("an accept loop that moves its only socket away gets every connection") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket socket(ctx);
  std::vector<tcp::socket> sessions;
  error_code failed;
  struct loop {
    tcp::acceptor& from;
    tcp::socket& into;
    std::vector<tcp::socket>& sessions;
    error_code& failed;
    void start() const {
      from.async_accept(into, [self = *this](error_code ec) {
        self.failed = ec;
        if (ec) return;
        self.sessions.push_back(std::move(self.into));
        if (self.sessions.size() < 3) self.start();
      });
    }
  };
  loop{acceptor, socket, sessions, failed}.start();
  std::vector<tcp::socket> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(ctx);
    clients.back().async_connect(acceptor.local_endpoint(), beck::detached);
  }
  beck::test::run_all(ctx);
  CHECK(!failed);
  REQUIRE(sessions.size() == 3);
  for (const tcp::socket& one : sessions) CHECK(one.is_open());
  CHECK_FALSE(socket.is_open());
}

CONFORMANCE("moved-from sockets connect, adopt and pair again, on the executor that they had") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  const beck::any_io_executor strand = make_strand(ctx);
  for (const beck::any_io_executor& executor :
       {beck::any_io_executor(ctx.get_executor()), strand}) {
    tcp::socket socket(executor);
    tcp::socket taken(std::move(socket));
    CHECK(socket.get_executor() == executor);
    CHECK(taken.get_executor() == executor);
    const tcp::socket again(std::move(socket));  // nothing, and it stays as it was
    CHECK(again.get_executor() == executor);
    socket.expires_after(1h);
    outcome connected;
    bool inside = false;
    socket.async_connect(acceptor.local_endpoint(), [&](error_code ec) {
      note{connected}(ec);
      inside = executor.running_in_this_thread();
    });
    acceptor.async_accept(beck::detached);
    run_until(ctx, connected);
    CHECK(connected.ok());
    CHECK(inside);
    socket.expires_never();
    taken = std::move(socket);
    CHECK(taken.is_open());
    CHECK(socket.get_executor() == executor);
    socket.connect(acceptor.local_endpoint());
    CHECK(socket.is_open());
  }
  beck::test::local_connection c(ctx);
  auto a = std::move(c.a);
  auto b = std::move(c.b);
  connect_pair(c.a, c.b);
  beck::write(c.a, buffer("x", 1));
  beck::test::let_arrive(ctx);
  CHECK(c.b.available() == 1);
  c.b.close();
  auto other = std::move(c.a);
  error_code ec;
  other.release(ec);
  if (!ec) {
    CHECK_FALSE(other.is_open());
  }
  CHECK(a.is_open());
  CHECK(b.is_open());
}

CONFORMANCE("a moved-from socket of an executor type of its own keeps that executor") {
  beck::io_context ctx(context_options());
  using strand = beck::strand<beck::io_context::executor_type>;
  const strand executor(ctx.get_executor());
  tcp::socket::rebind_executor<strand>::other socket(executor);
  const auto taken(std::move(socket));
  CHECK(socket.get_executor() == executor);
  CHECK(taken.get_executor() == executor);
}

CONFORMANCE("operations of a moved-from socket end with bad_descriptor after it was opened again") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  tcp::socket taken(std::move(c.client));
  char byte;
  outcome early;
  c.client.async_read_some(buffer(&byte, 1), note(early));  // there was no socket then
  c.client.open(tcp::v4());
  beck::test::let_settle(ctx);
  CHECK(early.ended_with(error::bad_descriptor));
}

CONFORMANCE("a moved-from timer is as a new one, and its waits are not those of the other") {
  beck::io_context ctx(context_options());
  for (const beck::any_io_executor& executor :
       {beck::any_io_executor(ctx.get_executor()), beck::any_io_executor(make_strand(ctx))}) {
    beck::steady_timer gone(executor, 1h);
    outcome pending;
    gone.async_wait(note(pending));
    beck::steady_timer taken(std::move(gone));
    CHECK(gone.get_executor() == executor);
    CHECK(gone.cancel() == 0);
    CHECK(gone.cancel_one() == 0);
    CHECK(gone.expires_after(1ms) == 0);
    outcome waited;
    gone.async_wait(note(waited));
    CHECK(waited.calls == 0);
    run_until(ctx, waited);
    CHECK(waited.ok());
    gone.expires_after(1h);
    outcome cancelled;
    gone.async_wait(note(cancelled));
    gone = std::move(taken);
    run_until(ctx, cancelled);
    CHECK(cancelled.aborted());
    CHECK(pending.calls == 0);
    CHECK(gone.cancel() == 1);
    beck::test::run_all(ctx);
    CHECK(pending.aborted());
    ctx.restart();
  }
}

CONFORMANCE("a moved-from system_timer waits for the wall clock again") {
  beck::io_context ctx(context_options());
  beck::system_timer gone(ctx, 1h);
  const beck::system_timer taken(std::move(gone));
  outcome waited;
  post(ctx, [&] {
    const auto now = beck::system_now();
    CHECK(gone.expiry() == beck::system_timer(ctx).expiry());
    gone.expires_after(1ms);
    CHECK(gone.expiry() > now);
    gone.async_wait(note(waited));
  });
  run_until(ctx, waited);
  CHECK(waited.ok());
}

CONFORMANCE("objects that were moved from can be assigned to, moved again and destroyed") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  tcp::acceptor listening(ctx, loopback_v4());
  beck::steady_timer timer(ctx, 1ms);
  tcp::socket socket(std::move(c.client));
  tcp::socket socket_of_none(std::move(c.client));
  CHECK_FALSE(socket_of_none.is_open());
  c.client = std::move(socket);
  CHECK(c.client.is_open());
  tcp::acceptor acceptor(std::move(listening));
  tcp::acceptor acceptor_of_none(std::move(listening));
  CHECK_FALSE(acceptor_of_none.is_open());
  listening = std::move(acceptor);
  CHECK(listening.is_open());
  beck::steady_timer moved(std::move(timer));
  const beck::steady_timer timer_of_none(std::move(timer));
  timer = std::move(moved);
  socket = std::move(socket_of_none);
  CHECK_FALSE(socket.is_open());
  outcome waited;
  timer.async_wait(note(waited));
  beck::test::run_all(ctx);
  CHECK(waited.ok());
}

CONFORMANCE("empty buffers move nothing in every form, and need no bytes, no room and no peer") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  const std::vector<beck::mutable_buffer> none;
  const beck::mutable_buffer empties[3] = {};
  error_code ec = error::interrupted;
  CHECK(c.a.read_some(beck::mutable_buffer(), ec) == 0);
  CHECK(!ec);
  CHECK(c.a.read_some(none) == 0);
  CHECK(c.a.write_some(beck::const_buffer(), ec) == 0);
  CHECK(!ec);
  CHECK(c.a.write_some(empties) == 0);
  CHECK(beck::read(c.a, empties) == 0);
  CHECK(beck::write(c.a, none) == 0);
  outcome ends[6];
  c.a.async_write_some(empties, note(ends[0]));
  beck::async_read(c.a, beck::mutable_buffer(), note(ends[1]));
  beck::async_read(c.a, none, note(ends[2]));
  beck::async_write(c.a, empties, note(ends[3]));
  c.a.async_receive(beck::mutable_buffer(), note(ends[4]));
  c.a.async_send(beck::const_buffer(), note(ends[5]));
  for (const outcome& one : ends) CHECK(one.calls == 0);
  beck::test::run_all(ctx);
  for (const outcome& one : ends) {
    CHECK(one.ok());
    CHECK(one.bytes == 0);
  }
  CHECK(ctx.stats().attempts == 0);
  CHECK(c.b.available() == 0);
}

CONFORMANCE("a buffer without room has no delimiter within the limit, and takes no bytes") {
  beck::io_context ctx(context_options());
  beck::test::local_connection c(ctx);
  std::string text;
  outcome line;
  beck::write(c.b, buffer("line\n", 5));
  beck::test::let_arrive(ctx);
  beck::async_read_until(c.a, beck::dynamic_buffer(text, 0), '\n', note(line));
  beck::test::run_all(ctx);
  CHECK(line.ended_with(error::delimiter_not_found));
  CHECK(text.empty());
  CHECK(c.a.available() == 5);
}
