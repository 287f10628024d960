// SPDX-License-Identifier: BSL-1.0
// The bounds of a relay's options.
#include <string>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/transfer/relay.hpp>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::test::local_connection;

CONFORMANCE("a relay with a buffer of 0 bytes carries one byte after the other") {
  beck::io_context ctx(context_options());
  local_connection near(ctx);
  local_connection far(ctx);
  beck::relay_options how;
  how.only = beck::transfer_mechanism::read_write;
  how.buffer_bytes = 0;
  bool ended = false;
  beck::co_spawn(ctx, beck::relay(near.b, far.a, how), [&](const std::exception_ptr& failed, auto) {
    CHECK(!failed);
    ended = true;
  });
  std::string text(5, '\0');
  beck::test::outcome got;
  beck::write(near.a, beck::buffer("hello", 5));
  near.a.shutdown(beck::local::stream_protocol::socket::shutdown_send);
  far.b.shutdown(beck::local::stream_protocol::socket::shutdown_send);
  beck::async_read(far.b, beck::buffer(text), beck::test::note(got));
  beck::test::run_all(ctx);
  CHECK(got.ok());
  CHECK(text == "hello");
  CHECK(ended);
}
