// SPDX-License-Identifier: BSL-1.0
//
// A user's program that has all headers of the services. Each compiler of tools/platforms.sh
// compiles it with more warnings than users have, in each standard that the compiler knows, and
// runs it: a request over HTTP counts in Redis.
#include <beck/beck.hpp>
#include <beck/http/client.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/static_files.hpp>
#include <beck/http/tunnel.hpp>
#include <beck/redis/cache.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/cluster.hpp>
#include <beck/redis/lane.hpp>
#include <beck/redis/memory_server.hpp>
#include <beck/redis/subscription.hpp>
#include <beck/testing/check.hpp>
#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>
#include <beck/websocket/accept.hpp>
#include <beck/websocket/connect.hpp>
#include <cstdio>
#include <string>

namespace http = beck::http;
namespace redis = beck::redis;

namespace {

/// Takes an error in each way that users do, and returns the last one.
beck::result_error errors() {
  beck::result_error e = beck::error::eof;
  e = beck::error::connection_reset;
  e = std::make_error_code(beck::errc::timed_out);
  e = {};
  return e;
}

beck::task<> ask(http::server& server, http::client& web, redis::client& db, std::string& text) {
  const std::string port = std::to_string(server.endpoint().port());
  auto got = co_await web.async_get("http://127.0.0.1:" + port + "/hits/7");
  if (!got.error()) {
    const http::client_response page = std::move(got).value();
    auto all = co_await page.body().async_read_all(1000);
    if (!all.error()) text = std::move(all).value();
  }
  db.close();
  server.stop();
}

}  // namespace

int main() {
  beck::io_context context;
  redis::memory_server store(context, beck::ip::tcp::endpoint(beck::ip::address_v4::loopback(), 0));
  redis::client db(context, "redis://127.0.0.1:" + std::to_string(store.port()));
  http::router routes;
  routes.get("/hits/{n}", [&](http::request& request, http::response& response) -> beck::task<> {
    auto hits = co_await db.exec<long>("INCRBY", "hits", request.param("n"));
    response.send(hits ? std::to_string(*hits) : std::string("failed"));
  });
  http::server server(routes);
  server.listen(beck::ip::tcp::endpoint(beck::ip::address_v4::loopback(), 0));
  http::client web(context);
  std::string text;
  beck::co_spawn(context, server.serve(), beck::detached);
  while (server.endpoint().port() == 0 && context.poll_one() != 0) continue;
  beck::co_spawn(context, ask(server, web, db, text), [&](std::exception_ptr) { store.close(); });
  context.run();
  std::printf("the response is \"%s\"\n", text.c_str());
  return text == "7" && store.integer("hits") == 7 && !errors() ? 0 : 1;
}
