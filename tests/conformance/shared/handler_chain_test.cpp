// SPDX-License-Identifier: BSL-1.0
// Chains of handlers on a shared context, without a strand: each handler starts the next operation,
// and may run on another thread before the function that started it has returned. No two handlers
// of a chain run at once, so an object of the chain is not used by two threads.
#include <atomic>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/context_options.hpp"
#include "support/scale.hpp"
#include "support/stream_pair.hpp"

using beck::test::scaled;

namespace {

constexpr unsigned on_epoll = beck::test::epoll;
constexpr int threads = 4;

/// Sends a byte back and forth between two sockets: the read of one side is started by the handler
/// of its write.
class ping_pong {
 public:
  ping_pong(beck::io_context& ctx, int rounds)
      : pair_(ctx), sides_{{pair_.a, rounds}, {pair_.b, rounds}} {}

  void start() {
    sides_[0].write();
    sides_[1].read();
  }
  int rounds_left() const { return sides_[0].rounds + sides_[1].rounds; }

 private:
  struct side {
    beck::test::stream_socket& socket;
    int rounds;
    char byte = 'x';

    void write() {
      socket.async_write_some(beck::buffer(&byte, 1), [this](beck::error_code ec, std::size_t) {
        if (!ec) read();
      });
    }
    void read() {
      socket.async_read_some(beck::buffer(&byte, 1), [this](beck::error_code ec, std::size_t) {
        if (!ec && --rounds > 0) return write();
        socket.close();
      });
    }
  };

  beck::test::stream_pair pair_;
  side sides_[2];
};

}  // namespace

CONFORMANCE_ON(on_epoll, "a handler starts the next operation before the last start has returned") {
  beck::io_context ctx(context_options({.threads = threads}));
  std::vector<std::unique_ptr<ping_pong>> chains;
  for (int i = 0; i < threads; ++i) {
    chains.push_back(std::make_unique<ping_pong>(ctx, scaled(5'000)));
    chains.back()->start();
  }
  // A chain of waits of one timer.
  beck::steady_timer timer(ctx);
  int waits = scaled(5'000);
  const std::function<void(beck::error_code)> again = [&](beck::error_code) {
    if (--waits == 0) return;
    timer.expires_after(beck::duration());
    timer.async_wait(again);
  };
  again(beck::error_code());
  std::vector<std::thread> runners;
  for (int i = 0; i < threads; ++i) runners.emplace_back([&] { ctx.run(); });
  for (std::thread& one : runners) one.join();
  CHECK(waits == 0);
  for (const auto& chain : chains) CHECK(chain->rounds_left() == 1);
}
