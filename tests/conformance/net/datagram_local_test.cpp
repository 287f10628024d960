// SPDX-License-Identifier: BSL-1.0
// UNIX datagrams: pairs, names, back-pressure.
#include <cstring>
#include <ostream>
#include <string>

#include <unistd.h>

#include <beck/net/datagram_batch.hpp>
#include <beck/net/local_datagram.hpp>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/faulty_system.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using beck::buffer;
using beck::error_code;
using beck::test::let_arrive;
using beck::test::let_settle;
using beck::test::note;
using beck::test::outcome;
using beck::test::pattern;
using beck::test::run_all;
using beck::test::run_task;
using dgram = beck::local::datagram_protocol;
namespace error = beck::error;

namespace {

dgram::endpoint abstract_name(const char* name) {
  std::string text(1, '\0');
  text += "beck-datagram-" + std::to_string(::getpid()) + "-" + name;
  return dgram::endpoint(text);
}

/// Sends until there is no room; how many.
std::size_t fill_queue(dgram::socket& from) {
  from.non_blocking(true);
  std::size_t count = 0;
  for (error_code ec;; ++count) {
    from.send(buffer("x", 1), 0, ec);
    if (ec) break;
  }
  from.non_blocking(false);
  return count;
}

}  // namespace

CONFORMANCE("a pair of UNIX datagram sockets sends whole datagrams both ways") {
  beck::io_context ctx(context_options());
  dgram::socket a(ctx), b(ctx);
  connect_pair(a, b);
  char room[100];
  outcome received, empty, back;
  b.async_receive(buffer(room), note(received));
  b.async_receive(buffer(room), note(empty));
  a.async_send(buffer("abc", 3), beck::detached);
  a.async_send(beck::const_buffer(), beck::detached);
  run_all(ctx);
  CHECK(received.ok());
  CHECK(received.bytes == 3);
  CHECK(empty.ok());
  CHECK(empty.bytes == 0);
  a.async_receive(buffer(room), note(back));
  b.send(buffer("de", 2));
  run_all(ctx);
  CHECK(back.bytes == 2);
}

CONFORMANCE("a UNIX datagram has the name of its sender, if that has one") {
  beck::io_context ctx(context_options());
  dgram::socket server(ctx, abstract_name("server"));
  dgram::socket named(ctx, abstract_name("client"));
  dgram::socket unnamed(ctx, dgram());
  named.send_to(buffer("1", 1), server.local_endpoint());
  unnamed.send_to(buffer("22", 2), server.local_endpoint());
  char room[10];
  dgram::endpoint sender;
  CHECK(server.receive_from(buffer(room), sender) == 1);
  CHECK(sender == abstract_name("client"));
  CHECK(server.receive_from(buffer(room), sender) == 2);
  CHECK(sender.is_unnamed());
}

