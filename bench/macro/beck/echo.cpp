// SPDX-License-Identifier: BSL-1.0
//
// Echo with beck: one coroutine and one buffer per connection.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <memory>

#include "../common/echo.hpp"
#include "counters.hpp"

namespace {

using beck::ip::tcp;

struct server {
  beck::io_context context;
  const bench::echo_job& job;
  std::uint64_t accepted = 0;
  std::uint64_t bytes = 0;
  bool reported = false;
  beck_peer::counters counters{context};

  server(const bench::settings& s, const bench::echo_job& j)
      : context(beck_peer::context_options(s)), job(j) {
    job.notes->promise();
  }

  // Counts a connection. The measured part begins when all clients have connected, and ends when
  // the first has closed.
  void connected() {
    if (++accepted != job.connections) return;
    counters.restart();
    bytes = 0;
  }
  void closed() {
    if (std::exchange(reported, true)) return;
    const std::uint64_t messages = bytes / job.message_size;
    counters.report(messages, [&](const char* name, double v) { job.notes->add(name, v); });
    job.notes->publish();
  }
};

beck::task<> session(server& s, tcp::socket socket) {
  const auto memory = std::make_unique_for_overwrite<char[]>(s.job.buffer_size);
  const beck::mutable_buffer all(memory.get(), s.job.buffer_size);
  for (;;) {
    const auto [error, n] = co_await socket.async_read_some(all);
    if (error) break;
    const auto [write_error, written] = co_await beck::async_write(socket, beck::buffer(all, n));
    if (write_error) break;
    s.bytes += n;
  }
  s.closed();
}

beck::task<> listen(server& s) {
  tcp::acceptor acceptor(s.context, tcp::v4(), s.job.listener);
  for (;;) {
    auto accepted = co_await acceptor.async_accept();
    if (!accepted) bench::fail("accept");
    tcp::socket socket = std::move(accepted).value();
    socket.set_option(tcp::no_delay(true));
    s.connected();
    beck::co_spawn(s.context, session(s, std::move(socket)), beck::detached);
  }
}

void serve(const bench::settings& options, const bench::echo_job& job) {
  server s(options, job);
  beck::co_spawn(s.context, listen(s), beck::detached);
  s.context.run();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_echo(argc, argv, serve); }
