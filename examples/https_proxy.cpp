// SPDX-License-Identifier: BSL-1.0
//
// The reverse proxy of http_proxy.hpp with TLS on both sides: its clients verify the certificate of
// CHAIN, and it verifies the server. SIGHUP reads CHAIN and KEY again; SIGTERM or SIGINT ends it.
//   https_proxy PORT UPSTREAM CHAIN KEY [ROOTS]     ROOTS: instead of the system's
//   https_proxy 8443 https://inside.example chain.pem key.pem
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "http_proxy.hpp"
#include "number.hpp"

namespace {

/// Reads the files of the identity again whenever SIGHUP comes. An error changes nothing.
beck::task<> reload(beck::tls::server_context& identity, beck::signal_set& hangups) {
  for (;;) {
    const auto [ec, number] = co_await hangups.async_wait();
    if (ec) co_return;
    try {
      identity.reload();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "https_proxy: %s\n", e.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: https_proxy PORT https://HOST[:PORT] CHAIN KEY [ROOTS]\n");
    return 2;
  }
  beck::tls::authorities roots;
  if (argc == 6) roots.file(argv[5]);
  beck::tls::client_context trust(beck::tls::client_options().trust(roots));
  beck::tls::server_context identity(argv[3], argv[4]);
  beck::io_context context;
  beck::http::client web(context, {.per_origin = 64});
  web.secure(trust);
  beck::http::server server(example::http_proxy(web, argv[2], "https"));
  const auto any = beck::ip::tcp::v6();
  server.listen(beck::ip::tcp::endpoint(any, beck::ip::make_port(example::number(argv[1]))),
                identity);
  beck::signal_set ends(context, SIGTERM, SIGINT), hangups(context, SIGHUP);
  ends.async_wait([&](beck::error_code, int) { server.stop(); });
  reload(identity, hangups).start(context, [] {});
  server.serve().start(context, [&] {
    ends.cancel();
    hangups.cancel();
    web.close_idle();
  });
  while (server.endpoint().port() == 0 && context.poll_one() != 0) continue;
  std::fprintf(stderr, "listening on port %d\n", server.endpoint().port());
  context.run();
} catch (const std::exception& e) {  // such as files that cannot be read
  std::fprintf(stderr, "https_proxy: %s\n", e.what());
  return 1;
}
