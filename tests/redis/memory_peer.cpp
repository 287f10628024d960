// SPDX-License-Identifier: BSL-1.0
//
// The memory_server that tests/world runs foreign libraries against.
// usage: memory_peer
// It prints "listening on port N" and serves until SIGTERM.
#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>
#include <beck/redis/memory_server.hpp>

#include <cstdio>

int main() {
  beck::io_context context;
  const beck::ip::tcp::endpoint any(beck::ip::make_address("127.0.0.1"), 0);
  const beck::redis::memory_server server(context, any);
  std::printf("listening on port %d\n", server.port());
  std::fflush(stdout);
  context.run();
  return 1;
}
