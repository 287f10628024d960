// SPDX-License-Identifier: BSL-1.0
//
// A TCP proxy with deadlines: connecting may take 2 seconds, silence 30. SIGTERM or SIGINT ends it
// gracefully: it accepts no more, and connections have 5 seconds to finish.
//   proxy PORT UPSTREAM_PORT        of this machine; port 0: any free one; it is printed
#include <beck/beck.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "number.hpp"

using beck::ip::tcp;
using namespace std::chrono_literals;

namespace {

/// Copies until `from` has sent everything or nothing moves for 30 seconds; then ends the stream to
/// `to`.
beck::task<> relay(tcp::socket& from, tcp::socket& to) {
  char data[16384];
  for (;;) {
    const auto got = co_await beck::timeout(from.async_read_some(beck::buffer(data)), 30s);
    if (!got) break;
    const auto sent = co_await beck::timeout(beck::async_write(to, beck::buffer(data, *got)), 30s);
    if (!sent) break;
  }
  beck::error_code ignored;
  to.shutdown(tcp::socket::shutdown_send, ignored);
}

beck::task<> session(tcp::socket client, tcp::endpoint upstream) {
  tcp::socket server(client.get_executor());
  const auto connected = co_await beck::timeout(server.async_connect(upstream), 2s);
  if (!connected) {
    std::fprintf(stderr, "proxy: upstream: %s\n", connected.error().message().c_str());
    co_return;
  }
  auto both = beck::when_all(relay(client, server), relay(server, client));
  beck::ignore(co_await std::move(both));
}

beck::task<> serve(beck::task_group& sessions, tcp::acceptor& acceptor, tcp::endpoint upstream) {
  for (;;) {
    auto accepted = co_await acceptor.async_accept();
    if (!accepted) break;
    sessions.spawn(session(std::move(accepted).value(), upstream));
  }
  acceptor.close();
  std::printf("draining %zu sessions\n", sessions.size());
  std::fflush(stdout);
}

beck::task<> run(beck::io_context& context, tcp::acceptor& acceptor, tcp::endpoint upstream) {
  const auto body = [&](beck::task_group& all) { return serve(all, acceptor, upstream); };
  beck::signal_set signals(context, SIGTERM, SIGINT);
  auto either =
      beck::when_any(beck::task_group::run(body, {.drain_timeout = 5s}), signals.async_wait());
  beck::ignore(co_await std::move(either));  // a signal stops the group, and this waits for its end
  std::printf("bye\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: proxy PORT UPSTREAM_PORT\n");
    return 2;
  }
  beck::io_context context;
  tcp::acceptor acceptor(context,
                         tcp::endpoint(tcp::v4(), beck::ip::make_port(example::number(argv[1]))));
  const tcp::endpoint upstream(beck::ip::address_v4::loopback(),
                               beck::ip::make_port(example::number(argv[2])));
  std::printf("listening on port %d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  beck::co_spawn(context, run(context, acceptor, upstream), beck::detached);
  context.run();
}
