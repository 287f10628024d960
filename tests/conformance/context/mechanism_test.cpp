// SPDX-License-Identifier: BSL-1.0
//
// The switches that exist for measuring (docs/mechanisms.md): each turns one mechanism off and
// changes nothing else, and the counters say which form ran.
#include <beck/coro/co_spawn.hpp>
#include <string>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using beck::receive_arming;

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

CONFORMANCE("the switches for measuring exist on every backend") {
  const auto stats =
      counters_of(context_options().arming(receive_arming::none).lazy_speculation(false));
  CHECK(stats.lazy_armed == 0);
  CHECK(stats.speculations == 0);
}
