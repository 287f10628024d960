// SPDX-License-Identifier: BSL-1.0
// Pipes: bytes, ends, room, order.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/pipes.hpp"

using beck::buffer;
using beck::error_code;
using beck::readable_pipe;
using beck::writable_pipe;
using beck::test::note;
using beck::test::outcome;
using beck::test::pattern;
using beck::test::pipe_ends;
namespace error = beck::error;

CONFORMANCE("a pipe carries bytes from one end to the other") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  char there[6] = {};
  outcome written, read;
  pipe.in.async_write_some(buffer("hello", 5), note(written));
  pipe.out.async_read_some(buffer(there), note(read));
  CHECK(written.calls == 0);
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(written.bytes == 5);
  CHECK(read.ok());
  CHECK(read.bytes == 5);
  CHECK(std::string(there) == "hello");
}

CONFORMANCE("a read of an empty pipe waits for a write") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  char there[8] = {};
  outcome read;
  pipe.out.async_read_some(buffer(there), note(read));
  beck::test::let_settle(ctx);
  CHECK_FALSE(read.done());
  CHECK(pipe.in.write_some(buffer("x", 1)) == 1);
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(read.bytes == 1);
}

CONFORMANCE("connect_pipe with an open end gives already_open and opens neither") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  readable_pipe out(ctx);
  writable_pipe in(ctx);
  error_code ec;
  connect_pipe(pipe.out, in, ec);
  CHECK(ec == error::already_open);
  CHECK_FALSE(in.is_open());
  connect_pipe(out, pipe.in, ec);
  CHECK(ec == error::already_open);
  CHECK_FALSE(out.is_open());
  CHECK_THROWS_AS(connect_pipe(pipe.out, in), beck::io_error);
}

CONFORMANCE("a pipe ends with eof after the last byte when its writer is closed") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  CHECK(write(pipe.in, buffer("rest", 4)) == 4);
  pipe.in.close();
  char there[16];
  outcome first, second, third;
  pipe.out.async_read_some(buffer(there), note(first));
  beck::test::run_all(ctx);
  CHECK(first.ok());
  CHECK(first.bytes > 0);
  std::size_t bytes = first.bytes;
  error_code ec;
  while (!ec) bytes += pipe.out.read_some(buffer(there), ec);
  CHECK(bytes == 4);
  CHECK(ec == error::eof);
  pipe.out.async_read_some(buffer(there), note(second));
  beck::test::run_all(ctx);
  CHECK(second.ended_with(error::eof));
}

CONFORMANCE("a read that waits ends with eof when the writer is closed") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  char there[16];
  outcome read;
  pipe.out.async_read_some(buffer(there), note(read));
  beck::test::let_settle(ctx);
  pipe.in.close();
  beck::test::run_all(ctx);
  CHECK(read.ended_with(error::eof));
}

CONFORMANCE("a write without a reader gives broken_pipe and no signal") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  pipe.out.close();
  outcome single, parts, whole;
  pipe.in.async_write_some(buffer("x", 1), note(single));
  beck::test::run_all(ctx);
  CHECK(single.ended_with(error::broken_pipe));
  const beck::const_buffer two[] = {buffer("y", 1), buffer("z", 1)};
  pipe.in.async_write_some(two, note(parts));
  async_write(pipe.in, buffer("more", 4), note(whole));
  beck::test::run_all(ctx);
  CHECK(parts.ended_with(error::broken_pipe));
  CHECK(whole.ended_with(error::broken_pipe));
  CHECK(whole.bytes == 0);
  error_code ec;
  CHECK(pipe.in.write_some(buffer("x", 1), ec) == 0);
  CHECK(ec == error::broken_pipe);
}

CONFORMANCE("a write that waits for room gives broken_pipe when the reader is closed") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  CHECK(beck::test::fill(pipe.in) > 0);
  outcome written;
  pipe.in.async_write_some(buffer("x", 1), note(written));
  beck::test::let_settle(ctx);
  CHECK_FALSE(written.done());
  pipe.out.close();
  beck::test::run_all(ctx);
  CHECK(written.ended_with(error::broken_pipe));
}

CONFORMANCE("a full pipe makes a write wait until somebody reads") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  const std::size_t held = beck::test::fill(pipe.in);
  outcome written, read;
  pipe.in.async_write_some(buffer("x", 1), note(written));
  beck::test::let_settle(ctx);
  CHECK_FALSE(written.done());
  std::string there(held, '\0');
  async_read(pipe.out, buffer(there), note(read));
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(read.bytes == held);
  CHECK(written.ok());
}

CONFORMANCE("much more than a pipe holds goes through it in order") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  const std::string sent = pattern(700'001);
  std::string there(sent.size(), '\0');
  outcome written, read;
  async_write(pipe.in, buffer(sent), note(written));
  async_read(pipe.out, buffer(there), note(read));
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(written.bytes == sent.size());
  CHECK(read.ok());
  CHECK((there == sent));
}

