// SPDX-License-Identifier: BSL-1.0
//
// The parts that most cases about streams need: two connected sockets of one context, bytes whose
// position can be checked, and a wait for bytes to arrive that costs nothing where they arrive at
// once, and works in a simulated network too.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace beck::test {
using namespace detail;

using stream_socket = local::stream_protocol::socket;

struct stream_pair {
  explicit stream_pair(io_context& ctx) : a(ctx), b(ctx) { connect_pair(a, b); }

  stream_socket a;
  stream_socket b;
};

// Completes when `bytes` bytes can be read from `stream` without waiting.
inline task<> until_available(stream_object& stream, io_context& ctx, std::size_t bytes) {
  steady_timer timer(ctx);
  while (stream.available() < bytes) {
    timer.expires_after(std::chrono::milliseconds(1));
    beck::ignore(co_await timer.async_wait());
  }
}

inline task<> pause(io_context& ctx, duration time) {
  steady_timer timer(ctx, time);
  beck::ignore(co_await timer.async_wait());
}

// Reads exactly one byte.
inline task<> read_byte(stream_socket& from) {
  char byte = 0;
  beck::ignore(co_await async_read(from, buffer(&byte, 1)));
}

// Runs `work`, a task or a callable that returns one, and the context until it is out of work. The
// case fails if `work` has not ended by then, with a dump that shows the wait.
template <class Work>
void run_task(io_context& ctx, Work&& work) {
  const auto ended = std::make_shared<bool>(false);  // a task that is late may outlive this call
  const auto note_end = [ended](std::exception_ptr thrown, auto&&...) {
    *ended = true;
    if (thrown) std::rethrow_exception(thrown);
  };
  co_spawn(ctx, static_cast<Work&&>(work), note_end);
  ctx.run();
  ctx.restart();
  if (*ended) return;
  std::string tasks;
  ctx.dump(tasks);
  FAIL_CHECK("the task of run_task has not ended: " << tasks);
}

}  // namespace beck::test
