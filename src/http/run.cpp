// SPDX-License-Identifier: BSL-1.0
// run(): a server as a whole program, with a context a thread and an end on signals.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include <beck/coro/co_spawn.hpp>
#include <beck/http/server.hpp>
#include <beck/io/io_pool.hpp>
#include <beck/io/signal_set.hpp>

namespace beck::http {
namespace {

/// Stops the server on the first signal, and cuts what is left on the second.
task<> stop_on_signal(server& what, signal_set& signals, duration grace) {
  for (int times = 0; times < 2; ++times) {
    auto arrived = co_await signals.async_wait();
    if (arrived.error()) co_return;
    what.stop(times == 0 ? grace : duration::zero());
  }
}

}  // namespace

int functions::run(server& what, const run_options& how) {
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t contexts = how.contexts() != 0 ? how.contexts() : processors;
  try {
    if (contexts > 1) what.share_ports(true);
    std::mutex guard;
    std::exception_ptr failed;
    const auto end_all = [&](std::exception_ptr error) {
      if (!error) return;
      const std::lock_guard locked(guard);
      if (!failed) failed = std::move(error);
      what.stop(duration::zero());
    };
    io_context first;
    std::optional<io_pool> others;
    signal_set signals(first, SIGINT, SIGTERM);
    co_spawn(first, stop_on_signal(what, signals, how.drain()), detached);
    what.serve().start(first, [&](std::exception_ptr error) {
      end_all(std::move(error));
      signals.cancel();
    });
    if (contexts > 1) {
      others.emplace(contexts - 1);
      for (std::size_t i = 0; i + 1 < contexts; ++i) {
        co_spawn(others->at(i), what.serve(), end_all);
      }
    }
    first.run();
    if (others) others->join();
    if (failed) std::rethrow_exception(failed);
    return 0;
  } catch (const std::exception& failed) {
    static_cast<void>(std::fprintf(stderr, "cannot serve: %s\n", failed.what()));
    return 1;
  }
}

}  // namespace beck::http
