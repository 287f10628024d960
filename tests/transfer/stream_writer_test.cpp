// SPDX-License-Identifier: BSL-1.0
// stream_writer over a stream that takes as many bytes as the test says: what leaves together, in
// which order, and what is lent.
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

TEST_CASE("writer: what gathers in a turn leaves in one write at its end") {
  fixture f;
  std::uint64_t entries = 0;
  beck::post(*f.ctx, [&] {
    entries = f.ctx->stats().entries_run;
    f.s->say("one ");
    f.s->say("two ");
    beck::post(*f.ctx, [&] { CHECK(f.s->stream.taken == "one two "); });
    CHECK(f.s->stream.taken.empty());
  });
  f.run();
  CHECK(f.ctx->stats().entries_run == entries + 2);  // the end of the turn, and the look behind it
  CHECK(f.s->stream.writes == 1);
  CHECK(f.s->writer.sent() == 8);
  f.s->say("three");
  f.s->writer.flush();
  CHECK(f.s->stream.taken == "one two three");
  f.run();  // the turn's end finds nothing
  CHECK(f.s->stream.writes == 2);
  CHECK(f.s->stalls == 0);
  CHECK(f.s.use_count() == 1);
}

TEST_CASE("writer: a full stream is written to in the background, in order") {
  fixture f;
  f.s->stream.room = 3;
  f.s->say("abcdefgh");
  f.settle();
  CHECK(f.s->stream.taken == "abc");
  CHECK(f.s->writer.is_writing());
  CHECK(f.s->stalls == 1);
  CHECK(f.s->stall_ends == 0);
  f.s->say("ijk");      // behind what waits
  f.s->writer.flush();  // the coroutine writes: nothing overtakes it
  CHECK(f.s->stream.writes == 1);
  f.s->stream.widen(2);
  f.settle();
  CHECK(f.s->stream.taken == "abcde");
  CHECK(f.s->writer.is_writing());
  f.s->stream.widen(100);
  f.settle();
  CHECK(f.s->stream.taken == "abcdefghijk");
  CHECK_FALSE(f.s->writer.is_writing());
  CHECK_FALSE(f.s->writer.is_stopped());
  CHECK(f.s->stall_ends == 1);
  CHECK(f.s->writer.sent() == 11);
  CHECK(f.s.use_count() == 1);
}

TEST_CASE("writer: a stream that takes nothing at all is full, too") {
  fixture f;
  f.s->stream.room = 0;
  f.s->say("abc");
  f.settle();
  CHECK(f.s->errors == 0);
  CHECK(f.s->stalls == 1);
  f.s->stream.widen(3);
  f.settle();
  CHECK(f.s->stream.taken == "abc");
}

TEST_CASE("writer: other work gets its turn between many writes") {
  fixture f;
  const auto slow = std::make_shared<sender>(*f.ctx, 4);
  slow->bytes_a_write = 1;
  int written_before = -1;
  beck::post(*f.ctx, [&] {
    slow->say("abcdefghij");
    slow->writer.flush();
    beck::post(*f.ctx, [&] { written_before = slow->stream.writes; });
  });
  f.run();
  CHECK(slow->stream.taken == "abcdefghij");
  CHECK(written_before >= 4);
  CHECK(written_before < 10);
}

TEST_CASE("writer: bytes that a source adds when others were sent are sent, too") {
  fixture f;
  f.s->answer = "pong";
  f.s->say("ping ");
  f.run();
  CHECK(f.s->stream.taken == "ping pong");
}

TEST_CASE("writer: large parts go behind what waits, and only the rest is kept") {
  fixture f;
  const beck::const_buffer parts[] = {buffer_of("head "), buffer_of("body")};
  f.s->waiting = "before ";
  f.s->writer.send_behind({parts, 2});
  CHECK(f.s->stream.taken == "before head body");
  CHECK(f.s->waiting.empty());
  CHECK(f.s->writer.sent() == 16);
  for (std::size_t room = 0; room <= 16; ++room) {
    CAPTURE(room);
    fixture g;
    g.s->stream.room = room;
    g.s->waiting = "before ";
    g.s->answer = " answer";  // never in the middle of the parts
    g.s->writer.send_behind({parts, 2});
    g.s->stream.widen(100);
    g.settle();
    CHECK(g.s->stream.taken == "before head body answer");
    CHECK(g.s->writer.sent() == 23);
  }
}

