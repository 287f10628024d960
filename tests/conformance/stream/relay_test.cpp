// SPDX-License-Identifier: BSL-1.0
// relay: both ways, half-closed streams, errors, cancellation, and what it says of itself.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/transfer/relay.hpp>
#include <beck/transfer/splice.hpp>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/pipes.hpp"

using beck::buffer;
using beck::error_code;
using beck::relay_options;
using beck::relay_report;
using beck::transfer_mechanism;
using beck::test::kernel;
using beck::test::local_connection;
using beck::test::note;
using beck::test::outcome;
using beck::test::pattern;
using beck::test::tcp_connection;
namespace error = beck::error;

namespace {

constexpr transfer_mechanism every_way[] = {transfer_mechanism::automatic,
                                            transfer_mechanism::read_write};
constexpr beck::duration hour = beck::duration(3'600'000'000'000);

/// Two connections with a relay between them: near.client, the relay's two, far.client.
template <class Connection>
struct relayed {
  explicit relayed(beck::io_context& ctx, relay_options how = {}) : near(ctx), far(ctx) {
    co_spawn(ctx, run(how), [](std::exception_ptr) {});
  }
  beck::task<> run(relay_options how) {
    auto [ec, seen] = co_await beck::relay(inner(near), inner(far), how);
    error = ec;
    report = seen;
    done = true;
  }
  static auto& inner(tcp_connection& c) { return c.server; }
  static auto& inner(local_connection& c) { return c.b; }
  static auto& outer(tcp_connection& c) { return c.client; }
  static auto& outer(local_connection& c) { return c.a; }
  auto& client() { return outer(near); }
  auto& server() { return outer(far); }

