// SPDX-License-Identifier: BSL-1.0
//
// HTTP calls with beck::http: a coroutine for each call in flight, and a pool of as many
// connections.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/client.hpp>
#include <string>
#include <utility>

#include "../common/http_calls.hpp"
#include "counters.hpp"

namespace {

namespace http = beck::http;

struct session {
  explicit session(bench::http_calls& c)
      : calls(c),
        url(c.url()),
        context(beck_peer::context_options(c.options())),
        web(context, {.per_origin = bench::http_calls::in_flight}) {}

  bench::http_calls& calls;
  std::string url;
  beck::io_context context;
  http::client web;
  std::size_t left = bench::http_calls::in_flight;
};

/// Gets the file, reads its body, and returns whether another call is to follow.
beck::task<bool> call(session& s, beck::mutable_buffer part) {
  auto got = co_await s.web.async_get(s.url);
  if (got.error()) bench::fail(got->error_text().c_str());
  const http::client_response page = std::move(got).value();
  std::size_t bytes = 0;
  for (;;) {
    const auto [error, n] = co_await page.body().async_read_some(part);
    bytes += n;
    if (error == beck::error::eof) break;
    if (error) bench::fail(error.message().c_str());
  }
  co_return s.calls.take(beck::http::number_of(page.status()), bytes);
}

beck::task<> calls_in_turn(session& s) {
  char part[bench::http_calls::buffer_size];
  bool more = true;
  while (more) more = co_await call(s, beck::buffer(part));
  if (--s.left == 0) s.web.close_idle();  // nothing is left to wait for
}

template <std::size_t Body>
void run(bench::meter& m) {
  bench::http_calls calls(m, Body);
  session s(calls);
  for (std::size_t i = 0; i < bench::http_calls::in_flight; ++i)
    co_spawn(s.context, calls_in_turn(s), beck::detached);
  beck_peer::counters counters(s.context);
  m.start();
  s.context.run();
  m.finish(calls.done());
  counters.report(calls.done(), [&](const char* name, double value) { m.note(name, value); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "http_client", {{"1k", run<1024>}, {"64k", run<65536>}});
}
