// SPDX-License-Identifier: BSL-1.0
//
// A peer that has ended its direction, and takes nothing: what waits for room, or for an error,
// sleeps until there is some. The kernel tells every poll of a ring that the peer has ended.
#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"

using beck::error_code;
using beck::ip::tcp;
using beck::test::local_connection;
using beck::test::note;
using beck::test::outcome;
using beck::test::tcp_connection;

namespace {

/// Lets time pass, and checks that the context sleeps: a wait that is started again and again takes
/// thousands of completions meanwhile, or never ends.
void settle(beck::io_context& ctx) {
  for (int i = 0; i < 3; ++i) beck::test::let_settle(ctx);
  const beck::context_stats before = ctx.stats();
  beck::test::tick(ctx, beck::duration(20'000'000));
  const beck::context_stats after = ctx.stats();
  CHECK(after.completions - before.completions < 20);
  CHECK(after.wrong_attempts - before.wrong_attempts < 20);
}

/// Reads until `from` has nothing more.
template <class Socket>
std::size_t empty(Socket& from) {
  std::vector<char> to(1 << 20);
  std::size_t total = 0;
  from.non_blocking(true);
  for (error_code ec; !ec;) total += from.read_some(beck::buffer(to), ec);
  from.non_blocking(false);
  return total;
}

/// Reads from `from` until `waited` is done.
template <class Socket>
void drain(beck::io_context& ctx, Socket& from, const outcome& waited) {
  for (int i = 0; i < 10'000 && !waited.done(); ++i) {
    empty(from);
    beck::test::tick(ctx);
  }
}

template <class Socket>
void wait_behind_the_end(beck::io_context& ctx, Socket& full, Socket& peer) {
  peer.shutdown(beck::socket_base::shutdown_send);
  beck::test::fill(full);
  const std::string text = beck::test::pattern(100'000);
  const std::array<beck::const_buffer, 2> parts{beck::buffer(text), beck::buffer(text)};
  outcome written, plain, room;
  full.async_write_some(parts, note(written));
  settle(ctx);
  CHECK(written.calls == 0);
  drain(ctx, peer, written);
  CHECK(written.ok());
  CHECK(written.bytes != 0);

  beck::test::fill(full);
  full.async_wait(Socket::wait_write, note(room));
  settle(ctx);
  CHECK(room.calls == 0);
  drain(ctx, peer, room);
  CHECK(room.ok());

  beck::test::fill(full);
  full.async_write_some(beck::buffer(text), note(plain));
  settle(ctx);
  CHECK(plain.calls == 0);
  full.cancel();
  beck::test::run_all(ctx);
  CHECK(plain.ec == beck::error::operation_aborted);
}

}  // namespace

CONFORMANCE("writes to a TCP peer that has finished sleep until there is room") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  wait_behind_the_end(ctx, c.server, c.client);
}

CONFORMANCE("writes to a UNIX peer that has finished sleep until there is room") {
  beck::io_context ctx(context_options());
  local_connection c(ctx);
  wait_behind_the_end(ctx, c.a, c.b);
}

CONFORMANCE("waits behind the end of a peer are cancelled, close, and start again") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  c.client.shutdown(tcp::socket::shutdown_send);
  beck::test::fill(c.server);
  for (int round = 0; round < 5; ++round) {
    outcome room, failed;
    c.server.async_wait(tcp::socket::wait_write, note(room));
    c.server.async_wait(tcp::socket::wait_error, note(failed));
    settle(ctx);
    CHECK(room.calls + failed.calls == 0);
    c.server.cancel();
    beck::test::run_all(ctx);
    CHECK(room.ec == beck::error::operation_aborted);
    CHECK(failed.ec == beck::error::operation_aborted);
  }
  outcome room, failed;
  c.server.async_wait(tcp::socket::wait_write, note(room));
  c.server.async_wait(tcp::socket::wait_error, note(failed));
  settle(ctx);
  c.server.close();
  beck::test::run_all(ctx);
  CHECK(room.ec == beck::error::operation_aborted);
  CHECK(failed.ec == beck::error::operation_aborted);
}

CONFORMANCE("a wait for an error behind the end of a peer ends with its reset") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome failed;
  c.client.shutdown(tcp::socket::shutdown_send);
  c.server.async_wait(tcp::socket::wait_error, note(failed));
  settle(ctx);
  CHECK(failed.calls == 0);
  c.client.set_option(beck::socket_base::linger(true, 0));
  c.client.close();
  beck::test::run_all(ctx);
  CHECK(failed.ok());
}
