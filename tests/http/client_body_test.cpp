// SPDX-License-Identifier: BSL-1.0
// Long bodies of responses: received into the buffer of the reader, and not a byte further.
#include <beck/http/client.hpp>

#include <string>

#include "http/client_site.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::task;
namespace http = beck::http;

namespace {

/// Reads a body in parts of at most `most` bytes.
task<> collect_parts(http::detail::call_finish operation, std::size_t most, outcome& to) {
  auto got = co_await std::move(operation);
  to.ec = got.error();
  if (!got.error()) {
    const http::client_response r = std::move(got).value();
    std::string part(most, '\0');
    while (!to.body_ec) {
      auto read = co_await r.body().async_read_some(beck::buffer(part));
      to.body.append(part, 0, read.value_);
      to.body_ec = read.error();
    }
  }
  to.done = true;
}

}  // namespace

CONFORMANCE("http client body: bytes behind a long one reach no call that waits") {
  const std::string evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
  const std::string body(40'000, 'a');
  for (const std::size_t most : {1U, 1'000U, 39'000U, 40'000U, 65'536U, 0U}) {
    CAPTURE(most);
    client_site s({.per_origin = 1});
    s.server.will(ok(body) + evil);
    s.server.will(ok("b"));
    outcome parts;
    if (most != 0)
      co_spawn(s.ctx, collect_parts(s.web->async_get(s.url()), most, parts), beck::detached);
    outcome& first = most != 0 ? parts : s.start();
    s.run_until([&] { return s.server.requests.size() == 1; });
    outcome& waits = s.start("/b");
    s.run_until([&] { return first.done && waits.done; });
    CHECK(first.body == body);
    CHECK(waits.body == "b");
    CHECK(s.server.connections() == 2);
    s.end();  // before `parts` goes
  }
}
