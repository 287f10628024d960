// SPDX-License-Identifier: BSL-1.0
//
// Sockets whose reads keep finding their data one poll later: epoll stops to report their events,
// which are useless then, and begins again as soon as a read finds nothing.
#include <chrono>
#include <string>

#include <sys/socket.h>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;

namespace {

using beck::test::let_settle;
using beck::test::note;
using beck::test::outcome;

constexpr int until_unwatched = 20;  // 2 waits, 7 finds, and the late attempts' own learning

template <class Stream>
void send_byte(Stream& from) {
  REQUIRE(::send(from.native_handle(), "x", 1, MSG_NOSIGNAL) == 1);
}

/// Receives `count` messages of a byte, each of which is there one poll after its read was started.
/// Returns the number of events that this has taken from the kernel.
template <class Stream>
std::uint64_t receive_late(beck::io_context& ctx, Stream& to, Stream& from, int count) {
  const std::uint64_t before = ctx.stats().completions;
  for (int i = 0; i < count; ++i) {
    char byte = 0;
    outcome received;
    to.async_read_some(beck::buffer(&byte, 1), note(received));
    post(ctx, [&] { send_byte(from); });
    let_settle(ctx);
    CHECK(received.ok());
    CHECK(byte == 'x');
  }
  return ctx.stats().completions - before;
}

/// Receives a message that comes when the loop has nothing left to do.
template <class Stream>
void receive_waiting(beck::io_context& ctx, Stream& to, Stream& from) {
  char byte = 0;
  outcome received;
  to.async_read_some(beck::buffer(&byte, 1), note(received));
  let_settle(ctx);
  CHECK(!received.done());
  send_byte(from);
  while (received.calls == 0) REQUIRE(ctx.run_one_for(2s) != 0);
  CHECK(received.ok());
  CHECK(byte == 'x');
}

template <class Pair, class Case>
void with_both(Case test) {
  beck::io_context ctx(context_options());
  Pair pair(ctx);
  test(ctx, pair);
}

/// Calls `test(ctx, to, from)` with a UNIX stream and with a TCP connection.
template <class Case>
void with_streams(Case test) {
  with_both<beck::test::stream_pair>([&](auto& ctx, auto& pair) { test(ctx, pair.a, pair.b); });
  with_both<beck::test::tcp_connection>(
      [&](auto& ctx, auto& pair) { test(ctx, pair.server, pair.client); });
}

}  // namespace

CONFORMANCE_ON(beck::test::epoll, "reads that find their data one poll later cause no events") {
  with_streams([](auto& ctx, auto& to, auto& from) {
    receive_late(ctx, to, from, until_unwatched);
    CHECK(receive_late(ctx, to, from, 100) == 0);
    receive_waiting(ctx, to, from);
    CHECK(receive_late(ctx, to, from, 4) != 0);
  });
}

CONFORMANCE_ON(beck::test::epoll, "sockets are unwatched again, later each time") {
  with_streams([](auto& ctx, auto& to, auto& from) {
    int needed = 0;
    for (int round = 0; round < 6; ++round) {
      receive_waiting(ctx, to, from);
      int received = 0;
      while (receive_late(ctx, to, from, 4) != 0) {
        received += 4;
        REQUIRE(received < 400);
      }
      CHECK(received >= needed);
      needed = received;
    }
    CHECK(needed >= 100);
    CHECK(needed <= 150);
  });
}

CONFORMANCE_ON(beck::test::epoll, "a socket that another operation watched is unwatched again") {
  with_streams([](auto& ctx, auto& to, auto& from) {
    for (const bool before : {true, false}) {
      outcome failed;
      if (before) to.async_wait(beck::socket_base::wait_error, note(failed));
      receive_late(ctx, to, from, 150);
      if (!before) to.async_wait(beck::socket_base::wait_error, note(failed));
      CHECK(receive_late(ctx, to, from, 4) != 0);
      to.cancel();
      let_settle(ctx);
      CHECK(failed.aborted());
      receive_late(ctx, to, from, 150);
      CHECK(receive_late(ctx, to, from, 100) == 0);
    }
  });
}

CONFORMANCE_ON(beck::test::epoll, "without lazy speculation sockets stay watched") {
  beck::io_context ctx(context_options({.lazy_speculation = false}));
  beck::test::stream_pair pair(ctx);
  CHECK(receive_late(ctx, pair.a, pair.b, 200) >= 190);
}

CONFORMANCE_ON(beck::test::kernel, "an unwatched socket reports what comes while nothing is read") {
  with_streams([](auto& ctx, auto& to, auto& from) {
    for (int round = 0; round < 3; ++round) {
      receive_late(ctx, to, from, 150);
      outcome ready;
      to.async_wait(beck::socket_base::wait_read, note(ready));
      let_settle(ctx);
      CHECK(!ready.done());
      send_byte(from);
      while (ready.calls == 0) REQUIRE(ctx.run_one_for(2s) != 0);
      CHECK(ready.ok());
      char byte = 0;
      CHECK(to.read_some(beck::buffer(&byte, 1)) == 1);
    }
    receive_late(ctx, to, from, 150);
    send_byte(from);
    from.shutdown(beck::socket_base::shutdown_send);
    char room[10];
    outcome last;
    outcome end;
    to.async_read_some(beck::buffer(room), note(last));
    to.async_read_some(beck::buffer(room), note(end));
    beck::test::run_all(ctx);
    CHECK(last.ok());
    CHECK(last.bytes == 1);
    CHECK(end.ended_with(beck::error::eof));
  });
}

CONFORMANCE_ON(beck::test::kernel, "an unwatched socket reports the end of a read that waits") {
  with_streams([](auto& ctx, auto& to, auto& from) {
    receive_late(ctx, to, from, 150);
    char byte = 0;
    outcome end;
    to.async_read_some(beck::buffer(&byte, 1), note(end));
    let_settle(ctx);
    from.close();
    beck::test::run_all(ctx);
    CHECK(end.ended_with(beck::error::eof));
  });
}

CONFORMANCE_ON(beck::test::kernel, "a write that waits for room keeps its events") {
  with_streams([](auto& ctx, auto& to, auto& from) {
    const std::string much(100'000, 'm');
    const std::size_t filled = beck::test::fill(to);
    outcome written;
    async_write(to, beck::buffer(much), note(written));
    let_settle(ctx);
    CHECK(!written.done());
    receive_late(ctx, to, from, 150);  // the other direction
    CHECK(!written.done());
    std::size_t drained = 0;
    std::string room(1 << 20, '\0');
    outcome read;
    async_read(from, beck::buffer(room), beck::transfer_exactly(1), note(read));
    while (!written.done() || drained < filled + much.size()) {
      if (read.done()) {
        REQUIRE(read.ok());
        drained += read.bytes;
        if (drained == filled + much.size()) break;
        read = outcome();
        from.async_read_some(beck::buffer(room), note(read));
      }
      REQUIRE(ctx.run_one_for(2s) != 0);
    }
    CHECK(drained == filled + much.size());
    beck::test::run_until(ctx, written);
    CHECK(written.ok());
  });
}

CONFORMANCE_ON(beck::test::kernel, "an unwatched socket may be released, assigned and read again") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  for (int round = 0; round < 3; ++round) {
    receive_late(ctx, pair.a, pair.b, 150);
    const int fd = pair.a.release();
    pair.a.assign(beck::local::stream_protocol(), fd);
    receive_waiting(ctx, pair.a, pair.b);
  }
}
