// SPDX-License-Identifier: BSL-1.0
//
// What protocols need besides their stream: the clock, random bytes and the log of a context, the
// executor and the options of a stream, the state of its peer; and reads of files that do not wait.
#include <sys/socket.h>
#include <beck/file/random_access_file.hpp>
#include <beck/io/context_services.hpp>
#include <beck/net/socket_stream.hpp>
#include <beck/run/post.hpp>
#include <beck/run/strand.hpp>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "support/two_files.hpp"

using beck::error_code;
using beck::ip::tcp;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_task;
using beck::test::tcp_connection;
using peer_status = tcp::socket::peer_status;

CONFORMANCE("now() is the time of a turn, and goes on with the next one") {
  beck::io_context ctx(context_options());
  const beck::any_io_executor on = ctx.get_executor();
  const beck::time_point before = beck::now(on);
  run_task(ctx, [&]() -> beck::task<> {
    const beck::time_point first = beck::now(on);
    CHECK(first >= before);
    CHECK(beck::now(on) == first);
    co_await beck::test::pause(ctx, beck::duration(2'000'000));
    CHECK(beck::now(on) - first >= beck::duration(2'000'000));
  });
  CHECK(beck::now(on) - before >= beck::duration(2'000'000));
  CHECK(beck::now(beck::make_strand(ctx)) >= before);
}

TEST_CASE("now() is that of the executor's context, also in a handler of another one") {
  beck::io_context real;
  beck::io_context simulated({.backend = beck::backend::sim});
  const beck::time_point virtual_time = beck::now(simulated.get_executor());
  int calls = 0;
  beck::post(real, [&] {
    ++calls;
    CHECK(beck::now(simulated.get_executor()) - virtual_time < beck::duration(1'000'000'000));
  });
  real.run();
  CHECK(calls == 1);
}

CONFORMANCE("random_bytes() fills the buffer, and only that") {
  beck::io_context ctx(context_options());
  char first[66] = {};
  char second[66] = {};
  beck::random_bytes(ctx.get_executor(), beck::buffer(first + 1, 64));
  beck::random_bytes(ctx.get_executor(), beck::buffer(second + 1, 64));
  CHECK(std::memcmp(first, second, sizeof first) != 0);
  for (int part = 0; part < 4; ++part)  // a quarter of 16 bytes is never zero
    CHECK(std::string(first + 1 + 16 * part, 16).find_first_not_of('\0') != std::string::npos);
  for (const char* const each : {first, second}) {
    CHECK(each[0] == 0);
    CHECK(each[65] == 0);
  }
}

CONFORMANCE("log_line() reaches the sink of the context, also through a strand") {
  beck::io_context ctx(context_options());
  std::string log;
  ctx.on_log([](const char* line, void* to) { *static_cast<std::string*>(to) += line; }, &log);
  beck::log_line(ctx.get_executor(), "one,");
  beck::log_line(beck::make_strand(ctx), "two");
  CHECK(log == "one,two");
}

CONFORMANCE("a byte_stream has the executor and the options of its socket") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  const beck::any_io_executor on = c.client.get_executor();
  beck::socket_stream stream(std::move(c.client));
  CHECK(stream.get_executor() == on);
  for (const bool wanted : {false, true}) {
    error_code ec = beck::error::eof;
    stream.set_option(tcp::no_delay(wanted), ec);
    CHECK_FALSE(ec);
    ec = beck::error::eof;
    stream.set_option(beck::socket_base::keep_alive(wanted), ec);
    CHECK_FALSE(ec);
  }
  error_code ec;
  stream.close();
  stream.set_option(tcp::no_delay(true), ec);
  CHECK(ec == beck::error::bad_descriptor);
}

CONFORMANCE("the peer of a stream is open, then finished, then gone, whatever was read") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  CHECK(c.server.peer() == peer_status::open);
  outcome finished, gone;
  c.server.async_wait_peer(peer_status::finished, note(finished));
  beck::write(c.client, beck::buffer("unread", 6));
  beck::test::let_settle(ctx);
  CHECK(c.server.peer() == peer_status::open);
  CHECK(finished.calls == 0);
  c.client.shutdown(tcp::socket::shutdown_send);
  beck::test::run_all(ctx);
  CHECK(finished.ok());
  CHECK(c.server.peer() == peer_status::finished);
  CHECK(c.server.available() == 6);

  c.server.async_wait_peer(peer_status::gone, note(gone));
  beck::test::let_settle(ctx);
  CHECK(gone.calls == 0);
  c.client.set_option(beck::socket_base::linger(true, 0));
  c.client.close();
  beck::test::run_all(ctx);
  CHECK(gone.ok());
  CHECK(c.server.peer() == peer_status::gone);
  c.server.close();
  CHECK(c.server.peer() == peer_status::gone);
}