CONFORMANCE("several buffers are written and read as one") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  const beck::const_buffer parts[] = {buffer("ab", 2), buffer("", 0), buffer("cde", 3)};
  char first[1] = {}, second[4] = {};
  const beck::mutable_buffer places[] = {buffer(first), buffer(second)};
  outcome written, read;
  async_write(pipe.in, parts, note(written));
  async_read(pipe.out, places, note(read));
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(written.bytes == 5);
  CHECK(read.ok());
  CHECK(first[0] == 'a');
  CHECK(std::memcmp(second, "bcde", 4) == 0);
}

CONFORMANCE("many parts go through a pipe that is too small for them") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  const std::string sent = pattern(300'000);
  std::vector<beck::const_buffer> parts;
  for (std::size_t at = 0; at < sent.size(); at += 10'000) {
    parts.push_back(buffer(sent.data() + at, 10'000));
  }
  std::string there(sent.size(), '\0');
  outcome written, read;
  async_write(pipe.in, parts, note(written));
  async_read(pipe.out, buffer(there), note(read));
  beck::test::run_all(ctx);
  CHECK(written.ok());
  CHECK(read.ok());
  CHECK((there == sent));
}

CONFORMANCE("an empty buffer is read and written at once, also on a full or empty pipe") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  outcome read, written;
  pipe.out.async_read_some(buffer(static_cast<char*>(nullptr), 0), note(read));
  beck::test::fill(pipe.in);
  pipe.in.async_write_some(buffer("", 0), note(written));
  CHECK(read.calls == 0);
  beck::test::run_all(ctx);
  CHECK(read.ok());
  CHECK(read.bytes == 0);
  CHECK(written.ok());
}

CONFORMANCE("reads of one pipe complete in the order of their start") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  std::string order;
  char bytes[3] = {};
  for (int i = 0; i < 3; ++i) {
    pipe.out.async_read_some(buffer(&bytes[i], 1), [&order, i](error_code ec, std::size_t) {
      order += ec ? 'e' : static_cast<char>('0' + i);
    });
  }
  beck::test::let_settle(ctx);
  CHECK(write(pipe.in, buffer("abc", 3)) == 3);
  beck::test::run_all(ctx);
  CHECK(order == "012");
  CHECK(std::memcmp(bytes, "abc", 3) == 0);
}

CONFORMANCE("a synchronous read or write of a non-blocking pipe gives would_block") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  pipe.out.non_blocking(true);
  CHECK(pipe.out.non_blocking());
  char there[4];
  error_code ec;
  CHECK(pipe.out.read_some(buffer(there), ec) == 0);
  CHECK(ec == error::would_block);
  beck::test::fill(pipe.in);
  pipe.in.non_blocking(true);
  CHECK(pipe.in.write_some(buffer("x", 1), ec) == 0);
  CHECK(ec == error::would_block);
  CHECK_THROWS_AS(pipe.in.write_some(buffer("x", 1)), beck::io_error);
}

CONFORMANCE("what can be read from a pipe is counted") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  CHECK(pipe.out.available() == 0);
  CHECK(pipe.in.write_some(buffer("abc", 3)) == 3);
  CHECK(pipe.out.available() == 3);
}

CONFORMANCE("a small write to an almost full pipe is whole or waits") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  const std::size_t held = beck::test::fill(pipe.in);
  std::string there(held, '\0');
  CHECK(read(pipe.out, buffer(there.data(), 100)) == 100);
  const std::string whole = pattern(4096);
  outcome written, rest;
  pipe.in.async_write_some(buffer(whole), note(written));
  beck::test::let_settle(ctx);
  async_read(pipe.out, buffer(there.data(), held - 100), note(rest));
  beck::test::run_all(ctx);
  CHECK(rest.ok());
  CHECK(written.ok());
  CHECK(written.bytes == whole.size());
}

CONFORMANCE("async_read_until reads lines from a pipe") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  std::string text;
  outcome first, second, last;
  CHECK(write(pipe.in, buffer("one\ntwo\nth", 10)) == 10);
  pipe.in.close();
  async_read_until(pipe.out, beck::dynamic_buffer(text), '\n', note(first));
  beck::test::run_all(ctx);
  CHECK(first.ok());
  CHECK(text.substr(0, first.bytes) == "one\n");
  text.erase(0, first.bytes);
  async_read_until(pipe.out, beck::dynamic_buffer(text), '\n', note(second));
  beck::test::run_all(ctx);
  CHECK(text.substr(0, second.bytes) == "two\n");
  text.erase(0, second.bytes);
  async_read_until(pipe.out, beck::dynamic_buffer(text), '\n', note(last));
  beck::test::run_all(ctx);
  CHECK(last.ended_with(error::eof));
  CHECK(text == "th");
}

