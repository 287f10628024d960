// SPDX-License-Identifier: BSL-1.0
// stream_writer over a stream that takes as many bytes as the test says: what leaves together, in
// which order, and the ends: a stop, an error, no memory, a context that goes.
#include <doctest/doctest.h>
#include <algorithm>
#include <beck/coro/event.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/net/tcp.hpp>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "support/allocations.hpp"
#include "transfer/stream_writer.hpp"

using beck::error_code;
using beck::task;
using beck::detail::stream_writer;
using beck::detail::writer_source;
namespace error = beck::error;

namespace {

/// A stream that has room for some bytes, and waits for more room.
class narrow_stream final : public beck::byte_stream {
 public:
  explicit narrow_stream(beck::io_context& ctx) : socket_(ctx) {}

  task<beck::io_result<beck::buffer_lease>> receive() override {
    co_return beck::io_result<beck::buffer_lease>(error::make_error_code(error::eof), {});
  }
  task<beck::io_result<std::size_t>> read_some(beck::mutable_buffer) override {
    co_return beck::io_result<std::size_t>(error::make_error_code(error::eof), 0);
  }
  task<beck::io_result<std::size_t>> write_some(beck::const_buffer_span parts) override {
    ++waits;
    while (room == 0 && !fails) {
      has_room_.reset();
      auto waited = co_await has_room_.wait();
      if (waited.error()) co_return beck::io_result<std::size_t>(waited.error(), 0);
    }
    const error_code ec = fails;
    const std::size_t bytes = ec ? 0 : take(parts);
    co_return beck::io_result<std::size_t>(ec, bytes);
  }
  std::size_t write_now(beck::const_buffer_span parts, error_code& ec) noexcept override {
    ++writes;
    was_last = false;
    ec = fails;
    if (!ec && room == 0) ec = error::would_block;
    return ec ? 0 : take(parts);
  }
  std::size_t write_last(beck::const_buffer_span parts, error_code& ec) noexcept override {
    const std::size_t sent = write_now(parts, ec);
    was_last = true;
    return sent;
  }
  task<beck::io_result<>> finish() override { co_return beck::io_result<>(); }
  beck::detail::stream_object& socket() noexcept override { return socket_; }
  bool is_plain() const noexcept override { return true; }

  /// Makes room, also for a write that waits.
  void widen(std::size_t by) {
    room += by;
    has_room_.set();
  }
  /// Lets all writes fail, also one that waits.
  void fail(error_code why) {
    fails = why;
    has_room_.set();
  }

  std::string taken;
  std::size_t room = SIZE_MAX / 2;
  error_code fails;
  int writes = 0, waits = 0;
  bool was_last = false;  // the last write by write_now() or write_last() was by that

 private:
  std::size_t take(beck::const_buffer_span parts) {
    const std::size_t before = taken.size();
    for (const beck::const_buffer& part : parts) {
      const std::size_t bytes = std::min(part.size(), room);
      taken.append(static_cast<const char*>(part.data()), bytes);
      room -= bytes;
    }
    return taken.size() - before;
  }

  beck::ip::tcp::socket socket_;
  beck::manual_reset_event has_room_;
};

/// A protocol that queues text.
class sender final : public writer_source, public std::enable_shared_from_this<sender> {
 public:
  explicit sender(beck::io_context& ctx, unsigned writes_max = 64)
      : stream(ctx), writer(*this, writes_max), executor_(ctx.get_executor()) {
    writer.start(executor_, stream);
  }

  void say(std::string_view text) {
    waiting += text;
    writer.schedule();
  }

  std::size_t gather(part_array& parts) override {
    if (no_memory) throw std::bad_alloc();
    const std::size_t bytes = std::min(waiting.size(), bytes_a_write);
    std::size_t count = 0;
    for (std::size_t at = 0; at < bytes && count < parts_max; at += parts[count++].size()) {
      parts[count] = beck::const_buffer(waiting.data() + at, std::min(part_bytes, bytes - at));
    }
    return count;
  }
  void take_sent(std::size_t bytes) noexcept override {
    waiting.erase(0, bytes);
    if (!answer.empty()) waiting += std::exchange(answer, {});
  }
  void keep_rest(beck::const_buffer_span parts, std::size_t sent) override {
    if (keeps_nothing || no_memory) throw std::bad_alloc();
    for (const beck::const_buffer& part : parts) {
      const std::size_t skipped = std::min(sent, part.size());
      sent -= skipped;
      waiting.append(static_cast<const char*>(part.data()) + skipped, part.size() - skipped);
    }
  }
  void take_write_error(const error_code& why) noexcept override {
    failed = why;
    ++errors;
    if (stops_on_error) writer.stop();
  }
  void begin_stall() noexcept override { ++stalls; }
  void end_stall() noexcept override { ++stall_ends; }
  void hold() noexcept override { hold_.hold(shared_from_this()); }
  void let_go() noexcept override { hold_.let_go(); }

  narrow_stream stream;
  stream_writer writer;
  std::string waiting, answer;
  std::size_t bytes_a_write = SIZE_MAX, part_bytes = SIZE_MAX;
  error_code failed;
  int errors = 0, stalls = 0, stall_ends = 0;
  bool no_memory = false, keeps_nothing = false, stops_on_error = true;

 private:
  beck::any_io_executor executor_;
  beck::detail::shared_hold hold_;
};

struct fixture {
  std::optional<beck::io_context> ctx{std::in_place};
  std::shared_ptr<sender> s = std::make_shared<sender>(*ctx);
  void run() {
    ctx->restart();
    ctx->run();
  }
  /// Runs what is ready; a write may still wait for room.
  void settle() {
    ctx->restart();
    ctx->poll();
  }
};

beck::const_buffer buffer_of(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

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