CONFORMANCE("a wait for the end of a peer finds it behind a wait for another event") {
  for (const bool for_error : {false, true}) {
    beck::io_context ctx(context_options());
    tcp_connection c(ctx);
    outcome other, finished;
    if (for_error) {
      c.server.async_wait(tcp::socket::wait_error, note(other));
    } else {
      c.server.async_wait_peer(peer_status::gone, note(other));
    }
    beck::test::let_settle(ctx);
    c.client.shutdown(tcp::socket::shutdown_send);
    beck::test::tick(ctx, beck::duration(20'000'000));
    CHECK(other.calls == 0);
    c.server.cancel();
    beck::test::run_all(ctx);
    CHECK(other.aborted());
    c.server.async_wait_peer(peer_status::finished, note(finished));
    beck::test::run_all(ctx);
    CHECK(finished.ok());
  }
}

CONFORMANCE_ON(beck::test::kernel, "urgent data is no end of a peer") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  CHECK(::send(c.client.native_handle(), "!", 1, MSG_OOB) == 1);
  for (const peer_status status : {peer_status::finished, peer_status::gone}) {
    outcome waited;
    c.server.async_wait_peer(status, note(waited));
    beck::test::tick(ctx, beck::duration(20'000'000));
    CHECK(waited.calls == 0);
    CHECK(::send(c.client.native_handle(), "!", 1, MSG_OOB) == 1);
    beck::test::tick(ctx, beck::duration(20'000'000));
    CHECK(waited.calls == 0);
    c.server.cancel();
    beck::test::run_all(ctx);
    CHECK(waited.aborted());
  }
}

CONFORMANCE("a wait for the peer's end is cancelled like others, and fails on a closed stream") {
  beck::io_context ctx(context_options());
  tcp_connection c(ctx);
  outcome cancelled, closed;
  c.server.async_wait_peer(peer_status::finished, note(cancelled));
  beck::test::let_settle(ctx);
  c.server.cancel();
  beck::test::run_all(ctx);
  CHECK(cancelled.ec == beck::error::operation_aborted);
  c.server.close();
  c.server.async_wait_peer(peer_status::finished, note(closed));
  beck::test::run_all(ctx);
  CHECK(closed.ec == beck::error::bad_descriptor);
}

CONFORMANCE_ON(beck::test::kernel, "read_cached() reads what is in memory, up to the end") {
  beck::io_context ctx(context_options());
  beck::test::two_files files(ctx, beck::test::current_backend());
  const std::string text = beck::test::pattern(10'000);
  beck::test::fill(files.from, text);
  std::string part(4000, 0);
  error_code ec = beck::error::eof;
  CHECK(files.from.read_cached(3000, beck::buffer(part), ec) == 4000);
  CHECK_FALSE(ec);
  CHECK(part == text.substr(3000, 4000));
  CHECK(files.from.read_cached(9000, beck::buffer(part), ec) == 1000);
  CHECK_FALSE(ec);
  CHECK(files.from.read_cached(10'000, beck::buffer(part), ec) == 0);
  CHECK(ec == beck::error::eof);
  CHECK(files.from.read_cached(10'000, beck::mutable_buffer(), ec) == 0);
  CHECK_FALSE(ec);
  files.from.close();
  CHECK(files.from.read_cached(0, beck::buffer(part), ec) == 0);
  CHECK(ec == beck::error::bad_descriptor);
}