CONFORMANCE("coroutines talk through two pipes, message by message") {
  beck::io_context ctx(context_options());
  pipe_ends there(ctx);
  pipe_ends back(ctx);
  int rounds = 0;
  auto echo = [](readable_pipe& from, writable_pipe& to) -> beck::task<> {
    char message[64];
    for (;;) {
      auto [ec, n] = co_await from.async_read_some(buffer(message));
      if (ec) co_return;
      (co_await async_write(to, buffer(message, n))).value();
    }
  };
  auto ask = [&rounds](writable_pipe& to, readable_pipe& from) -> beck::task<> {
    char answer[4];
    for (; rounds < 500; ++rounds) {
      (co_await async_write(to, buffer("ping", 4))).value();
      (co_await async_read(from, buffer(answer))).value();
    }
    to.close();
  };
  co_spawn(ctx, echo(there.out, back.in), beck::detached);
  co_spawn(ctx, ask(there.in, back.out), beck::detached);
  ctx.run();
  CHECK(rounds == 500);
}

CONFORMANCE("a timeout ends a read of a pipe and takes no byte") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  char there[4] = {};
  error_code seen;
  auto program = [&]() -> beck::task<> {
    auto [ec, n] =
        co_await beck::timeout(pipe.out.async_read_some(buffer(there)), beck::duration(1'000'000));
    seen = ec;
    CHECK(n == 0);
    (co_await async_write(pipe.in, buffer("z", 1))).value();
    (co_await async_read(pipe.out, buffer(there, 1))).value();
  };
  co_spawn(ctx, program(), beck::detached);
  ctx.run();
  CHECK(seen == error::timeout);
  CHECK(there[0] == 'z');
}

CONFORMANCE("expires_after holds for pipes") {
  beck::io_context ctx(context_options());
  pipe_ends pipe(ctx);
  char there[4];
  outcome read;
  pipe.out.expires_after(beck::duration(1'000'000));
  pipe.out.async_read_some(buffer(there), note(read));
  beck::test::run_until(ctx, read);
  CHECK(read.ended_with(error::timeout));
}

CONFORMANCE("many pipes at once each keep their own bytes") {
  beck::io_context ctx(context_options());
  std::vector<pipe_ends> pipes;
  for (int i = 0; i < 100; ++i) pipes.emplace_back(ctx);
  int right = 0;
  auto one = [&right](pipe_ends& pipe, char mine) -> beck::task<> {
    char there = 0;
    (co_await async_read(pipe.out, buffer(&there, 1))).value();
    right += there == mine ? 1 : 0;
  };
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    co_spawn(ctx, one(pipes[i], static_cast<char>(i)), beck::detached);
  }
  beck::test::let_settle(ctx);
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    const char mine = static_cast<char>(i);
    CHECK(pipes[i].in.write_some(buffer(&mine, 1)) == 1);
  }
  beck::test::run_all(ctx);
  CHECK(right == 100);
}

CONFORMANCE("one busy pipe does not starve another") {
  beck::io_context ctx(context_options());
  pipe_ends busy(ctx);
  pipe_ends other(ctx);
  bool done = false;
  std::size_t moved = 0;
  auto pump_in = [&]() -> beck::task<> {
    static const char block[4096] = {};
    while (!done) {
      const auto written = co_await busy.in.async_write_some(buffer(block));
      if (written.error()) co_return;
    }
    busy.in.close();
  };
  auto pump_out = [&]() -> beck::task<> {
    static char block[4096];
    for (;;) {
      auto [ec, n] = co_await busy.out.async_read_some(buffer(block));
      moved += n;
      if (ec) co_return;
    }
  };
  auto quiet = [&]() -> beck::task<> {
    char there;
    for (int i = 0; i < 20; ++i) {
      (co_await async_write(other.in, buffer("q", 1))).value();
      (co_await async_read(other.out, buffer(&there, 1))).value();
    }
    done = true;
  };
  co_spawn(ctx, pump_in(), beck::detached);
  co_spawn(ctx, pump_out(), beck::detached);
  co_spawn(ctx, quiet(), beck::detached);
  ctx.run();
  CHECK(done);
  CHECK(moved > 0);
}

CONFORMANCE("the executor of a pipe is the one it was made with") {
  beck::io_context ctx(context_options());
  const readable_pipe out(ctx.get_executor());
  CHECK(out.get_executor() == beck::any_io_executor(ctx.get_executor()));
  const beck::basic_writable_pipe<beck::io_context::executor_type> in(ctx);
  CHECK(in.get_executor() == ctx.get_executor());
  using rebound = readable_pipe::rebind_executor<beck::io_context::executor_type>::other;
  CHECK(rebound(ctx).get_executor() == ctx.get_executor());
}
