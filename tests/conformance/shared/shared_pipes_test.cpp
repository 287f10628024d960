// SPDX-License-Identifier: BSL-1.0
// Pipes and splices on contexts that several threads run. On the simulator the threads are virtual,
// and one real thread calls run().
#include <atomic>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/strand.hpp>
#include <beck/transfer/relay.hpp>
#include <beck/transfer/splice.hpp>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/pipes.hpp"

using beck::buffer;
using beck::error_code;
using beck::test::pipe_ends;
namespace error = beck::error;

namespace {

constexpr unsigned shareable = beck::test::epoll | beck::test::sim;
constexpr int threads = 2;

void run_all_threads(beck::io_context& ctx) {
  if (beck::test::current_backend() == beck::backend::sim) {
    ctx.run();
    return;
  }
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&ctx] { ctx.run(); });
  for (std::thread& one : all) one.join();
}

}  // namespace

CONFORMANCE_ON(shareable, "pipes of a shared context carry messages between its threads") {
  beck::io_context ctx(context_options({.threads = threads}));
  std::atomic<int> right{0};
  std::vector<std::unique_ptr<pipe_ends>> pipes;
  auto send = [](beck::writable_pipe& to) -> beck::task<> {
    for (char i = 0; i < 100; ++i) beck::ignore(co_await async_write(to, buffer(&i, 1)));
    to.close();
  };
  auto receive = [&right](beck::readable_pipe& from) -> beck::task<> {
    char byte = 0;
    for (char i = 0;; ++i) {
      auto [ec, n] = co_await async_read(from, buffer(&byte, 1));
      if (ec) co_return;
      right += byte == i ? 1 : 0;
    }
  };
  for (int i = 0; i < 10; ++i) {
    pipes.push_back(std::make_unique<pipe_ends>(ctx));
    co_spawn(ctx, send(pipes.back()->in), beck::detached);
    co_spawn(ctx, receive(pipes.back()->out), beck::detached);
  }
  run_all_threads(ctx);
  CHECK(right == 1000);
}

CONFORMANCE_ON(shareable, "splices of a shared context are cancelled while they change sides") {
  beck::io_context ctx(context_options({.threads = threads}));
  struct chain {
    explicit chain(beck::io_context& context) : from(context), to(context) {}
    pipe_ends from, to;
    std::size_t spliced = 0;
    std::size_t read = 0;
  };
  std::vector<std::unique_ptr<chain>> chains;
  auto forward = [](chain& c) -> beck::task<> {
    for (bool more = true; more;) {
      auto [ec, n] = co_await beck::timeout(beck::async_splice(c.from.out, c.to.in, 3000),
                                            beck::duration(200'000));
      c.spliced += n;
      more = !ec || ec == error::timeout;
    }
    c.to.in.close();
  };
  auto feed = [](chain& c) -> beck::task<> {
    const std::string block(1000, 'x');
    for (int i = 0; i < 200; ++i) beck::ignore(co_await async_write(c.from.in, buffer(block)));
    c.from.in.close();
  };
  auto drain = [](chain& c) -> beck::task<> {
    char block[700];
    for (;;) {
      auto [ec, n] = co_await c.to.out.async_read_some(buffer(block));
      c.read += n;
      if (ec) co_return;
    }
  };
  for (int i = 0; i < 6; ++i) {
    chains.push_back(std::make_unique<chain>(ctx));
    co_spawn(beck::make_strand(ctx), forward(*chains.back()), beck::detached);
    co_spawn(beck::make_strand(ctx), feed(*chains.back()), beck::detached);
    co_spawn(beck::make_strand(ctx), drain(*chains.back()), beck::detached);
  }
  run_all_threads(ctx);
  for (const auto& one : chains) {
    CHECK(one->spliced == 200'000);
    CHECK(one->read == 200'000);
  }
}

CONFORMANCE_ON(shareable, "a relay inside a strand of a shared context carries both ways") {
  beck::io_context ctx(context_options({.threads = threads}));
  beck::test::local_connection near(ctx);
  beck::test::local_connection far(ctx);
  const std::string text(100'000, 'r');
  std::string there(text.size(), '\0');
  error_code ended = error::interrupted;
  using socket = beck::local::stream_protocol::socket;
  auto carry = [&]() -> beck::task<> { ended = (co_await beck::relay(near.b, far.b)).error(); };
  auto send = [&text](socket& to) -> beck::task<> {
    beck::ignore(co_await async_write(to, buffer(text)));
    to.shutdown(socket::shutdown_send);
  };
  auto receive = [](socket& from, std::string& into) -> beck::task<> {
    beck::ignore(co_await async_read(from, buffer(into)));
    from.shutdown(socket::shutdown_send);
  };
  co_spawn(beck::make_strand(ctx), carry(), beck::detached);
  co_spawn(beck::make_strand(ctx), send(near.a), beck::detached);
  co_spawn(beck::make_strand(ctx), receive(far.a, there), beck::detached);
  run_all_threads(ctx);
  CHECK((there == text));
  CHECK_FALSE(ended);
}
