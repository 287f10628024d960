// SPDX-License-Identifier: BSL-1.0
// async_splice: between pipes and other streams, in whole and in part, and where the kernel cannot.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/stream_descriptor.hpp>
#include <beck/transfer/splice.hpp>

#include <ostream>
#include <string>
#include <utility>

#include <fcntl.h>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/faulty_system.hpp"
#include "support/pattern.hpp"
#include "support/pipes.hpp"

using beck::async_splice;
using beck::async_splice_some;
using beck::buffer;
using beck::error_code;
using beck::test::kernel;
using beck::test::local_connection;
using beck::test::note;
using beck::test::outcome;
using beck::test::pattern;
using beck::test::pipe_ends;
using beck::test::tcp_connection;
namespace error = beck::error;

CONFORMANCE("bytes are spliced from a pipe to a TCP socket") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  tcp_connection c(ctx);
  const std::string sent = pattern(500'000);
  std::string there(sent.size(), '\0');
  outcome written, spliced, read;
  async_write(pipe.in, buffer(sent), note(written));
  async_splice(pipe.out, c.client, sent.size(), note(spliced));
  async_read(c.server, buffer(there), note(read));
  CHECK(spliced.calls == 0);
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(spliced.ok());
  CHECK(spliced.bytes == sent.size());
  CHECK(read.ok());
  CHECK((there == sent));
}

CONFORMANCE("bytes are spliced from a TCP socket to a pipe") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  tcp_connection c(ctx);
  const std::string sent = pattern(500'000);
  std::string there(sent.size(), '\0');
  outcome written, spliced, read;
  async_write(c.client, buffer(sent), note(written));
  async_splice(c.server, pipe.in, sent.size(), note(spliced));
  async_read(pipe.out, buffer(there), note(read));
  beck::test::run_all(ctx);
  CHECK(spliced.ok());
  CHECK(spliced.bytes == sent.size());
  CHECK((there == sent));
}

CONFORMANCE("bytes are spliced between pipes and UNIX sockets") {
  beck::io_context ctx(context_options());
  pipe_ends first(ctx);
  pipe_ends second(ctx);
  local_connection c(ctx);
  const std::string sent = pattern(300'000);
  std::string there(sent.size(), '\0');
  outcome all[5];
  async_write(first.in, buffer(sent), note(all[0]));
  async_splice(first.out, c.a, sent.size(), note(all[1]));
  async_splice(c.b, second.in, sent.size(), note(all[2]));
  async_read(second.out, buffer(there), note(all[3]));
  beck::test::run_all(ctx);
  for (int i = 0; i < 4; ++i) CHECK(all[i].ok());
  CHECK((there == sent));
}

CONFORMANCE("a splice of some waits for the first bytes and takes what is there") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  outcome spliced;
  async_splice_some(from.out, to.in, 1000, note(spliced));
  beck::test::let_settle(ctx);
  CHECK_FALSE(spliced.done());
  CHECK(from.in.write_some(buffer("abc", 3)) == 3);
  beck::test::run_all(ctx);
  CHECK(spliced.ok());
  CHECK(spliced.bytes > 0);
  CHECK(spliced.bytes <= 3);
  CHECK(to.out.available() == spliced.bytes);
}

CONFORMANCE("a splice waits for room where it writes to") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  const std::size_t held = beck::test::fill(to.in);
  CHECK(from.in.write_some(buffer("abc", 3)) == 3);
  outcome spliced, read;
  async_splice(from.out, to.in, 3, note(spliced));
  beck::test::let_settle(ctx);
  CHECK_FALSE(spliced.done());
  std::string there(held + 3, '\0');
  async_read(to.out, buffer(there), note(read));
  beck::test::run_all(ctx);
  CHECK(spliced.ok());
  CHECK(read.ok());
  CHECK(there.substr(held) == "abc");
}

