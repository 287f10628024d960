// SPDX-License-Identifier: BSL-1.0
// Descriptors that go through UNIX sockets. In a simulation none can: its numbers mean nothing to
// another host, and its sockets refuse them by name.
#include <ostream>
#include <set>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <beck/net/descriptor_passing.hpp>
#include <beck/net/local.hpp>
#include <beck/net/local_datagram.hpp>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/no_descriptors.hpp"
#include "support/open_descriptors.hpp"
#include "support/send_descriptors.hpp"
#include "support/stream_pair.hpp"

using beck::async_receive_descriptors;
using beck::async_send_descriptors;
using beck::buffer;
using beck::passed_descriptors;
using beck::received_descriptors;
using beck::unique_fd;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_all;
using beck::test::run_task;
using beck::test::send_with_copies;
using beck::test::stream_pair;
namespace error = beck::error;

namespace {

/// Both ends of a pipe.
struct two_ends {
  two_ends() {
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
    out = unique_fd(fds[0]);
    in = unique_fd(fds[1]);
  }
  unique_fd out;
  unique_fd in;
};

/// Whether what is written to one comes out of the other.
bool are_joined(int in, int out) {
  char byte = 0;
  return ::write(in, "!", 1) == 1 && ::read(out, &byte, 1) == 1 && byte == '!';
}

void switch_on(int socket, int option) {
  const int on = 1;
  REQUIRE(::setsockopt(socket, SOL_SOCKET, option, &on, sizeof on) == 0);
}

/// Receives one byte and what is beside it.
void receive(beck::io_context& ctx, stream_pair& pair, received_descriptors& fds) {
  char room[1];
  outcome received;
  async_receive_descriptors(pair.b, buffer(room), fds, note(received));
  run_all(ctx);
  CHECK(received.ok());
  CHECK(received.bytes == 1);
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "a descriptor goes through a stream beside its bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  received_descriptors fds;
  char room[10];
  outcome sent, received;
  async_send_descriptors(pair.a, buffer("abc", 3), passed_descriptors(pipe.out.get()), note(sent));
  async_receive_descriptors(pair.b, buffer(room), fds, note(received));
  run_all(ctx);
  CHECK(sent.ok());
  CHECK(sent.bytes == 3);
  CHECK(received.ok());
  CHECK(received.bytes == 3);
  REQUIRE(fds.size() == 1);
  const unique_fd other = fds.take(0);
  CHECK(other.get() != pipe.out.get());
  CHECK((::fcntl(other.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(are_joined(pipe.in.get(), other.get()));
  CHECK_FALSE(fds.truncated());
}

CONFORMANCE_ON(beck::test::kernel, "several descriptors go with one datagram, in their order") {
  beck::io_context ctx(context_options());
  beck::local::datagram_protocol::socket a(ctx), b(ctx);
  connect_pair(a, b);
  two_ends pipe;
  received_descriptors fds;
  char room[10];
  auto work = [&]() -> beck::task<> {
    const passed_descriptors both(pipe.in.get(), pipe.out.get());
    (co_await async_send_descriptors(a, buffer("x", 1), both)).value();
    CHECK((co_await async_receive_descriptors(b, buffer(room), fds)).value() == 1);
  };
  run_task(ctx, work);
  REQUIRE(fds.size() == 2);
  const unique_fd in = fds.take(0);
  const unique_fd out = fds.take(1);
  CHECK(are_joined(in.get(), out.get()));
  CHECK(fds.take(0).get() == -1);
}

CONFORMANCE_ON(beck::test::kernel,
               "descriptors to be sent are written as a list, or come in an array") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  const int all[] = {pipe.in.get(), pipe.out.get()};
  char room[10];
  for (const bool as_array : {false, true}) {
    received_descriptors fds;
    outcome sent, received;
    if (as_array) {
      async_send_descriptors(pair.a, buffer("x", 1), passed_descriptors(all, 2), note(sent));
    } else {
      async_send_descriptors(pair.a, buffer("x", 1), {pipe.in.get(), pipe.out.get()}, note(sent));
    }
    async_receive_descriptors(pair.b, buffer(room), fds, note(received));
    run_all(ctx);
    CHECK(sent.ok());
    CHECK(received.bytes == 1);
    REQUIRE(fds.size() == 2);
    CHECK(are_joined(fds.take(0).get(), pipe.out.get()));
  }
}

CONFORMANCE_ON(beck::test::kernel, "descriptors that nobody takes are closed") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  {
    received_descriptors fds;
    char room[10];
    for (int i = 0; i < 3; ++i) {
      outcome sent, received;
      async_send_descriptors(pair.a, buffer("x", 1), passed_descriptors(pipe.in.get()), note(sent));
      async_receive_descriptors(pair.b, buffer(room), fds, note(received));
      run_all(ctx);
      REQUIRE(received.ok());
      REQUIRE(fds.size() == 1);
    }
  }
  pipe.in = unique_fd();
  char byte = 0;
  CHECK(::read(pipe.out.get(), &byte, 1) == 0);  // no writer is left
}

CONFORMANCE_ON(beck::test::kernel, "a plain read drops the descriptors that come with its bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  outcome sent, received;
  char room[10];
  async_send_descriptors(pair.a, buffer("x", 1), passed_descriptors(pipe.in.get()), note(sent));
  pair.b.async_read_some(buffer(room), note(received));
  run_all(ctx);
  CHECK(received.bytes == 1);
  pipe.in = unique_fd();
  char byte = 0;
  CHECK(::read(pipe.out.get(), &byte, 1) == 0);
}

CONFORMANCE_ON(beck::test::kernel, "no more than 16 descriptors are taken of one message") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  const std::set<int> before = beck::test::open_descriptors();
  {
    received_descriptors fds;
    send_with_copies<passed_descriptors::capacity>(pair.a.native_handle(), "x", pipe.in.get());
    receive(ctx, pair, fds);
    CHECK(fds.size() == 16);
    CHECK_FALSE(fds.truncated());
    send_with_copies<20>(pair.a.native_handle(), "x", pipe.in.get());
    receive(ctx, pair, fds);
    CHECK(fds.size() == 16);
    CHECK(fds.truncated());
    CHECK(beck::test::open_descriptors().size() == before.size() + 16);
  }
  CHECK((beck::test::open_descriptors() == before));
}

CONFORMANCE_ON(beck::test::kernel, "descriptors are found behind the credentials of their sender") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  switch_on(pair.b.native_handle(), SO_PASSCRED);
  const std::set<int> before = beck::test::open_descriptors();
  {
    received_descriptors fds;
    send_with_copies<2>(pair.a.native_handle(), "x", pipe.in.get());
    receive(ctx, pair, fds);
    REQUIRE(fds.size() == 2);
    CHECK_FALSE(fds.truncated());
    const unique_fd other = fds.take(1);
    CHECK(are_joined(other.get(), pipe.out.get()));
    send_with_copies<16>(pair.a.native_handle(), "x", pipe.in.get());
    receive(ctx, pair, fds);
    CHECK(fds.size() < 16);
    CHECK(fds.truncated());
  }
  CHECK((beck::test::open_descriptors() == before));
}

