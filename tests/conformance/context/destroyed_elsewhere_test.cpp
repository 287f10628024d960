// SPDX-License-Identifier: BSL-1.0
// A context that one thread has run and another one destroys leaves nothing open: what its tasks
// and its un-run handlers own is closed when the destructor returns, also what the kernel still
// watched for the thread that has ended.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/open_descriptors.hpp"
#include "support/stream_pair.hpp"

using beck::ip::tcp;
using beck::test::open_descriptors;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

constexpr int rounds = 20;

/// A large read waits for readiness, and its socket is watched.
beck::task<> read_for_ever(stream_pair pair) {
  std::string space(65536, ' ');
  for (;;) {
    const auto got = co_await pair.a.async_read_some(beck::buffer(space));
    if (got.error()) co_return;
  }
}

beck::task<> accept_for_ever(tcp::acceptor acceptor) {
  for (;;) {
    const auto accepted = co_await acceptor.async_accept();
    if (!accepted) co_return;
  }
}

/// Runs `ctx` until it has nothing to do but wait, and stops it. Then calls `after`, when the
/// thread that ran it has ended, or while it lives on.
template <class After>
void run_elsewhere(beck::io_context& ctx, bool thread_ends, After after) {
  std::atomic<bool> waits{false};
  std::atomic<bool> left{thread_ends};
  beck::co_spawn(ctx, beck::test::pause(ctx, std::chrono::milliseconds(1)),
                 [&](std::exception_ptr) {
                   waits.store(true);
                   waits.notify_one();
                 });
  std::atomic<bool> stopped{false};
  std::thread worker([&] {
    ctx.run();
    stopped.store(true);
    stopped.notify_one();
    left.wait(false);
  });
  waits.wait(false);
  ctx.stop();
  stopped.wait(false);
  if (thread_ends) worker.join();
  after();
  left.store(true);
  left.notify_one();
  if (!thread_ends) worker.join();
}

template <class Fill>
void check_that_nothing_stays_open(const beck::io_context::options& how, Fill fill) {
  const std::size_t before = open_descriptors().size();
  int leaking = 0;
  for (int round = 0; round < rounds; ++round) {
    auto ctx = std::make_unique<beck::io_context>(how);
    fill(*ctx);
    run_elsewhere(*ctx, round % 2 == 0, [&] { ctx.reset(); });
    if (open_descriptors().size() != before) ++leaking;
  }
  CHECK(leaking == 0);
}

void own_by_tasks(beck::io_context& ctx) {
  for (int i = 0; i < 12; ++i) {
    beck::co_spawn(ctx, read_for_ever(stream_pair(ctx)), beck::detached);
  }
}

void own_by_handlers(beck::io_context& ctx) {
  for (int i = 0; i < 12; ++i) {
    struct connection {
      explicit connection(beck::io_context& of) : pair(of), space(65536, ' ') {}
      stream_pair pair;
      std::string space;
    };
    auto held = std::make_shared<connection>(ctx);
    held->pair.a.async_read_some(beck::buffer(held->space),
                                 [held](beck::error_code, std::size_t) {});
  }
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "sockets of tasks are closed when a context that another thread ran is destroyed") {
  check_that_nothing_stays_open(context_options(), own_by_tasks);
}

CONFORMANCE_ON(
    beck::test::kernel,
    "sockets of un-run handlers are closed when a context that another thread ran goes") {
  check_that_nothing_stays_open(context_options(), own_by_handlers);
}

CONFORMANCE_ON(beck::test::epoll, "the same holds for a context that several threads may run") {
  check_that_nothing_stays_open(context_options({.threads = 2}), own_by_tasks);
  check_that_nothing_stays_open(context_options({.threads = 2}), own_by_handlers);
}

CONFORMANCE_ON(
    beck::test::kernel,
    "a port is free when the context of its acceptor, which another thread ran, is gone") {
  unsigned short port = 0;
  int in_use = 0;
  for (int round = 0; round < rounds; ++round) {
    auto ctx = std::make_unique<beck::io_context>(context_options());
    {
      tcp::acceptor acceptor(*ctx);
      acceptor.open(tcp::v4());
      beck::error_code ec;
      acceptor.bind(tcp::endpoint(beck::ip::make_address("127.0.0.1"), port), ec);
      if (ec) {
        ++in_use;
        continue;
      }
      acceptor.listen();
      port = acceptor.local_endpoint().port();
      beck::co_spawn(*ctx, accept_for_ever(std::move(acceptor)), beck::detached);
    }
    run_elsewhere(*ctx, round % 2 == 0, [&] { ctx.reset(); });
  }
  CHECK(in_use == 0);
}

CONFORMANCE_ON(beck::test::kernel,
               "a peer sees the end when the context of a socket, which another thread ran, goes") {
  int ends = 0;
  for (int round = 0; round < rounds; ++round) {
    beck::io_context peers(context_options());
    stream_socket peer(peers);
    auto ctx = std::make_unique<beck::io_context>(context_options());
    {
      stream_pair pair(*ctx);
      peer.assign(beck::local::stream_protocol(), pair.b.release());
      beck::co_spawn(*ctx, read_for_ever(std::move(pair)), beck::detached);
    }
    run_elsewhere(*ctx, round % 2 == 0, [&] { ctx.reset(); });
    char byte = 0;
    beck::error_code ec;
    peer.non_blocking(true);
    peer.read_some(beck::buffer(&byte, 1), ec);
    if (ec == beck::error::eof) ++ends;
  }
  CHECK(ends == rounds);
}