CONFORMANCE("a splice goes on after the budget of its entry is spent, at whatever call that is") {
  beck::io_context ctx(context_options());
  pipe_ends before(ctx);
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  for (int calls = 0; calls < 20; ++calls) {
    CAPTURE(calls);
    outcome spliced;
    const auto spend = [&]() -> beck::task<> {
      const std::string bytes = pattern(20);
      beck::ignore(before.in.write_some(buffer(bytes)));
      char byte = 0;
      for (int i = 0; i < calls; ++i)
        beck::ignore(co_await before.out.async_read_some(buffer(&byte, 1)));
      beck::ignore(from.in.write_some(buffer("abc", 3)));
      async_splice(from.out, to.in, 6, note(spliced));
      beck::ignore(from.in.write_some(buffer("def", 3)));
    };
    beck::co_spawn(ctx, spend, beck::detached);
    REQUIRE(beck::test::run_until(ctx, spliced));
    REQUIRE(spliced.ok());
    char there[7] = {};
    outcome read;
    async_read(to.out, buffer(there, 6), note(read));
    beck::test::run_until(ctx, read);
    CHECK(std::string(there) == "abcdef");
  }
}

CONFORMANCE("a splice ends with eof and what was moved when its source ends") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  CHECK(write(from.in, buffer("abcde", 5)) == 5);
  from.in.close();
  outcome spliced, again;
  async_splice(from.out, to.in, 100, note(spliced));
  beck::test::run_all(ctx);
  CHECK(spliced.ended_with(error::eof));
  CHECK(spliced.bytes == 5);
  async_splice_some(from.out, to.in, 100, note(again));
  beck::test::run_all(ctx);
  CHECK(again.ended_with(error::eof));
  CHECK(again.bytes == 0);
}

CONFORMANCE("a splice without a reader gives broken_pipe and no signal") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  local_connection c(ctx);
  CHECK(write(from.in, buffer("abcde", 5)) == 5);
  to.out.close();
  c.b.close();
  outcome to_pipe, to_socket;
  async_splice(from.out, to.in, 5, note(to_pipe));
  beck::test::run_all(ctx);
  CHECK(to_pipe.ended_with(error::broken_pipe));
  async_splice(from.out, c.a, 5, note(to_socket));
  beck::test::run_all(ctx);
  CHECK(to_socket.ended_with(error::broken_pipe));
}

CONFORMANCE("a splice without a pipe gives invalid_argument and moves nothing") {
  beck::io_context ctx(context_options());
  local_connection first(ctx);
  local_connection second(ctx);
  CHECK(write(first.a, buffer("abc", 3)) == 3);
  beck::test::let_arrive(ctx);
  outcome spliced, read;
  async_splice(first.b, second.a, 3, note(spliced));
  beck::test::run_all(ctx);
  CHECK(spliced.ended_with(error::invalid_argument));
  CHECK(spliced.bytes == 0);
  char there[3];
  async_read(first.b, buffer(there), note(read));
  beck::test::run_all(ctx);
  CHECK(read.ok());
}

CONFORMANCE("a splice of nothing completes at once, and of closed streams with bad_descriptor") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  outcome nothing, closed, closed_too;
  async_splice(from.out, to.in, 0, note(nothing));
  beck::test::run_all(ctx);
  CHECK(nothing.ok());
  CHECK(nothing.bytes == 0);
  to.in.close();
  async_splice(from.out, to.in, 1, note(closed));
  beck::test::run_all(ctx);
  CHECK(closed.ended_with(error::bad_descriptor));
  from.out.close();
  async_splice(from.out, to.in, 1, note(closed_too));
  beck::test::run_all(ctx);
  CHECK(closed_too.ended_with(error::bad_descriptor));
}

CONFORMANCE("cancel ends a splice on the side that it waits for, and tells what was moved") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  CHECK(write(from.in, buffer("abc", 3)) == 3);
  outcome reading, writing;
  async_splice(from.out, to.in, 10, note(reading));
  beck::test::let_settle(ctx);
  CHECK_FALSE(reading.done());
  from.out.cancel();
  beck::test::run_all(ctx);
  CHECK(reading.aborted());
  CHECK(reading.bytes == 3);
  beck::test::fill(to.in);
  CHECK(write(from.in, buffer("abc", 3)) == 3);
  async_splice(from.out, to.in, 3, note(writing));
  beck::test::let_settle(ctx);
  to.in.cancel();
  beck::test::run_all(ctx);
  CHECK(writing.aborted());
  CHECK(writing.bytes == 0);
  CHECK(from.out.available() == 3);
}

