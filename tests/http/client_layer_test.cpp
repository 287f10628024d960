// SPDX-License-Identifier: BSL-1.0
// https over a layer in the place of TLS: the client against its own server, both layered.
#include <beck/http/client.hpp>

#include <string>

#include "http/client_site.hpp"
#include "http/masked_layer.hpp"
#include "http/served.hpp"
#include "support/conformance.hpp"

using namespace beck::http::test;
using beck::error_code;
using beck::task;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

/// Waits for a call on the context of a server.
void run_call(beck::io_context& ctx, beck::http::detail::call_finish operation, outcome& to) {
  co_spawn(ctx, collect(std::move(operation), to), beck::detached);
  while (!to.done) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
  }
}

}  // namespace

CONFORMANCE("http client: https goes through the layer, http does not, and they share nothing") {
  masked_layer layer;
  beck::io_context ctx(context_options());
  http::server server(say_path);
  server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0));
  server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0), layer);
  bool ended = false;
  server.serve().start(ctx, [&](const std::exception_ptr&) { ended = true; });
  while (server.endpoint(1).port() == 0) ctx.poll();
  {
    http::client web(ctx);
    web.secure(layer);
    const auto url = [&](std::size_t place, std::string_view path) {
      return (place == 0 ? "http" : "https") + std::string("://127.0.0.1:") +
             std::to_string(server.endpoint(place).port()) + std::string(path);
    };
    for (const std::size_t place : {0U, 1U, 0U, 1U}) {
      outcome got;
      const std::string path = "/" + std::to_string(place);
      run_call(ctx, web.async_get(url(place, path)), got);
      CHECK(got.body == path);
    }
    CHECK(web.stats().made == 2);
    CHECK(web.stats().reused == 2);
    outcome wrong;  // a server that answers a handshake with HTTP
    run_call(ctx, web.async_get("https" + url(0, "/").substr(4)), wrong);
    CHECK(wrong.ec);
    CHECK(web.stats().connections == 2);
  }
  server.stop();
  while (!ended) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
  }
}

CONFORMANCE("http client: no redirect leads from https to http") {
  masked_layer layer;
  beck::io_context ctx(context_options());
  http::server server([](http::request&, http::response& r) {
    r.status(302).set(http::field::location, "http://127.0.0.1/").send();
  });
  server.listen(ip::tcp::endpoint(ip::address_v4::loopback(), 0), layer);
  bool ended = false;
  server.serve().start(ctx, [&](const std::exception_ptr&) { ended = true; });
  while (server.endpoint().port() == 0) ctx.poll();
  {
    http::client web(ctx, {.redirects = 5});
    web.secure(layer);
    outcome got;
    run_call(ctx, web.async_get("https://127.0.0.1:" + std::to_string(server.endpoint().port())),
             got);
    CHECK(got.status == 302);
    CHECK(web.stats().redirects == 0);
  }
  server.stop();
  while (!ended) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
  }
}