TEST_CASE("writer: parts behind a write in the background are kept whole") {
  fixture f;
  f.s->stream.room = 1;
  f.s->say("abc");
  f.settle();
  const beck::const_buffer part = buffer_of("def");
  f.s->writer.send_behind({&part, 1});
  CHECK(f.s->waiting == "bcdef");
  f.s->stream.widen(100);
  f.settle();
  CHECK(f.s->stream.taken == "abcdef");
}

TEST_CASE(
    "writer: without memory for the rest of parts nothing is sent twice, and nothing is stuck") {
  const beck::const_buffer part = buffer_of("parts");
  for (std::size_t room = 0; room <= 3; ++room) {
    CAPTURE(room);
    fixture f;
    f.s->waiting = "abc";
    f.s->stream.room = room;
    f.s->keeps_nothing = true;
    CHECK_THROWS_AS(f.s->writer.send_behind({&part, 1}), std::bad_alloc);
    CHECK(f.s->errors == 0);
    CHECK(f.s->writer.sent() == room);
    f.s->stream.widen(100);
    f.settle();
    CHECK(f.s->stream.taken == "abc");
    CHECK(f.s->waiting.empty());
  }
}

TEST_CASE("writer: parts behind more buffers than a write takes are sent, too") {
  fixture f;
  f.s->part_bytes = 1;
  f.s->waiting = "0123456789abcdef";
  const beck::const_buffer part = buffer_of("parts");
  f.s->writer.send_behind({&part, 1});
  CHECK(f.s->stream.taken == "0123456789abcdefparts");
}

TEST_CASE("writer: nothing leaves while the stream is lent") {
  fixture f;
  f.s->waiting = "head ";
  f.s->writer.lend();
  CHECK(f.s->writer.is_writing());
  CHECK(f.s->stalls == 1);
  f.s->say("more");
  f.s->writer.flush();
  f.settle();
  CHECK(f.s->stream.writes == 0);
  f.s->writer.note_sent(1000);
  CHECK(f.s->stall_ends == 0);
  f.s->writer.take_back(5);
  CHECK(f.s->waiting == "more");
  CHECK(f.s->writer.sent() == 1005);
  CHECK(f.s->stall_ends == 1);
  f.s->writer.flush();
  CHECK(f.s->stream.taken == "more");
  f.s->writer.lend();
  f.s->writer.stop();
  CHECK(f.s->writer.is_writing());
  f.s->writer.take_back(0);
  CHECK(f.s->writer.is_stopped());
  CHECK_FALSE(f.s->writer.is_writing());
  CHECK(f.s->stall_ends == 2);
}

TEST_CASE("writer: a wait until it is idle ends with a loan") {
  fixture f;
  f.s->writer.lend();
  bool ended = false;
  const auto wait = [&]() -> task<> {
    const error_code ec = co_await f.s->writer.wait_until_idle();
    CHECK_FALSE(ec);
    ended = true;
  };
  beck::co_spawn(*f.ctx, wait, beck::detached);
  f.settle();
  CHECK_FALSE(ended);
  f.s->writer.take_back(0);
  f.settle();
  CHECK(ended);
}

TEST_CASE("writer: it is not idle if a loan's end has begun another write") {
  fixture f;
  f.s->flushes_at_end = true;
  f.s->writer.lend();
  f.s->stream.room = 0;
  f.s->waiting = "abc";
  f.s->writer.take_back(0);
  CHECK(f.s->writer.is_writing());
  int rounds = 0;
  const auto wait = [&]() -> task<> {
    ++rounds;
    const error_code ec = co_await f.s->writer.wait_until_idle();
    CHECK_FALSE(ec);
    rounds += 10;
  };
  beck::co_spawn(*f.ctx, wait, beck::detached);
  f.settle();
  CHECK(rounds == 1);
  f.s->stream.widen(3);
  f.settle();
  CHECK(rounds == 11);
  CHECK(f.s->stream.taken == "abc");
}

TEST_CASE("writer: the end of the stream follows the last of several writes, and no other") {
  for (const std::size_t bytes : {15U, 16U, 17U, 40U}) {
    CAPTURE(bytes);
    fixture f;
    f.s->part_bytes = 1;
    f.s->bytes_a_write = 16;
    f.s->waiting = std::string(bytes, 'x');
    f.s->writer.end_follows();
    f.s->writer.flush();
    CHECK(f.s->stream.taken.size() == bytes);
    CHECK(f.s->stream.lasts == (bytes % 16 == 0 ? 0 : 1));  // finish() says the end then
    CHECK(f.s->stream.was_last == (bytes % 16 != 0));
  }
}
