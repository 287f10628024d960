// SPDX-License-Identifier: BSL-1.0
// TLS without memory: each allocation of a session fails once.
#include <beck/tls/stream.hpp>

#include <beck/io/generic_stream.hpp>

#include <new>
#include <string>

#include "support/allocations.hpp"
#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "tls/both_contexts.hpp"
#include "tls/narrow_stream.hpp"

using beck::error_code;
using beck::task;
using namespace beck::tls::test;
using beck::test::kernel;
using beck::test::pattern;
using beck::test::stream_pair;
namespace tls = beck::tls;

namespace {

/// Returns a transport that takes less than a handshake at once: the rest needs memory to wait in.
beck::owned_stream narrow(beck::test::stream_socket& of) {
  beck::owned_stream plain(new beck::socket_stream(std::move(of)));
  return beck::owned_stream(new narrow_stream(std::move(plain), 200));
}

/// Writes `text` and says its end. Closes the socket if that fails: the other side shall know.
task<> try_to_send(tls::stream& to, const std::string& text, bool& done) {
  error_code ec;
  try {
    auto sent = co_await beck::async_write(to, beck::buffer(text));
    ec = sent.error();
    if (!ec) {
      auto ended = co_await to.async_shutdown();
      ec = ended.error();
    }
  } catch (const std::bad_alloc&) {
    ec = make_error_code(std::errc::not_enough_memory);
  }
  if (ec) to.socket().close();
  done = true;
}

task<> try_to_receive(tls::stream& from, const std::string& sent, bool& done, error_code& ec) {
  char part[7000];
  std::size_t at = 0;
  bool right = true;
  ec = {};
  try {
    while (!ec && right) {
      auto got = co_await from.async_read_some(beck::buffer(part));
      ec = got.error();
      right = sent.compare(at, got.value_, part, got.value_) == 0;
      at += got.value_;
    }
  } catch (const std::bad_alloc&) {
    ec = make_error_code(std::errc::not_enough_memory);
  }
  CHECK(right);
  CHECK((ec != beck::error::eof || at == sent.size()));
  if (ec != beck::error::eof) from.socket().close();
  done = true;
}

}  // namespace

CONFORMANCE_ON(
    kernel, "tls session: each allocation may fail: the session ends with an error, or goes on") {
  NEEDS_ALLOCATION_FAULTS();
  both_contexts& contexts = both_contexts::get();
  const std::string text = pattern(10'000);
  bool fired = true;
  int failed = 0;
  for (int n = 1; fired; ++n) {
    CAPTURE(n);
    beck::io_context ctx(context_options());
    stream_pair raw(ctx);
    tls::stream client(narrow(raw.a), contexts.trust, "example.com");
    tls::stream server(narrow(raw.b), contexts.identity);
    bool ends[4] = {};
    error_code codes[2];
    co_spawn(ctx, try_to_send(client, text, ends[0]), beck::detached);
    co_spawn(ctx, try_to_send(server, text, ends[1]), beck::detached);
    co_spawn(ctx, try_to_receive(client, text, ends[2], codes[0]), beck::detached);
    co_spawn(ctx, try_to_receive(server, text, ends[3], codes[1]), beck::detached);
    {
      const beck::test::allocation_fault fault(n);
      ctx.run();
      fired = fault.fired();
    }
    for (const bool one : ends) REQUIRE(one);
    failed += codes[0] != beck::error::eof || codes[1] != beck::error::eof ? 1 : 0;
  }
  CHECK(failed > 3);
}
