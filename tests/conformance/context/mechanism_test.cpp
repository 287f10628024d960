// SPDX-License-Identifier: BSL-1.0
//
// The switches that exist for measuring (docs/mechanisms.md): each turns one mechanism off and
// changes nothing else, and the counters say which form ran.
#include <beck/coro/co_spawn.hpp>
#include <chrono>
#include <string>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/faulty_system.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using receive_arming = beck::io_context::receive_arming;

namespace {

constexpr int rounds = 200;
constexpr std::size_t message_bytes = 64;

beck::task<> echo(beck::test::stream_socket& socket, std::string& last) {
  char data[message_bytes];
  for (int i = 0; i < rounds; ++i) {
    const auto [ec, n] = co_await beck::async_read(socket, beck::buffer(data));
    if (ec) co_return;
    last.assign(data, n);
    beck::ignore(co_await beck::async_write(socket, beck::buffer(data)));
  }
}

beck::task<> play(beck::test::stream_socket& socket, std::string& got) {
  char data[message_bytes];
  for (int i = 0; i < rounds; ++i) {
    const std::string sent = beck::test::pattern(message_bytes);
    beck::ignore(co_await beck::async_write(socket, beck::buffer(sent)));
    const auto [ec, n] = co_await beck::async_read(socket, beck::buffer(data));
    if (ec) co_return;
    got.assign(data, n);
  }
}

/// Two ends of a socket answer each other; gives what the context has counted.
beck::context_stats counters_of(const beck::io_context::options& how) {
  beck::io_context ctx(how);
  beck::test::stream_pair pair(ctx);
  std::string last;
  std::string got;
  co_spawn(ctx, echo(pair.a, last), beck::detached);
  co_spawn(ctx, play(pair.b, got), beck::detached);
  ctx.run();
  CHECK(last == beck::test::pattern(message_bytes));
  CHECK(got == last);
  return ctx.stats();
}

/// A chain of handlers, each of which moves the clock on.
struct busy_chain {
  void operator()() {
    system->clock_ns += each_ns;
    if ((left_ns -= each_ns) > 0) post(*ctx, *this);
  }

  beck::io_context* ctx;
  beck::test::faulty_system* system;
  int each_ns;
  int left_ns = 8'000'000;
};

/// Returns how often a busy loop whose handlers take `each_ns` visits the kernel within 8 ms of its
/// clock.
std::uint64_t visits_while_busy(beck::io_context& ctx, beck::test::faulty_system& system,
                                int each_ns = 2'000) {
  const std::uint64_t before = ctx.stats().kernel_entries;
  post(ctx, busy_chain{&ctx, &system, each_ns});
  beck::test::let_settle(ctx);
  return ctx.stats().kernel_entries - before;
}

/// Receives `count` messages of a byte, by default much smaller than the buffer. `soon`: each is
/// sent in the turn in which its read starts; otherwise it is sent when the loop has nothing left
/// to do.
template <class Stream>
void receive(beck::io_context& ctx, Stream& from, Stream& to, int count, bool soon,
             std::size_t room_bytes = 64 * 1024) {
  std::string room(room_bytes, '\0');
  for (int i = 0; i < count; ++i) {
    beck::test::outcome received;
    from.async_read_some(beck::buffer(room), beck::test::note(received));
    if (!soon) beck::test::let_settle(ctx);
    beck::post(ctx, [&] { to.write_some(beck::buffer("x", 1)); });
    beck::test::let_settle(ctx);
    CHECK(received.bytes == 1);
  }
}

void receive(beck::io_context& ctx, beck::test::tcp_connection& c, int count, bool soon) {
  receive(ctx, c.server, c.client, count, soon);
}

}  // namespace

CONFORMANCE_ON(beck::test::uring, "small receives are armed one turn late unless told otherwise") {
  const auto stats = counters_of(context_options());
  CHECK(stats.lazy_armed > rounds);
  CHECK(counters_of(context_options({.arming = receive_arming::lazy})).lazy_armed ==
        stats.lazy_armed);
}

