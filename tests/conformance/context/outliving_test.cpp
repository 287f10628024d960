// SPDX-License-Identifier: BSL-1.0
// Objects that outlive their context: a bug of the program, which ends with a message in every
// build when the context is destroyed. What is no object of a context may outlive it.
#include <beck/file/random_access_file.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/pipe.hpp>
#include <beck/io/process.hpp>
#include <beck/io/registered_buffer.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/strand.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/dies.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::ip::tcp;
using beck::test::everywhere;
using beck::test::kernel;
using beck::test::stream_pair;

namespace {

/// What a child says in which the context of what `make` gives is destroyed first.
template <class Make>
bool ends_with_message(const beck::io_context::options& how, Make make) {
  const std::string text = dies_with([&] {
    ::alarm(10);  // who goes on with memory that was freed may do anything
    auto ctx = std::make_unique<beck::io_context>(how);
    const auto object = make(*ctx);
    ctx.reset();
  });
  return text.find("was destroyed before its objects") != std::string::npos;
}

std::vector<beck::io_context::options> exclusive_and_shared() {
  std::vector<beck::io_context::options> all{context_options()};
  if (beck::test::current_backend() != beck::test::on_uring) {
    all.push_back(context_options({.threads = 2}));
  }
  return all;
}

template <class Object>
auto plain() {
  return [](beck::io_context& ctx) { return std::make_unique<Object>(ctx); };
}

}  // namespace

CONFORMANCE("a context that is destroyed before an object of it ends the program with a message") {
  for (const auto& how : exclusive_and_shared()) {
    CHECK(ends_with_message(how, plain<stream_pair>()));
    CHECK(ends_with_message(how, plain<tcp::socket>()));  // was never open
    CHECK(ends_with_message(how, plain<tcp::acceptor>()));
    CHECK(ends_with_message(how, plain<beck::steady_timer>()));
    CHECK(ends_with_message(how, plain<beck::system_timer>()));
    CHECK(ends_with_message(how, plain<beck::signal_set>()));
    CHECK(ends_with_message(how, plain<beck::random_access_file>()));
    CHECK(ends_with_message(how, plain<beck::process>()));
    CHECK(ends_with_message(how, [](beck::io_context& ctx) {
      auto pair = std::make_unique<stream_pair>(ctx);
      pair->a.close();
      pair->b.close();
      return pair;
    }));
    CHECK(ends_with_message(how, [](beck::io_context& ctx) {
      auto timer = std::make_unique<beck::steady_timer>(ctx, 1h);
      timer->async_wait([](beck::error_code) {});
      ctx.poll();
      return timer;
    }));
  }
}

CONFORMANCE("objects that end, move or belong to handlers are not missed by their context") {
  for (const auto& how : exclusive_and_shared()) {
    auto ctx = std::make_unique<beck::io_context>(how);
    {
      stream_pair pair(*ctx);
      beck::steady_timer timer(*ctx, 1h);
      beck::signal_set signals(*ctx, SIGUSR2);
      tcp::socket socket(*ctx);
      tcp::socket moved(std::move(socket));
      beck::steady_timer moved_timer(std::move(timer));
      moved_timer = beck::steady_timer(*ctx, 1h);
      beck::signal_set moved_signals(std::move(signals));
      beck::post(*ctx, [held = std::move(moved), timer = std::move(moved_timer),
                        signals = std::move(moved_signals)] {});
      beck::post(*ctx, [ctx = ctx.get()] {
        beck::steady_timer inside(*ctx, 1h);
        auto outside = std::make_shared<beck::steady_timer>(*ctx, 1h);
        outside->async_wait([outside](beck::error_code) {});
      });
    }
    ctx->poll();
    ctx.reset();
  }
}

CONFORMANCE("an object that has moved to another context may outlive the first") {
  if (where == beck::test::on_sim) SKIP_CASE("simulated sockets stay");
  beck::io_context second(context_options());
  auto first = std::make_unique<beck::io_context>(context_options());
  auto pair = std::make_unique<stream_pair>(*first);
  pair->a.move_to(second);
  pair->b.move_to(second);
  first.reset();
  CHECK(pair->a.write_some(beck::buffer("x", 1)) == 1);
}

CONFORMANCE("executors, strands and resolvers may outlive a context if nothing is asked of them") {
  auto ctx = std::make_unique<beck::io_context>(context_options());
  auto executor = std::make_optional(ctx->get_executor());
  auto strand = std::make_unique<decltype(beck::make_strand(*ctx))>(beck::make_strand(*ctx));
  auto resolver = std::make_unique<tcp::resolver>(*ctx);
  const auto held = std::make_shared<int>(0);
  beck::post(*strand, [held] { FAIL("ran although its context was destroyed"); });
  ctx.reset();
  CHECK(held.use_count() == 1);
  strand.reset();
  resolver.reset();
  executor.reset();
}