CONFORMANCE_ON(beck::test::kernel, "a descriptor of the sender that comes unasked is closed too") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  constexpr int pass_pidfd = 76;  // SO_PASSPIDFD, Linux 6.5
  const int on = 1;
  if (::setsockopt(pair.b.native_handle(), SOL_SOCKET, pass_pidfd, &on, sizeof on) != 0)
    SKIP_CASE("this kernel sends no descriptor unasked");
  const std::set<int> before = beck::test::open_descriptors();
  {
    received_descriptors fds;
    send_with_copies<2>(pair.a.native_handle(), "x", pipe.in.get());
    receive(ctx, pair, fds);
    CHECK(fds.size() == 2);
  }
  CHECK((beck::test::open_descriptors() == before));
}

CONFORMANCE_ON(beck::test::kernel, "descriptors that this process may not open are truncated") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  two_ends pipe;
  send_with_copies<3>(pair.a.native_handle(), "x", pipe.in.get());
  received_descriptors fds;
  {
    const beck::test::no_descriptors nothing_left(0);
    receive(ctx, pair, fds);
  }
  CHECK(fds.size() == 0);
  CHECK(fds.truncated());
}

CONFORMANCE("bytes without descriptors, and the end of a stream, are received as by any read") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  received_descriptors fds;
  char room[10];
  outcome received, ended;
  pair.a.write_some(buffer("x", 1));
  async_receive_descriptors(pair.b, buffer(room), fds, note(received));
  run_all(ctx);
  CHECK(received.ok());
  CHECK(received.bytes == 1);
  CHECK(fds.size() == 0);
  pair.a.close();
  async_receive_descriptors(pair.b, buffer(room), fds, note(ended));
  run_all(ctx);
  CHECK(ended.ended_with(error::eof));
}

CONFORMANCE("a receive of descriptors can be cancelled") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  received_descriptors fds;
  char room[10];
  outcome received;
  async_receive_descriptors(pair.b, buffer(room), fds, note(received));
  beck::test::let_settle(ctx);
  pair.b.cancel();
  run_all(ctx);
  CHECK(received.aborted());
  CHECK(fds.size() == 0);
}

CONFORMANCE("a descriptor that is not open is refused, and the socket goes on") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  outcome refused, sent;
  async_send_descriptors(pair.a, buffer("x", 1), passed_descriptors(999'999), note(refused));
  run_all(ctx);
  const bool simulated = ctx.backend_in_use() == beck::backend::sim;
  CHECK(refused.calls == 1);
  if (simulated) {
    CHECK(refused.ec == error::operation_not_supported);
  } else {
    CHECK(refused.ec == error::bad_descriptor);
  }
  pair.a.async_write_some(buffer("x", 1), note(sent));
  run_all(ctx);
  CHECK(sent.ok());
}
