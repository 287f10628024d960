// SPDX-License-Identifier: BSL-1.0
// Pipes as objects: cancelling, closing, destruction, release, assign, move.
#include <beck/io/pipe.hpp>
#include <beck/io/read_write.hpp>

#include <cstring>
#include <ostream>
#include <string>
#include <utility>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pipes.hpp"

using beck::buffer;
using beck::error_code;
using beck::readable_pipe;
using beck::writable_pipe;
using beck::test::note;
using beck::test::outcome;
using beck::test::pipe_ends;
namespace error = beck::error;

CONFORMANCE("cancel ends reads and writes of pipes and loses no byte") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  const std::size_t held = beck::test::fill(pipe.in);
  outcome written;
  pipe.in.async_write_some(buffer("x", 1), note(written));
  beck::test::let_settle(ctx);
  pipe.in.cancel();
  beck::test::run_all(ctx);
  CHECK(written.aborted());
  CHECK(written.bytes == 0);
  std::string there(held, '\0');
  CHECK(read(pipe.out, buffer(there)) == held);
  outcome read_aborted;
  pipe.out.async_read_some(buffer(there), note(read_aborted));
  beck::test::let_settle(ctx);
  pipe.out.cancel();
  beck::test::run_all(ctx);
  CHECK(read_aborted.aborted());
  CHECK(pipe.in.write_some(buffer("y", 1)) == 1);
  CHECK(pipe.out.read_some(buffer(there)) == 1);
  CHECK(there[0] == 'y');
}

CONFORMANCE("close ends what is under way on a pipe with operation_aborted, posted") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  char there[4];
  outcome first, second;
  pipe.out.async_read_some(buffer(there), note(first));
  pipe.out.async_read_some(buffer(there), note(second));
  beck::test::let_settle(ctx);
  pipe.out.close();
  CHECK_FALSE(pipe.out.is_open());
  CHECK(first.calls == 0);
  beck::test::run_all(ctx);
  CHECK(first.aborted());
  CHECK(second.aborted());
}

CONFORMANCE("a pipe may be destroyed with operations in flight") {
  beck::io_context ctx(context_options());
  outcome read, written;
  char there[4];
  {
    pipe_ends idle(ctx);
    idle.out.async_read_some(buffer(there), note(read));
    pipe_ends full(ctx);
    beck::test::fill(full.in);
    full.in.async_write_some(buffer("x", 1), note(written));
    beck::test::let_settle(ctx);
  }
  beck::test::run_all(ctx);
  CHECK(read.aborted());
  // The reader's end goes after the writer's, or before it: both are right.
  CHECK(written.calls == 1);
  CHECK(written.ec);
}

CONFORMANCE("a context may be destroyed with operations on pipes in flight") {
  outcome read, written;
  char there[4];
  {
    beck::io_context ctx(context_options());
    pipe_ends idle(ctx);
    pipe_ends full(ctx);
    beck::test::fill(full.in);
    idle.out.async_read_some(buffer(there), note(read));
    full.in.async_write_some(buffer("x", 1), note(written));
    beck::test::let_settle(ctx);
  }
  CHECK(read.calls == 0);
  CHECK(written.calls == 0);
}

CONFORMANCE("operations on a closed pipe give bad_descriptor") {
  beck::io_context ctx(context_options());
  readable_pipe out(ctx);
  writable_pipe in(ctx);
  char there[4];
  outcome read, written;
  out.async_read_some(buffer(there), note(read));
  in.async_write_some(buffer("x", 1), note(written));
  beck::test::run_all(ctx);
  CHECK(read.ended_with(error::bad_descriptor));
  CHECK(written.ended_with(error::bad_descriptor));
  CHECK(out.native_handle() == -1);
  error_code ec;
  out.cancel(ec);
  CHECK(ec == error::bad_descriptor);
}

CONFORMANCE("a released end goes on in another object") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  CHECK(pipe.in.write_some(buffer("ab", 2)) == 2);
  const int handle = pipe.out.release();
  CHECK_FALSE(pipe.out.is_open());
  readable_pipe other(ctx, handle);
  CHECK(other.native_handle() == handle);
  char there[2] = {};
  outcome read;
  async_read(other, buffer(there), note(read));
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(std::memcmp(there, "ab", 2) == 0);
  pipe.in.close();
  outcome end;
  other.async_read_some(buffer(there), note(end));
  beck::test::run_all(ctx);
  CHECK(end.ended_with(error::eof));
}

CONFORMANCE("assign to an open pipe gives already_open, and of nothing bad_descriptor") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  error_code ec;
  pipe.out.assign(pipe.in.native_handle(), ec);
  CHECK(ec == error::already_open);
  readable_pipe closed(ctx);
  closed.assign(-1, ec);
  CHECK(ec == error::bad_descriptor);
  CHECK_FALSE(closed.is_open());
  CHECK_THROWS_AS(closed.assign(-1), beck::io_error);
}

CONFORMANCE("a pipe may be moved with operations in flight, and the moved-from one is closed") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  char there[4];
  outcome read, refused;
  pipe.out.async_read_some(buffer(there), note(read));
  beck::test::let_settle(ctx);
  readable_pipe other(std::move(pipe.out));
  CHECK(other.is_open());
  CHECK_FALSE(pipe.out.is_open());
  pipe.out.async_read_some(buffer(there), note(refused));
  CHECK(pipe.in.write_some(buffer("x", 1)) == 1);
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(refused.ended_with(error::bad_descriptor));
  writable_pipe in(ctx);
  writable_pipe in_elsewhere(std::move(in));
  connect_pipe(pipe.out, in);  // both are as new
  CHECK(in.write_some(buffer("y", 1)) == 1);
  CHECK(pipe.out.read_some(buffer(there)) == 1);
  CHECK(there[0] == 'y');
}

CONFORMANCE("the time limit of a pipe ends a write that waits for room") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  const std::size_t held = beck::test::fill(pipe.in);
  outcome written;
  pipe.in.expires_after(beck::duration(1'000'000));
  pipe.in.async_write_some(buffer("x", 1), note(written));
  REQUIRE(beck::test::run_until(ctx, written));
  CHECK(written.ended_with(error::timeout));
  CHECK(pipe.out.available() == held);
}
