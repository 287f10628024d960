// SPDX-License-Identifier: BSL-1.0
// Macros by which programs choose: threads that run one io_context() side by side, with
// BECK_ASIO_THREADS, and declarations of their own, with BECK_ASIO_NO_INLINE_NAMESPACE.
#include <doctest/doctest.h>

namespace asio {
class io_context;
}

#include <asio.hpp>
#include <future>
#include <thread>

// On epoll: a ring is run by one thread.
TEST_CASE("a handler waits for another one, which a second thread runs") {
  asio::io_context context;
  std::promise<void> has_run;
  asio::post(context, [&] { has_run.get_future().wait(); });
  asio::post(context, [&] { has_run.set_value(); });
  std::thread second([&] { context.run(); });
  context.run();
  second.join();
  CHECK(context.stopped());
}