CONFORMANCE_ON(beck::test::uring, "eager arming submits receives but none of them late") {
  const auto stats = counters_of(context_options({.arming = receive_arming::eager}));
  CHECK(stats.lazy_armed == 0);
  CHECK(stats.entries_submitted > rounds);
}

CONFORMANCE_ON(beck::test::uring, "without arming a receive is a direct call after its poll") {
  const auto stats = counters_of(context_options({.arming = receive_arming::none}));
  CHECK(stats.lazy_armed == 0);
  CHECK(stats.entries_submitted < 2 * rounds + 10);  // a poll for each wait
  CHECK(stats.attempts > 2 * rounds);
}

CONFORMANCE_ON(beck::test::epoll, "reads that fill their buffer are tried one turn late") {
  CHECK(counters_of(context_options()).speculations > 0);
}

CONFORMANCE_ON(beck::test::epoll, "without speculation no read is tried late") {
  CHECK(counters_of(context_options({.lazy_speculation = false})).speculations == 0);
}

CONFORMANCE_ON(beck::test::epoll,
               "a busy loop visits the kernel rarely again when nothing is parked any more") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  beck::test::stream_pair pair(ctx);
  const std::uint64_t rarely = visits_while_busy(ctx, system);
  for (const bool cancelled : {true, false}) {
    char byte = 0;
    beck::test::outcome received;
    pair.a.async_read_some(beck::buffer(&byte, 1), beck::test::note(received));
    beck::test::let_settle(ctx);
    CHECK(visits_while_busy(ctx, system) > 2 * rarely);
    if (cancelled) {
      pair.a.cancel();
    } else {
      pair.b.write_some(beck::buffer("x", 1));
    }
    beck::test::let_settle(ctx);
    CHECK(received.calls == 1);
    CHECK(visits_while_busy(ctx, system) <= rarely + 1);
  }
}

CONFORMANCE_ON(beck::test::epoll,
               "a busy loop visits the kernel as often if its handlers are long") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  system.clock_ns = system.now();
  beck::test::stream_pair pair(ctx);
  char byte = 0;
  beck::test::outcome received;
  pair.a.async_read_some(beck::buffer(&byte, 1), beck::test::note(received));
  beck::test::let_settle(ctx);
  const std::uint64_t often = visits_while_busy(ctx, system, 500);
  CHECK(often > 40);  // each 100 us, or a little more
  for (const int each_ns : {2'000, 10'000, 50'000})
    CHECK(visits_while_busy(ctx, system, each_ns) > often * 3 / 4);
}

CONFORMANCE_ON(beck::test::kernel,
               "reads whose data comes late are hardly ever attempted in vain") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  receive(ctx, c, 30, false);  // what it learns from
  const auto before = ctx.stats();
  receive(ctx, c, rounds, false);
  const auto after = ctx.stats();
  CHECK(after.wrong_attempts - before.wrong_attempts <= rounds / 16);
}

CONFORMANCE_ON(beck::test::kernel, "a short read of a UNIX stream is followed by no other one") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  receive(ctx, pair.a, pair.b, 30, false);
  const auto before = ctx.stats();
  receive(ctx, pair.a, pair.b, rounds, false);
  const auto after = ctx.stats();
  CHECK(after.wrong_attempts - before.wrong_attempts <= rounds / 16);
  CHECK(after.attempts - before.attempts <= rounds + rounds / 16);
}

