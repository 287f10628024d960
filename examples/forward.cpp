// SPDX-License-Identifier: BSL-1.0
// Forwards TCP connections to another port of this machine, inside the kernel where that is
// possible, and prints for each the number of bytes and the way they took. SIGINT ends it.
//
//   forward PORT UPSTREAM_PORT         port 0: any free one; it is printed
#include <beck/beck.hpp>
#include <beck/transfer/relay.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "number.hpp"

using beck::ip::tcp;

namespace {

const char* name_of(beck::transfer_mechanism how) {
  if (how == beck::transfer_mechanism::automatic) return "nothing";
  return how == beck::transfer_mechanism::splice ? "splice" : "a buffer";
}

beck::task<> session(tcp::socket client, tcp::endpoint upstream) {
  tcp::socket server(client.get_executor());
  const auto connected = co_await server.async_connect(upstream);
  if (!connected) co_return;
  const auto done = co_await beck::relay(client, server);
  const auto& [ec, report] = done;
  std::printf("%llu bytes forth by %s, %llu back by %s: %s\n",
              static_cast<unsigned long long>(report.forth.bytes), name_of(report.forth.mechanism),
              static_cast<unsigned long long>(report.back.bytes), name_of(report.back.mechanism),
              ec ? ec.message().c_str() : "both ended");
  std::fflush(stdout);
}

beck::task<> serve(tcp::acceptor& acceptor, tcp::endpoint upstream) {
  for (;;) {
    auto accepted = co_await acceptor.async_accept();
    if (!accepted) break;
    auto one = session(std::move(accepted).value(), upstream);
    beck::co_spawn(acceptor.get_executor(), std::move(one), beck::detached);
  }
}

tcp::endpoint local_port(const char* text) {
  return tcp::endpoint(beck::ip::address_v4::loopback(),
                       beck::ip::make_port(example::number(text)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: forward PORT UPSTREAM_PORT\n", stderr), 2;
  try {
    beck::io_context ctx;
    tcp::acceptor acceptor(ctx, local_port(argv[1]));
    std::printf("listening on port %d\n", acceptor.local_endpoint().port());
    std::fflush(stdout);
    beck::signal_set end(ctx, SIGINT);
    end.async_wait([&ctx](beck::error_code, int) { ctx.stop(); });
    beck::co_spawn(ctx, serve(acceptor, local_port(argv[2])), beck::detached);
    ctx.run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "forward: %s\n", failure.what());
    return 1;
  }
}