CONFORMANCE("a UNIX datagram to a name that nobody has is refused, and the socket goes on") {
  beck::io_context ctx(context_options());
  dgram::socket a(ctx, dgram());
  error_code ec;
  a.send_to(buffer("x", 1), abstract_name("nobody"), 0, ec);
  CHECK(ec == error::connection_refused);
  a.send_to(buffer("x", 1), dgram::endpoint("/tmp/beck-no-such-socket"), 0, ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
  dgram::socket server(ctx, abstract_name("later"));
  outcome sent;
  a.async_send_to(buffer("x", 1), server.local_endpoint(), note(sent));
  run_all(ctx);
  CHECK(sent.ok());
}

CONFORMANCE("a connected UNIX sender waits for room, and nothing is lost or out of order") {
  beck::io_context ctx(context_options());
  dgram::socket a(ctx), b(ctx);
  connect_pair(a, b);
  constexpr unsigned count = 500;
  unsigned right = 0;
  auto send = [&]() -> beck::task<> {
    for (unsigned i = 0; i < count; ++i) (co_await a.async_send(buffer(&i, sizeof i))).value();
  };
  auto receive = [&]() -> beck::task<> {
    for (unsigned i = 0; i < count; ++i) {
      unsigned number = 0;
      (co_await b.async_receive(buffer(&number, sizeof number))).value();
      right += number == i ? 1 : 0;
    }
  };
  beck::co_spawn(ctx, send, beck::detached);
  run_task(ctx, receive);
  CHECK(right == count);
}

CONFORMANCE("a UNIX send that waits for room can be cancelled") {
  beck::io_context ctx(context_options());
  dgram::socket a(ctx), b(ctx);
  connect_pair(a, b);
  const std::size_t queued = fill_queue(a);
  CHECK(queued > 0);
  outcome sent;
  a.async_send(buffer("x", 1), note(sent));
  let_settle(ctx);
  CHECK_FALSE(sent.done());
  a.cancel();
  run_all(ctx);
  CHECK(sent.aborted());
}

CONFORMANCE("a UNIX send to a full queue of a socket it is not connected to says so") {
  beck::io_context ctx(context_options());
  dgram::socket server(ctx, abstract_name("full"));
  dgram::socket a(ctx, dgram());
  dgram::socket b(ctx, dgram());
  a.connect(server.local_endpoint());
  fill_queue(a);
  outcome sent, again;
  b.async_send_to(buffer("x", 1), server.local_endpoint(), note(sent));
  run_all(ctx);
  CHECK(sent.ended_with(error::no_buffer_space));
  char room[10];
  CHECK(server.receive(buffer(room)) == 1);
  b.async_send_to(buffer("x", 1), server.local_endpoint(), note(again));
  run_all(ctx);
  CHECK(again.ok());
}

CONFORMANCE_ON(beck::test::kernel, "a batch to a UNIX socket that has room by now is tried again") {
  for (const int refused : {1, 2}) {
    beck::io_context ctx(context_options());
    beck::test::make_faulty(ctx).refused_batches = refused;
    dgram::socket server(ctx, abstract_name("room"));
    dgram::socket a(ctx, dgram());
    beck::send_batch<dgram, 2> out;
    out.add(buffer("x", 1), server.local_endpoint());
    out.add(buffer("y", 1), server.local_endpoint());
    outcome sent;
    a.async_send_many(out, note(sent));
    run_all(ctx);
    CHECK(sent.ec == (refused == 1 ? error_code() : error_code(error::no_buffer_space)));
    CHECK(sent.bytes == (refused == 1 ? 2 : 0));
  }
}

CONFORMANCE("what a UNIX receiver leaves behind is reported to who is connected to it") {
  beck::io_context ctx(context_options());
  dgram::socket a(ctx), b(ctx);
  connect_pair(a, b);
  b.close();
  outcome refused;
  a.async_send(buffer("x", 1), note(refused));
  run_all(ctx);
  CHECK(refused.ended_with(error::connection_refused));
}

CONFORMANCE("a batch of UNIX datagrams is sent whole, waiting for room in between") {
  beck::io_context ctx(context_options());
  dgram::socket a(ctx), b(ctx);
  connect_pair(a, b);
  constexpr std::size_t count = 64;
  unsigned numbers[count];
  beck::send_batch<dgram, count> out;
  for (unsigned i = 0; i < count; ++i) {
    numbers[i] = i;
    out.add(buffer(&numbers[i], sizeof(unsigned)));
  }
  outcome sent;
  a.async_send_many(out, note(sent));
  std::size_t received = 0, wrong = 0;
  auto receive = [&]() -> beck::task<> {
    unsigned room[16];
    beck::receive_batch<dgram, 16> in(buffer(room), sizeof(unsigned));
    while (received < count) {
      const std::size_t n = (co_await b.async_receive_many(in)).value();
      for (std::size_t i = 0; i < n; ++i) wrong += room[i] == received + i ? 0u : 1u;
      received += n;
    }
  };
  run_task(ctx, receive);
  CHECK(sent.ok());
  CHECK(sent.bytes == count);
  CHECK(wrong == 0);
}

CONFORMANCE("a connected UNIX socket hears its peer only") {
  beck::io_context ctx(context_options());
  dgram::socket a(ctx), b(ctx);
  connect_pair(a, b);
  error_code ec;
  connect_pair(a, b, ec);
  CHECK(ec == error::already_open);
  dgram::socket server(ctx, abstract_name("one"));
  dgram::socket friendly(ctx, abstract_name("two"));
  server.connect(friendly.local_endpoint());
  dgram::socket stranger(ctx, dgram());
  stranger.send_to(buffer("x", 1), server.local_endpoint(), 0, ec);
  CHECK(ec == error::no_permission);
}
