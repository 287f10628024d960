// SPDX-License-Identifier: BSL-1.0
// The ends of stream_writer: a stop, an error, no memory, a context that goes.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/event.hpp>
#include <beck/run/post.hpp>
#include <memory>
#include <string>

#include "support/allocations.hpp"
#include "transfer/writer_source.hpp"

using beck::error_code;
using beck::task;
using beck::test::buffer_of;
using beck::test::sender;
using fixture = beck::test::writer_fixture;
namespace error = beck::error;

TEST_CASE("writer: nothing is sent after a stop, wherever it comes") {
  fixture f;
  f.s->say("abc");  // the end of the turn is queued
  f.s->writer.stop();
  f.s->writer.stop();
  f.s->writer.flush();
  f.run();
  CHECK(f.s->stream.writes == 0);
  CHECK(f.s->writer.is_stopped());
  f.s->writer.start(f.ctx->get_executor(), f.s->stream);  // over a new connection
  f.s->stream.room = 1;
  f.s->writer.flush();
  f.settle();
  CHECK(f.s->writer.is_writing());
  f.s->writer.stop();
  CHECK(f.s->writer.is_writing());  // the gathered bytes must stay
  f.s->stream.widen(1);
  f.settle();
  CHECK(f.s->stream.taken == "ab");  // what the stream had already been given
  CHECK_FALSE(f.s->writer.is_writing());
  CHECK(f.s->writer.is_stopped());
  CHECK(f.s->stall_ends == 1);
  CHECK(f.s.use_count() == 1);
}

TEST_CASE("writer: an error is told once to a source that stops") {
  const error_code reset = make_error_code(std::errc::connection_reset);
  for (const bool waits : {false, true}) {
    CAPTURE(waits);
    fixture f;
    if (waits) f.s->stream.room = 1;
    if (!waits) f.s->stream.fail(reset);
    f.s->say("abc");
    f.settle();
    f.s->stream.fail(reset);
    f.settle();
    CHECK(f.s->failed == reset);
    CHECK(f.s->errors == 1);
    CHECK(f.s->writer.is_stopped());
    CHECK_FALSE(f.s->writer.is_writing());
    f.s->say("more");
    f.run();
    CHECK(f.s->errors == 1);
    const beck::const_buffer part = buffer_of("parts");
    f.s->writer.send_behind({&part, 1});
    CHECK(f.s->errors == 1);
  }
}

TEST_CASE("writer: parts that fail at once are told, and not kept") {
  fixture f;
  f.s->stream.fail(make_error_code(std::errc::broken_pipe));
  const beck::const_buffer part = buffer_of("parts");
  f.s->writer.send_behind({&part, 1});
  CHECK(f.s->errors == 1);
  CHECK(f.s->waiting.empty());
}

TEST_CASE("writer: a source that does not stop tries again with the next bytes") {
  fixture f;
  f.s->stops_on_error = false;
  f.s->stream.fail(make_error_code(error::operation_aborted));
  f.s->say("abc");
  f.run();
  CHECK(f.s->errors == 1);
  f.s->stream.fails = error_code();
  f.s->say("def");
  f.run();
  CHECK(f.s->stream.taken == "abcdef");
}

TEST_CASE("writer: no memory is an error of the write") {
  fixture f;
  f.s->no_memory = true;
  f.s->waiting = "abc";
  f.s->writer.flush();
  CHECK(f.s->failed == error::no_memory);
  fixture g;
  g.s->no_memory = true;
  const beck::const_buffer part = buffer_of("parts");
  CHECK_THROWS_AS(g.s->writer.send_behind({&part, 1}), std::bad_alloc);  // of gather()
  CHECK(g.s->errors == 0);
  CHECK(g.s->stream.taken.empty());  // it must not overtake what waits
  fixture h;                         // a part of the parts is on its way
  h.s->no_memory = false;
  h.s->stream.room = 2;
  h.s->keeps_nothing = true;
  h.s->writer.send_behind({&part, 1});
  CHECK(h.s->stream.taken == "pa");
  CHECK(h.s->failed == error::no_memory);
  CHECK(h.s->writer.is_stopped());
}

TEST_CASE(
    "writer: without memory for its coroutine the write fails, and a stop or more bytes follow") {
  NEEDS_ALLOCATION_FAULTS();
  for (int n = 1;; ++n) {
    CAPTURE(n);
    fixture f;
    f.s->stream.room = 1;
    f.s->waiting = "abc";
    bool fired = false;
    {
      const beck::test::allocation_fault fault(n);
      f.s->writer.flush();
      fired = fault.fired();
    }
    f.settle();
    if (!fired) break;
    CHECK(f.s->failed == error::no_memory);
    CHECK(f.s->errors == 1);
    CHECK(f.s->writer.is_stopped());
    CHECK_FALSE(f.s->writer.is_writing());
    CHECK(f.s->stall_ends == f.s->stalls);
    CHECK(f.s.use_count() == 1);
  }
}

TEST_CASE("writer: once its blocks are recycled it allocates nothing") {
  fixture f;
  f.s->waiting.reserve(1000);
  f.s->stream.taken.reserve(10'000);
  std::uint64_t before = 0;
  for (int round = 0; round < 10; ++round) {
    if (round == 2) before = beck::test::allocations();
    f.s->stream.room = 3;
    f.s->say("abcdefgh");
    f.settle();
    f.s->stream.widen(100);
    f.settle();
  }
  const std::uint64_t after = beck::test::allocations();
  CHECK(f.s->stream.taken.size() == 80);
  if (beck::test::counts_allocations()) CHECK(after == before);
}

TEST_CASE("writer: a context that goes releases the owner, whatever the writer does") {
  for (const bool full : {false, true}) {
    CAPTURE(full);
    fixture f;
    const std::weak_ptr<sender> watched = f.s;
    if (full) f.s->stream.room = 1;
    f.s->say("abc");
    if (full) f.settle();
    f.s.reset();
    CHECK_FALSE(watched.expired());  // the queued entry, or the coroutine, holds it
    f.ctx.reset();
    CHECK(watched.expired());
  }
}

TEST_CASE("writer: a wait until it is idle ends with the bytes, or with a stop") {
  fixture f;
  f.s->stream.room = 1;
  f.s->waiting = "abc";
  f.s->writer.flush();
  int ended = 0;
  const auto wait = [&]() -> task<> {
    const error_code ec = co_await f.s->writer.wait_until_idle();
    CHECK_FALSE(ec);
    ++ended;
  };
  beck::co_spawn(*f.ctx, wait, beck::detached);
  f.settle();
  CHECK(ended == 0);
  f.s->stream.widen(2);
  f.settle();
  CHECK(ended == 1);
  f.s->stream.room = 0;
  f.s->waiting = "d";
  f.s->writer.flush();
  beck::co_spawn(*f.ctx, wait, beck::detached);
  f.settle();
  f.s->writer.stop();
  f.s->stream.widen(1);
  f.settle();
  CHECK(ended == 2);
}

TEST_CASE("writer: the last bytes leave with the end of the stream") {
  fixture f;
  f.s->waiting = "abc";
  f.s->writer.flush();
  CHECK_FALSE(f.s->stream.was_last);
  f.s->waiting = "def";
  f.s->writer.end_follows();
  f.s->writer.flush();
  CHECK(f.s->stream.was_last);
  const beck::const_buffer part = buffer_of("ghi");
  f.s->stream.was_last = false;
  f.s->writer.send_behind({&part, 1});
  CHECK(f.s->stream.was_last);
  CHECK(f.s->stream.taken == "abcdefghi");
}
