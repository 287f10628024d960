// SPDX-License-Identifier: BSL-1.0
//
// The switches that exist for measuring (docs/mechanisms.md): each turns one mechanism off and
// changes nothing else, and the counters say which form ran.
#include <beck/coro/co_spawn.hpp>
#include <string>

#include "support/context_options.hpp"
#include "support/faulty_system.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

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
    system->clock_ns += 2'000;
    if (--left > 0) post(*ctx, *this);
  }

  beck::io_context* ctx;
  beck::test::faulty_system* system;
  int left = 4'000;
};

/// Returns how often a busy loop visits the kernel within 8 ms of its clock.
std::uint64_t visits_while_busy(beck::io_context& ctx, beck::test::faulty_system& system) {
  const std::uint64_t before = ctx.stats().kernel_entries;
  post(ctx, busy_chain{&ctx, &system});
  beck::test::let_settle(ctx);
  return ctx.stats().kernel_entries - before;
}

}  // namespace

CONFORMANCE_ON(beck::test::uring, "small receives are armed one turn late unless told otherwise") {
  const auto stats = counters_of(context_options());
  CHECK(stats.lazy_armed > rounds);
  CHECK(counters_of(context_options().arming(receive_arming::lazy)).lazy_armed == stats.lazy_armed);
}

CONFORMANCE_ON(beck::test::uring, "eager arming submits receives but none of them late") {
  const auto stats = counters_of(context_options().arming(receive_arming::eager));
  CHECK(stats.lazy_armed == 0);
  CHECK(stats.entries_submitted > rounds);
}

CONFORMANCE_ON(beck::test::uring, "without arming a receive is a direct call after its poll") {
  const auto stats = counters_of(context_options().arming(receive_arming::none));
  CHECK(stats.lazy_armed == 0);
  CHECK(stats.entries_submitted < 10);  // the polls
  CHECK(stats.attempts > 2 * rounds);
}

CONFORMANCE_ON(beck::test::epoll, "reads that fill their buffer are tried one turn late") {
  CHECK(counters_of(context_options()).speculations > 0);
}

CONFORMANCE_ON(beck::test::epoll, "without speculation no read is tried late") {
  CHECK(counters_of(context_options().lazy_speculation(false)).speculations == 0);
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

CONFORMANCE("the switches for measuring exist on every backend") {
  const auto stats =
      counters_of(context_options().arming(receive_arming::none).lazy_speculation(false));
  CHECK(stats.lazy_armed == 0);
  CHECK(stats.speculations == 0);
}
