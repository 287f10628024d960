// SPDX-License-Identifier: BSL-1.0
//
// A leaderboard in front of a redis-server: a page, an interface for programs, live events. SIGTERM
// or SIGINT ends it: exchanges may finish. `./run leaderboard` starts it with a server of its own.
//   leaderboard [--redis URL] [--port N]      port 0, the default: any free one; it is printed
//   leaderboard --redis unix:///run/redis.sock --port 8080
#include "leaderboard.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/signal_set.hpp>
#include <csignal>
#include <exception>

#include "number.hpp"

int main(int argc, char** argv) try {
  std::string redis_url = "redis://127.0.0.1";
  long port = 0;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc || (option != "--redis" && option != "--port")) {
      std::fprintf(stderr, "usage: leaderboard [--redis URL] [--port N]\n");
      return 2;
    }
    if (option == "--redis") redis_url = argv[i + 1];
    if (option == "--port") port = example::number(argv[i + 1]);
  }
  using beck::ip::tcp;
  const tcp::endpoint at(beck::ip::address_v4::loopback(), beck::ip::make_port(port));
  beck::io_context context;
  example::leaderboard app(context, redis_url, at);
  beck::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](beck::error_code, int) { app.stop(); });
  std::exception_ptr failed;
  app.run().start(context, [&](std::exception_ptr error) {
    failed = std::move(error);
    signals.cancel();
  });
  while (app.port() == 0 && context.poll_one() != 0) continue;
  if (app.port() != 0) std::printf("listening: http://127.0.0.1:%d/\n", app.port());
  std::fflush(stdout);
  context.run();
  if (failed) std::rethrow_exception(failed);
} catch (const std::exception& e) {
  std::fprintf(stderr, "leaderboard: %s\n", e.what());
  return 1;
}