  Connection near, far;
  bool done = false;
  error_code error;
  relay_report report;
};

template <class Connection>
void check_both_ways(beck::io_context& ctx, relay_options how, transfer_mechanism expected) {
  relayed<Connection> r(ctx, how);
  const std::string request = pattern(400'000);
  const std::string answer = pattern(250'001);
  std::string got_request(request.size() + 1, '\0'), got_answer(answer.size() + 1, '\0');
  outcome sent, received, answered, got;
  using socket = std::remove_reference_t<decltype(r.client())>;
  const auto end = [](socket& from, outcome& of) {
    return [&from, &of](error_code ec, std::size_t n) {
      note{of}(ec, n);
      from.shutdown(socket::shutdown_send);
    };
  };
  async_write(r.client(), buffer(request), end(r.client(), sent));
  async_write(r.server(), buffer(answer), end(r.server(), answered));
  async_read(r.server(), buffer(got_request), note(received));
  async_read(r.client(), buffer(got_answer), note(got));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(answered.ok());
  CHECK(received.ended_with(error::eof));
  CHECK(received.bytes == request.size());
  CHECK(got.ended_with(error::eof));
  CHECK(got.bytes == answer.size());
  got_request.resize(request.size());
  got_answer.resize(answer.size());
  CHECK((got_request == request));
  CHECK((got_answer == answer));
  CHECK(r.done);
  CHECK_FALSE(r.error);
  CHECK(r.report.forth.bytes == request.size());
  CHECK(r.report.back.bytes == answer.size());
  CHECK(r.report.forth.mechanism == expected);
  CHECK(r.report.back.mechanism == expected);
  CHECK(r.report.forth.ended);
  CHECK(r.report.back.ended);
}

}  // namespace

CONFORMANCE("a relay carries bytes both ways between TCP sockets, by splicing") {
  beck::io_context ctx(context_options());
  check_both_ways<tcp_connection>(ctx, {}, transfer_mechanism::splice);
}

CONFORMANCE("a relay carries bytes both ways between UNIX sockets") {
  beck::io_context ctx(context_options());
  check_both_ways<local_connection>(ctx, {}, transfer_mechanism::splice);
}

CONFORMANCE("a relay through buffers carries the same, also through tiny ones") {
  beck::io_context ctx(context_options());
  const auto through_buffers = relay_options{.only = transfer_mechanism::read_write};
  check_both_ways<tcp_connection>(ctx, through_buffers, transfer_mechanism::read_write);
  check_both_ways<local_connection>(ctx,
                                    {.only = transfer_mechanism::read_write, .buffer_bytes = 1000},
                                    transfer_mechanism::read_write);
}

CONFORMANCE(
    "a relay by a mechanism that only files have ends at once, and both streams stay open") {
  for (const transfer_mechanism only :
       {transfer_mechanism::copy_range, transfer_mechanism::send_file}) {
    beck::io_context ctx(context_options());
    relayed<tcp_connection> r(ctx, relay_options{.only = only});
    beck::test::run_all(ctx);
    CHECK(r.done);
    CHECK(r.error == error::invalid_argument);
    CHECK(r.report.forth.mechanism == transfer_mechanism::automatic);
    CHECK(r.near.server.is_open());
    CHECK(r.far.client.is_open());
  }
}

CONFORMANCE("the end of one side is passed on while the other direction goes on") {
  beck::io_context ctx(context_options());
  relayed<tcp_connection> r(ctx);
  char there[8];
  outcome end, answer;
  r.client().shutdown(beck::ip::tcp::socket::shutdown_send);
  r.server().async_read_some(buffer(there), note(end));
  REQUIRE(beck::test::run_until(ctx, end));
  CHECK(end.ended_with(error::eof));
  CHECK_FALSE(r.done);
  CHECK(write(r.server(), buffer("late", 4)) == 4);
  async_read(r.client(), buffer(there, 4), note(answer));
  REQUIRE(beck::test::run_until(ctx, answer));
  CHECK(answer.ok());
  r.server().shutdown(beck::ip::tcp::socket::shutdown_send);
  beck::test::run_all(ctx);
  CHECK(r.done);
  CHECK_FALSE(r.error);
}

CONFORMANCE_ON(beck::test::sim, "a relay whose one side has ended waits for the other one") {
  beck::io_context ctx(context_options());
  relayed<tcp_connection> r(ctx);
  r.client().shutdown(beck::ip::tcp::socket::shutdown_send);
  beck::test::tick(ctx, hour);
  CHECK_FALSE(r.done);
  r.server().close();
  beck::test::run_all(ctx);
  CHECK(r.done);
  CHECK_FALSE(r.error);
}

CONFORMANCE("an error of one side ends the relay with that error") {
  beck::io_context ctx(context_options());
  relayed<tcp_connection> r(ctx);
  beck::test::let_settle(ctx);
  r.client().set_option(beck::ip::tcp::socket::linger(true, 0));
  r.client().close();  // resets
  beck::test::run_all(ctx);
  CHECK(r.done);
  CHECK(r.error == error::connection_reset);
  CHECK(r.far.server.is_open());
}

CONFORMANCE("the last words of a side that takes no more are carried before the relay fails") {
  for (const transfer_mechanism only : every_way) {
    beck::io_context ctx(context_options());
    relayed<local_connection> r(ctx, {.only = only, .linger_timeout = hour});
    r.server().shutdown(beck::local::stream_protocol::socket::shutdown_receive);
    CHECK(write(r.client(), buffer("question", 8)) == 8);
    beck::test::let_settle(ctx);
    CHECK_FALSE(r.done);
    CHECK(write(r.server(), buffer("no", 2)) == 2);
    r.server().close();
    char there[3];
    outcome last;
    async_read(r.client(), buffer(there), note(last));
    REQUIRE(beck::test::run_until(ctx, last));
    CHECK(last.ended_with(error::eof));
    CHECK(last.bytes == 2);
    CHECK(std::string(there, 2) == "no");
    beck::test::run_all(ctx);
    CHECK(r.done);
    CHECK(r.error == error::broken_pipe);
  }
}

namespace {

/// Returns a relay to a server that takes no more, and says nothing, with a question on its way.
template <class Relayed>
void ask_in_vain(beck::io_context& ctx, Relayed& r) {
  r.server().shutdown(beck::local::stream_protocol::socket::shutdown_receive);
  CHECK(write(r.client(), buffer("question", 8)) == 8);
  beck::test::let_settle(ctx);
  CHECK_FALSE(r.done);
}

/// Runs until the relay is over, for at most 10 s. Returns whether it is.
template <class Relayed>
bool ends_in_time(beck::io_context& ctx, const Relayed& r) {
  beck::steady_timer limit(ctx, beck::duration(10'000'000'000));
  outcome late;
  limit.async_wait(note(late));
  beck::test::run_until(ctx, [&] { return r.done || late.done(); });
  return r.done;
}

}  // namespace

CONFORMANCE("a side that takes no more and stays silent holds a relay for linger_timeout at most") {
  for (const transfer_mechanism only : every_way) {
    beck::io_context ctx(context_options());
    relayed<local_connection> r(ctx, {.only = only, .linger_timeout = beck::duration(20'000'000)});
    ask_in_vain(ctx, r);
    CHECK(ends_in_time(ctx, r));
    CHECK(r.error == error::broken_pipe);
    CHECK_FALSE(r.report.back.ended);
    CHECK(r.near.b.is_open());
    CHECK(r.far.b.is_open());
  }
}

CONFORMANCE("last words that the other side leaves unread hold a relay for linger_timeout") {
  beck::io_context ctx(context_options());
  relayed<local_connection> r(ctx, relay_options{.linger_timeout = beck::duration(20'000'000)});
  for (int i = 0; i < 20; ++i) {  // until the relay takes no more
    beck::test::fill(r.server());
    beck::test::let_arrive(ctx);
    beck::test::let_settle(ctx);
  }
  ask_in_vain(ctx, r);
  CHECK(ends_in_time(ctx, r));
  CHECK(r.error == error::broken_pipe);
}

CONFORMANCE_ON(beck::test::sim, "a side that takes no more may talk for as long as it likes") {
  for (const transfer_mechanism only : every_way) {
    beck::io_context ctx(context_options());
    relayed<local_connection> r(ctx,
                                {.only = only, .linger_timeout = beck::duration(1'000'000'000)});
    ask_in_vain(ctx, r);
    for (int i = 0; i < 100; ++i) {
      beck::test::tick(ctx, beck::duration(900'000'000));
      CHECK(write(r.server(), buffer("x", 1)) == 1);
    }
    beck::test::let_arrive(ctx);
    CHECK_FALSE(r.done);
    beck::test::tick(ctx, beck::duration(2'000'000'000));
    CHECK(r.done);
    CHECK(r.error == error::broken_pipe);
    CHECK(r.report.back.bytes == 100);
  }
}

CONFORMANCE("a relay waits for no last words of a side that has ended before") {
  beck::io_context ctx(context_options());
  relayed<local_connection> r(ctx, relay_options{.linger_timeout = hour});
  r.server().shutdown(beck::local::stream_protocol::socket::shutdown_send);
  char there[1];
  outcome end;
  r.client().async_read_some(buffer(there), note(end));
  REQUIRE(beck::test::run_until(ctx, end));
  r.server().shutdown(beck::local::stream_protocol::socket::shutdown_receive);
  CHECK(write(r.client(), buffer("question", 8)) == 8);
  CHECK(ends_in_time(ctx, r));
  CHECK(r.error == error::broken_pipe);
}

CONFORMANCE("a time limit ends a relay that waits for last words, with the first error") {
  beck::io_context ctx(context_options());
  local_connection near(ctx), far(ctx);
  far.b.shutdown(beck::local::stream_protocol::socket::shutdown_receive);
  CHECK(write(near.a, buffer("question", 8)) == 8);
  error_code seen;
  const auto how = relay_options{.linger_timeout = hour};
  auto program = [&]() -> beck::task<> {
    auto relay = beck::relay(near.b, far.a, how);
    seen = (co_await beck::timeout(std::move(relay), beck::duration(50'000'000))).error();
  };
  co_spawn(ctx, program(), beck::detached);
  ctx.run();
  CHECK(seen == error::broken_pipe);
}

CONFORMANCE("a relay that waits for last words may be destroyed") {
  beck::io_context ctx(context_options());
  relayed<local_connection> r(ctx);
  ask_in_vain(ctx, r);
  beck::test::tick(ctx);
}

CONFORMANCE("a relay whose first stream has failed before ends at once, by every mechanism") {
  const relay_options ways[] = {relay_options(),
                                relay_options{.only = transfer_mechanism::read_write},
                                relay_options{.only = transfer_mechanism::splice}};
  for (const relay_options& how : ways) {
    beck::io_context ctx(context_options());
    tcp_connection near(ctx);
    tcp_connection far(ctx);
    near.client.set_option(beck::ip::tcp::socket::linger(true, 0));
    near.client.close();  // resets
    beck::test::let_arrive(ctx);
    beck::steady_timer limit(ctx, beck::duration(10'000'000'000));
    outcome waited;
    limit.async_wait(note(waited));
    error_code seen;
    auto program = [&]() -> beck::task<> {
      seen = (co_await beck::relay(near.server, far.client, how)).error();
      limit.cancel();
    };
    co_spawn(ctx, program(), beck::detached);
    REQUIRE(beck::test::run_until(ctx, waited));
    CHECK(waited.aborted());  // before its time
    CHECK(seen == error::connection_reset);
  }
}

CONFORMANCE("a side that does not read holds up the other, and memory is bounded") {
  beck::io_context ctx(context_options());
  relayed<local_connection> r(ctx);
  std::size_t taken = 0;
  for (int i = 0; i < 20; ++i) {  // until the relay takes no more
    taken += beck::test::fill(r.client());
    beck::test::let_arrive(ctx);
    beck::test::let_settle(ctx);
  }
  CHECK(taken < 4'000'000);
  CHECK(r.report.forth.bytes == 0);
  std::string there(taken, '\0');
  outcome read;
  async_read(r.server(), buffer(there), note(read));
  REQUIRE(beck::test::run_until(ctx, read));
  CHECK(read.ok());
  r.client().close();
  r.server().close();
  beck::test::run_all(ctx);
  CHECK(r.done);
}

CONFORMANCE("a time limit ends a relay and the report says what was carried") {
  beck::io_context ctx(context_options());
  local_connection near(ctx);
  local_connection far(ctx);
  error_code late;
  relay_report report;
  CHECK(write(near.a, buffer("abc", 3)) == 3);
  auto program = [&]() -> beck::task<> {
    auto [ec, seen] =
        co_await beck::timeout(beck::relay(near.b, far.b), beck::duration(50'000'000));
    late = ec;
    report = seen;
  };
  co_spawn(ctx, program(), beck::detached);
  ctx.run();
  CHECK(late == error::timeout);
  CHECK(report.forth.bytes == 3);
  CHECK_FALSE(report.forth.ended);
  char there[3];
  CHECK(read(far.a, buffer(there)) == 3);
  CHECK(near.b.is_open());
  CHECK(far.b.is_open());
}

CONFORMANCE("progress is told with growing counts, up to the end") {
  beck::io_context ctx(context_options());
  std::uint64_t last = 0;
  int calls = 0;
  bool grew = true;
  auto watch = [&](const relay_report& report) {
    grew = grew && report.forth.bytes >= last;
    last = report.forth.bytes;
    ++calls;
  };
  relayed<tcp_connection> r(ctx, relay_options{.progress = watch});
  const std::string sent = pattern(200'000);
  std::string there(sent.size(), '\0');
  outcome written, read;
  async_write(r.client(), buffer(sent), note(written));
  async_read(r.server(), buffer(there), note(read));
  REQUIRE(beck::test::run_until(ctx, read));
  r.client().close();
  r.server().close();
  beck::test::run_all(ctx);
  CHECK(r.done);
  CHECK(grew);
  CHECK(calls > 1);
  CHECK(last == sent.size());
}

CONFORMANCE("many relays run side by side") {
  beck::io_context ctx(context_options());
  std::vector<std::unique_ptr<relayed<local_connection>>> all;
  for (int i = 0; i < 20; ++i) all.push_back(std::make_unique<relayed<local_connection>>(ctx));
  int right = 0;
  auto talk = [&right](relayed<local_connection>& r, int which) -> beck::task<> {
    const std::string mine = std::to_string(which);
    std::string there(mine.size(), '\0');
    for (int round = 0; round < 20; ++round) {
      beck::ignore(co_await async_write(r.client(), buffer(mine)));
      beck::ignore(co_await async_read(r.server(), buffer(there)));
      right += there == mine ? 1 : 0;
    }
    r.client().close();
    r.server().close();
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    co_spawn(ctx, talk(*all[i], static_cast<int>(i)), beck::detached);
  }
  ctx.run();
  CHECK(right == 400);
  for (const auto& one : all) CHECK(one->done);
}

CONFORMANCE("a relay of closed streams gives bad_descriptor") {
  beck::io_context ctx(context_options());
  beck::ip::tcp::socket a(ctx);
  beck::ip::tcp::socket b(ctx);
  error_code seen;
  auto program = [&]() -> beck::task<> { seen = (co_await beck::relay(a, b)).error(); };
  co_spawn(ctx, program(), beck::detached);
  ctx.run();
  CHECK(seen == error::bad_descriptor);
}

CONFORMANCE("a context may be destroyed with a relay in flight") {
  beck::io_context ctx(context_options());
  relayed<local_connection> r(ctx);
  CHECK(write(r.client(), buffer("abc", 3)) == 3);
  beck::test::let_settle(ctx);
  CHECK_FALSE(r.done);
}

CONFORMANCE_ON(kernel, "a relay goes past an urgent mark and carries what is behind it") {
  for (const int threads : {1, 2}) {
    if (threads == 2 && where != beck::test::on_epoll) continue;
    beck::io_context ctx(context_options({.threads = threads}));
    relayed<tcp_connection> r(ctx);
    beck::test::let_settle(ctx);
    const int to = r.client().native_handle();
    REQUIRE(::send(to, "before", 6, 0) == 6);
    REQUIRE(::send(to, "!", 1, MSG_OOB) == 1);
    REQUIRE(::send(to, "after", 5, 0) == 5);
    char there[11];
    outcome read;
    async_read(r.server(), buffer(there), note(read));
    ctx.restart();
    ctx.run_for(beck::duration(1'000'000'000));  // the relay waits for more
    CHECK(read.ok());
    CHECK(std::string(there, 11) == "beforeafter");
    r.client().close();
    r.server().close();
    ctx.restart();
    ctx.run_for(beck::duration(1'000'000'000));
    CHECK(r.report.forth.bytes == 11);
    CHECK(r.report.forth.mechanism == transfer_mechanism::read_write);
    CHECK(ctx.stats().kernel_entries < 1000);
  }
}

CONFORMANCE_ON(kernel, "a splice that both sides are ready for, and cannot be done, says so") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  beck::test::pipe_ends pipe(ctx);
  const int to = c.client.native_handle();
  REQUIRE(::send(to, "!", 1, MSG_OOB) == 1);
  REQUIRE(::send(to, "after", 5, 0) == 5);
  outcome spliced;
  beck::async_splice(c.server, pipe.in, 5, note(spliced));
  ctx.restart();
  ctx.run_for(beck::duration(1'000'000'000));
  CHECK(spliced.ended_with(error::invalid_argument));
  CHECK(spliced.bytes == 0);
  char there[8];
  CHECK(c.server.read_some(buffer(there)) == 5);  // a read goes past the mark
  CHECK(std::string(there, 5) == "after");
}
