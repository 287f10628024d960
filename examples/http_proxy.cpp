// SPDX-License-Identifier: BSL-1.0
//
// A reverse HTTP proxy for one server. SIGTERM or SIGINT ends it: exchanges may finish.
//   http_proxy PORT UPSTREAM        port 0: any free one; it is printed
//   http_proxy 8080 http://127.0.0.1:9000
#include "http_proxy.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/signal_set.hpp>
#include <csignal>
#include <cstdio>

#include "number.hpp"

int main(int argc, char** argv) {
  beck::http::url upstream;
  if (argc != 3 || beck::http::parse_url(argv[2], upstream) != beck::http::url_error::none) {
    std::fprintf(stderr, "usage: http_proxy PORT http://HOST[:PORT]\n");
    return 2;
  }
  constexpr long long second = 1'000'000'000;
  beck::io_context context;
  beck::http::client web(context, {.per_origin = 64,
                                   .connect_timeout = beck::duration(2 * second),
                                   .head_timeout = beck::duration(30 * second)});
  beck::http::server server(example::http_proxy(web, argv[2]));
  server.listen(beck::ip::make_port(example::number(argv[1])));
  beck::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](beck::error_code, int) { server.stop(); });
  server.serve().start(context, [&] {
    signals.cancel();
    web.close_idle();
  });
  while (server.endpoint().port() == 0 && context.poll_one() != 0) continue;
  std::fprintf(stderr, "listening on port %d\n", server.endpoint().port());
  context.run();
}
