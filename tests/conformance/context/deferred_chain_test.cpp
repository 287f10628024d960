// SPDX-License-Identifier: BSL-1.0
//
// Chains of operations over sockets and timers: with handlers, awaited, within time limits, and
// without memory of their own.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/interop/deferred_chain.hpp>
#include <beck/interop/parallel_group.hpp>
#include <beck/io/cancel_after.hpp>
#include <beck/io/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::deferred;
using beck::error_code;
using beck::test::allocations;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

// Reads some bytes and writes them back.
template <class Token>
auto async_echo_some(stream_socket& socket, beck::mutable_buffer space, Token&& token) {
  return socket.async_read_some(space,
                                deferred)(deferred([&socket, space](error_code ec, std::size_t n) {
    return deferred.when(!ec)
        .then(beck::async_write(socket, beck::buffer(space, n), deferred))
        .otherwise(deferred.values(ec, 0));
  }))(std::forward<Token>(token));
}

}  // namespace

CONFORMANCE("a chain of a read and a write echoes, until the stream ends") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  char space[16];
  char back[16];
  for (int round = 0; round < 3; ++round) {
    outcome echoed;
    outcome read;
    async_echo_some(pair.a, beck::buffer(space), note(echoed));
    pair.b.async_write_some(beck::buffer("a", 1), beck::detached);
    beck::async_read(pair.b, beck::buffer(back, 1), note(read));
    ctx.run();
    ctx.restart();
    CHECK(echoed.ok());
    CHECK(echoed.bytes == 1);
    CHECK(read.ok());
    CHECK(back[0] == 'a');
  }
  pair.b.close();
  outcome ended;
  async_echo_some(pair.a, beck::buffer(space), note(ended));
  ctx.run();
  CHECK(ended.ended_with(beck::error::eof));
}

CONFORMANCE("an awaited chain echoes and needs no memory of its own") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char space[16];
    char back[16];
    std::uint64_t memory = 0;
    std::uint64_t misses = 0;
    for (int round = 0; round < 50; ++round) {
      if (round == 20) {
        memory = allocations();
        misses = beck::detail::block_misses();
      }
      beck::ignore(co_await pair.b.async_write_some(beck::buffer("a", 1)));
      const auto echoed = co_await async_echo_some(pair.a, beck::buffer(space), deferred);
      CHECK_FALSE(echoed.error());
      CHECK(*echoed == 1);
      beck::ignore(co_await beck::async_read(pair.b, beck::buffer(back, 1)));
    }
    CHECK(beck::detail::block_misses() == misses);
    const bool recycles = misses != 0;
    if (recycles && where != beck::test::on_sim) CHECK(allocations() == memory);
  });
}

CONFORMANCE("a time limit ends the operation of a chain that runs then") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char space[16];
    const auto first =
        co_await beck::timeout(async_echo_some(pair.a, beck::buffer(space), deferred), 1ms);
    CHECK(first.error() == beck::error::timeout);
    // Now in the second operation.
    const auto second = co_await beck::timeout(
        pair.a.async_write_some(beck::buffer("x", 1)) | deferred([&](error_code ec, std::size_t) {
          CHECK_FALSE(ec);
          return pair.a.async_read_some(beck::buffer(space));
        }),
        1ms);
    CHECK(second.error() == beck::error::timeout);
    const auto third =
        co_await async_echo_some(pair.a, beck::buffer(space), beck::cancel_after(1ms));
    CHECK(third.error() == beck::error::operation_aborted);
    beck::ignore(co_await pair.b.async_write_some(beck::buffer("y", 1)));
    const auto last =
        co_await async_echo_some(pair.a, beck::buffer(space), beck::cancel_after(10s));
    CHECK(*last == 1);
  });
}

CONFORMANCE("chains are members of a group, and the first that ends cancels the other") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  stream_pair silent(ctx);
  char space[16];
  char other[16];
  int calls = 0;
  beck::make_parallel_group(async_echo_some(pair.a, beck::buffer(space), deferred),
                            async_echo_some(silent.a, beck::buffer(other), deferred))
      .async_wait(beck::wait_for_one(),
                  [&](auto order, error_code first, std::size_t n, error_code second, std::size_t) {
                    CHECK(order[0] == 0);
                    CHECK_FALSE(first);
                    CHECK(n == 1);
                    CHECK(second == beck::error::operation_aborted);
                    ++calls;
                  });
  pair.b.async_write_some(beck::buffer("a", 1), beck::detached);
  ctx.run();
  CHECK(calls == 1);
}

CONFORMANCE("a context that is destroyed destroys a chain, its functions and its handler") {
  const auto witness = std::make_shared<int>(0);
  {
    beck::io_context ctx(context_options());
    stream_pair pair(ctx);
    char space[16];
    (pair.a.async_read_some(beck::buffer(space)) | deferred([witness](error_code ec, std::size_t) {
       return deferred.values(ec);
     }))([witness](error_code) { FAIL_CHECK("called"); });
    ctx.poll();
    CHECK(witness.use_count() == 3);
  }
  CHECK(witness.use_count() == 1);
}