CONFORMANCE("closing a stream ends a splice that waits for it") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  outcome spliced;
  async_splice(from.out, to.in, 10, note(spliced));
  beck::test::let_settle(ctx);
  from.out.close();
  beck::test::run_all(ctx);
  CHECK(spliced.aborted());
}

CONFORMANCE("a splice ends when its source is destroyed, and its slot's next owner loses nothing") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  beck::test::fill(to.in);
  CHECK(write(from.in, buffer("abc", 3)) == 3);
  outcome spliced;
  async_splice(from.out, to.in, 3, note(spliced));
  beck::test::let_settle(ctx);  // it waits for room
  { const beck::readable_pipe gone(std::move(from.out)); }
  beck::test::let_settle(ctx);
  pipe_ends next(ctx);
  CHECK(write(next.in, buffer("secret", 6)) == 6);
  std::size_t drained = 0;
  CHECK(beck::test::drain(ctx, to.out, drained) == error::would_block);
  beck::test::run_all(ctx);
  CHECK(spliced.aborted());
  CHECK(spliced.bytes == 0);
  CHECK(next.out.available() == 6);
}

CONFORMANCE("a splice ends when its target is destroyed, and its slot's next owner gets nothing") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  outcome spliced;
  async_splice(from.out, to.in, 3, note(spliced));
  beck::test::let_settle(ctx);  // it waits for bytes
  { const beck::writable_pipe gone(std::move(to.in)); }
  beck::test::let_settle(ctx);
  beck::writable_pipe next_in(ctx);  // the first to take a slot
  beck::readable_pipe next_out(ctx);
  connect_pipe(next_out, next_in);
  CHECK(write(from.in, buffer("abc", 3)) == 3);
  beck::test::run_all(ctx);
  CHECK(spliced.aborted());
  CHECK(spliced.bytes == 0);
  CHECK(from.out.available() == 3);
  CHECK(next_out.available() == 0);
}

CONFORMANCE("a time limit ends a splice that is awaited, and a coroutine goes on with the rest") {
  beck::io_context ctx(context_options());
  pipe_ends from(ctx);
  pipe_ends to(ctx);
  error_code late;
  std::size_t first = 0, second = 0;
  auto program = [&]() -> beck::task<> {
    beck::ignore(co_await async_write(from.in, buffer("abc", 3)));
    auto [ec, n] =
        co_await beck::timeout(async_splice(from.out, to.in, 5), beck::duration(1'000'000));
    late = ec;
    first = n;
    beck::ignore(co_await async_write(from.in, buffer("de", 2)));
    second = (co_await async_splice(from.out, to.in, 2)).value();
  };
  co_spawn(ctx, program(), beck::detached);
  ctx.run();
  CHECK(late == error::timeout);
  CHECK(first == 3);
  CHECK(second == 2);
}

CONFORMANCE("a context may be destroyed with splices in flight") {
  outcome spliced;
  {
    beck::io_context ctx(context_options());
    pipe_ends from(ctx);
    pipe_ends to(ctx);
    async_splice(from.out, to.in, 10, note(spliced));
    beck::test::let_settle(ctx);
  }
  CHECK(spliced.calls == 0);
}

CONFORMANCE_ON(kernel, "a device without splice gives invalid_argument, one with it is spliced") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  beck::posix::stream_descriptor null(ctx, ::open("/dev/null", O_WRONLY | O_CLOEXEC));
  CHECK(write(pipe.in, buffer("abcde", 5)) == 5);
  outcome dropped;
  async_splice(pipe.out, null, 5, note(dropped));
  beck::test::run_all(ctx);
  CHECK(dropped.ok());
  CHECK(dropped.bytes == 5);
}

CONFORMANCE_ON(kernel, "a splice that data overtakes between two calls waits for the rest") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  pipe_ends pipe(ctx);
  tcp_connection c(ctx);
  const auto send = [&](const char* text) { CHECK(c.client.write_some(buffer(text, 3)) == 3); };
  system.after_splice = [&](int call) {
    if (call == 1) send("abc");  // the call has found nothing, and both ends are ready
  };
  outcome spliced;
  async_splice(c.server, pipe.in, 6, note(spliced));
  beck::test::let_settle(ctx);
  CHECK(spliced.calls == 0);
  send("def");
  beck::test::run_all(ctx);
  CHECK(spliced.ok());
  CHECK(spliced.bytes == 6);
}