CONFORMANCE_ON(beck::test::epoll, "recvmsg is called only for streams whose reads are short") {
  beck::io_context ctx(context_options());
  beck::test::faulty_system& system = beck::test::make_faulty(ctx);
  beck::test::stream_pair pair(ctx);
  receive(ctx, pair.a, pair.b, 1, false);
  CHECK(system.vector_receives == 0);

  receive(ctx, pair.a, pair.b, rounds, false);
  CHECK(system.vector_receives >= rounds);

  int before = system.vector_receives;
  receive(ctx, pair.a, pair.b, rounds, false, 1);
  CHECK(system.vector_receives - before <= 10);  // five full reads, and late attempts between them

  receive(ctx, pair.a, pair.b, 1, false);
  before = system.vector_receives;
  const auto attempts = ctx.stats().attempts;
  for (int i = 0; i < rounds; ++i) receive(ctx, pair.a, pair.b, 1, false, i % 2 == 0 ? 1 : 64);
  CHECK(system.vector_receives - before == static_cast<int>(ctx.stats().attempts - attempts));
}

CONFORMANCE_ON(beck::test::kernel, "what a peer takes wakes a loop only if a write lacked room") {
  beck::io_context ctx(context_options());
  beck::test::stream_pair pair(ctx);
  for (int life = 0; life < 2; ++life) {  // the second one has the slots of the first
    char byte = 0;
    beck::test::outcome received;
    pair.a.async_read_some(beck::buffer(&byte, 1), beck::test::note(received));
    beck::test::let_settle(ctx);
    const std::string message = beck::test::pattern(message_bytes);
    beck::post(ctx, [&] {  // more than one turn's budget: most of them wait for their turn
      for (int i = 0; i < rounds; ++i)
        pair.a.async_write_some(beck::buffer(message), beck::detached);
    });
    beck::test::let_settle(ctx);
    std::string room(message_bytes * rounds, '\0');
    CHECK(beck::read(pair.b, beck::buffer(room)) == room.size());

    const auto before = ctx.stats();
    room.resize(message_bytes);
    for (int i = 0; i < rounds; ++i) {
      CHECK(pair.a.write_some(beck::buffer(message)) == message_bytes);
      CHECK(pair.b.read_some(beck::buffer(room)) == message_bytes);
      beck::test::let_settle(ctx);
    }
    CHECK(ctx.stats().completions - before.completions <= 1);

    const std::string much = beck::test::pattern(4'000'000);
    std::string got(much.size(), '\0');
    beck::test::outcome sent;
    beck::test::outcome read;
    beck::async_write(pair.a, beck::buffer(much), beck::test::note(sent));
    beck::async_read(pair.b, beck::buffer(got), beck::test::note(read));
    while (sent.calls == 0 || read.calls == 0) REQUIRE(ctx.run_one_for(2s) != 0);
    CHECK(sent.ok());
    CHECK(got == much);
    CHECK(received.calls == 0);

    pair.b.write_some(beck::buffer("x", 1));
    while (received.calls == 0) REQUIRE(ctx.run_one_for(2s) != 0);
    CHECK(byte == 'x');
    pair.a.close();
    pair.b.close();
    connect_pair(pair.a, pair.b);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "reads whose data begins to come one turn later are attempted late again") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  receive(ctx, c, rounds, false);
  const auto before = ctx.stats();
  receive(ctx, c, rounds, true);
  const auto after = ctx.stats();
  CHECK(after.speculations - before.speculations > rounds - 40);
  CHECK(after.wrong_attempts - before.wrong_attempts <= 1);
}

CONFORMANCE_ON(beck::test::kernel, "a late attempt that finds data makes up for those in vain") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection c(ctx);
  receive(ctx, c, rounds, false);
  receive(ctx, c, rounds, true);
  receive(ctx, c, 1, false);  // one in vain
  const auto before = ctx.stats();
  receive(ctx, c, rounds, true);
  const auto after = ctx.stats();
  CHECK(after.speculations - before.speculations >= rounds - 2);
}

CONFORMANCE("the switches for measuring exist on every backend") {
  const auto stats =
      counters_of(context_options({.arming = receive_arming::none, .lazy_speculation = false}));
  CHECK(stats.lazy_armed == 0);
  CHECK(stats.speculations == 0);
}
