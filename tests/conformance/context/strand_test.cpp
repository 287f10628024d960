// SPDX-License-Identifier: BSL-1.0
// Strands on a context: order, one at a time, budget, nesting, exceptions, ends; sockets and
// coroutines whose executor is a strand. tests/stress has the threads.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

#include "support/connections.hpp"
#include "support/context_options.hpp"

using beck::any_io_executor;
using beck::buffer;
using beck::make_strand;
using beck::post;
using beck::test::note;
using beck::test::outcome;

using stream = beck::local::stream_protocol::socket;

CONFORMANCE("a strand runs what is posted in order, and never inside the post") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  std::vector<int> order;
  post(strand, [&] {
    order.push_back(1);
    post(strand, [&] { order.push_back(3); });
    post(ctx, [&] { order.push_back(4); });
    CHECK(order.size() == 1);
  });
  post(strand, [&] { order.push_back(2); });
  CHECK(order.empty());
  CHECK(ctx.run() == 4);
  CHECK(order == std::vector{1, 2, 3, 4});
}

CONFORMANCE("a strand keeps its context running until all it has was run") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  int left = 1000;
  struct chain {
    beck::strand<beck::io_context::executor_type>& on;
    int& left;
    void operator()() const {
      if (--left > 0) post(on, chain(*this));
    }
  };
  post(strand, chain{strand, left});
  CHECK(ctx.run() == 1000);
  CHECK(left == 0);
}

CONFORMANCE("running_in_this_thread of a strand is true inside of it only") {
  beck::io_context ctx(context_options());
  auto one = make_strand(ctx);
  auto two = make_strand(ctx);
  auto copy = one;
  CHECK(one == copy);
  CHECK_FALSE(one == two);
  CHECK(any_io_executor(one) == any_io_executor(copy));
  CHECK(any_io_executor(one) != any_io_executor(two));
  CHECK_FALSE(one.running_in_this_thread());
  int asked = 0;
  post(one, [&] {
    ++asked;
    CHECK(one.running_in_this_thread());
    CHECK(copy.running_in_this_thread());
    CHECK(ctx.get_executor().running_in_this_thread());
    CHECK_FALSE(two.running_in_this_thread());
  });
  post(ctx, [&] {
    ++asked;
    CHECK_FALSE(one.running_in_this_thread());
  });
  ctx.run();
  CHECK(asked == 2);
}

CONFORMANCE("dispatch to an idle strand runs at once inside of what is below, and inside of it") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  std::vector<int> order;
  dispatch(strand, [&] { order.push_back(0); });  // outside: posted
  CHECK(order.empty());
  CHECK(ctx.run() == 1);
  ctx.restart();
  post(ctx, [&] {
    dispatch(strand, [&] {
      CHECK(strand.running_in_this_thread());
      dispatch(strand, [&] { order.push_back(1); });
      order.push_back(2);
      post(strand, [&] { order.push_back(4); });
    });
    CHECK_FALSE(strand.running_in_this_thread());
    order.push_back(3);
  });
  CHECK(ctx.run() == 2);
  CHECK(order == std::vector{0, 1, 2, 3, 4});
}

CONFORMANCE("dispatch to a strand that has something to run waits behind it") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  std::vector<int> order;
  post(ctx, [&] {
    post(strand, [&] { order.push_back(2); });
    dispatch(strand, [&] { order.push_back(3); });
    order.push_back(1);
  });
  ctx.run();
  CHECK(order == std::vector{1, 2, 3});
}

CONFORMANCE(
    "an exception out of a dispatch into an idle strand reaches the caller, the strand goes on") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  bool ran = false;
  bool caught = false;
  post(ctx, [&] {
    try {
      dispatch(strand, [&] {
        post(strand, [&] { ran = true; });
        throw std::runtime_error("out of the strand");
      });
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK_FALSE(strand.running_in_this_thread());
  });
  ctx.run();
  CHECK(caught);
  CHECK(ran);
}

CONFORMANCE("a strand on a strand runs inside of both, and dispatch knows it") {
  beck::io_context ctx(context_options());
  auto outer = make_strand(ctx);
  auto inner = make_strand(outer);
  std::vector<int> order;
  post(inner, [&] {
    CHECK(inner.running_in_this_thread());
    CHECK(outer.running_in_this_thread());
    dispatch(outer, [&] { order.push_back(1); });
    post(outer, [&] {
      CHECK_FALSE(inner.running_in_this_thread());
      order.push_back(3);
    });
    order.push_back(2);
  });
  ctx.run();
  CHECK(order == std::vector{1, 2, 3});
  CHECK(inner.get_inner_executor() == outer);
}

CONFORMANCE("a strand yields to the rest of its context after 64 handlers") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) post(strand, [&, i] { order.push_back(i); });
  post(ctx, [&] { order.push_back(1000); });
  ctx.run();
  REQUIRE(order.size() == 201);
  CHECK(order[64] == 1000);
  for (std::size_t i = 0; i < 64; ++i) CHECK(order[i] == static_cast<int>(i));
  for (std::size_t i = 65; i < 201; ++i) CHECK(order[i] == static_cast<int>(i - 1));
}

CONFORMANCE("run_one and stop end a strand's slice after the handler") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  int ran = 0;
  for (int i = 0; i < 10; ++i) post(strand, [&] { ++ran; });
  CHECK(ctx.run_one() == 1);
  CHECK(ran == 1);
  CHECK(ctx.poll_one() == 1);
  CHECK(ran == 2);
  dispatch(ctx, [&] { ctx.stop(); });
  post(strand, [&] { ctx.stop(); });
  post(strand, [&] { ++ran; });
  ctx.run();  // the first stop
  ctx.restart();
  ctx.run();  // the second
  CHECK(ran == 10);
  ctx.restart();
  CHECK(ctx.run() == 1);
  CHECK(ran == 11);
}

CONFORMANCE("an exception of a strand's handler leaves run, and the strand goes on afterwards") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  std::vector<int> order;
  post(strand, [&] { order.push_back(1); });
  post(strand, [&] {
    post(strand, [&] { order.push_back(3); });
    throw std::runtime_error("from a strand");
  });
  post(strand, [&] { order.push_back(2); });
  CHECK_THROWS_AS(ctx.run(), std::runtime_error);
  CHECK_FALSE(strand.running_in_this_thread());
  ctx.run();
  CHECK(order == std::vector{1, 2, 3});
  post(strand, [&] { throw std::runtime_error("the last one"); });
  ctx.restart();
  CHECK_THROWS_AS(ctx.run(), std::runtime_error);
  ctx.restart();
  post(strand, [&] { order.push_back(4); });
  ctx.run();
  CHECK(order.back() == 4);
}

CONFORMANCE("what is left in a strand is destroyed un-run with its context, in any number") {
  auto life = std::make_shared<int>(0);
  int ran = 0;
  {
    beck::io_context ctx(context_options());
    auto outer = make_strand(ctx);
    auto inner = make_strand(outer);
    for (int i = 0; i < 100'000; ++i) {
      post(outer, [life, &ran] { ++ran; });
      post(inner, [life, &ran] { ++ran; });
    }
  }
  CHECK(ran == 0);
  CHECK(life.use_count() == 1);
}

CONFORMANCE("a handler may drop the last copy of its strand") {
  beck::io_context ctx(context_options());
  int ran = 0;
  auto strand = std::make_unique<beck::strand<beck::io_context::executor_type>>(ctx.get_executor());
  post(*strand, [&] {
    strand.reset();
    ++ran;
  });
  post(*strand, [&] { ++ran; });
  ctx.run();
  CHECK(ran == 2);
}

CONFORMANCE("handlers of a socket with a strand run in the strand, one after the other") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  stream a(ctx, any_io_executor(strand));
  stream b(ctx);
  connect_pair(a, b);
  CHECK(a.get_executor() == any_io_executor(strand));
  char bytes[2] = {};
  int inside = 0;
  const auto read = [&](beck::error_code ec, std::size_t n) {
    CHECK(!ec);
    CHECK(n == 1);
    if (strand.running_in_this_thread()) ++inside;
  };
  a.async_read_some(buffer(bytes, 1), read);
  a.async_read_some(buffer(bytes + 1, 1), read);
  outcome sent;
  async_write(b, buffer("st", 2), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(inside == 2);
  CHECK(bytes[0] == 's');
  CHECK(bytes[1] == 't');
}

CONFORMANCE("a coroutine that was spawned on a strand stays in it across reads and hops") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  stream a(ctx);
  stream b(ctx);
  connect_pair(a, b);
  int inside = 0;
  const auto look = [&] { inside += strand.running_in_this_thread() ? 1 : 0; };
  auto child = [&]() -> beck::task<int> {
    look();
    co_await post(ctx);
    look();
    char byte = 0;
    auto [ec, n] = co_await a.async_read_some(buffer(&byte, 1));
    CHECK(!ec);
    look();
    co_return static_cast<int>(n);
  };
  auto parent = [&]() -> beck::task<> {
    CHECK(co_await beck::this_coro::executor == any_io_executor(strand));
    look();
    CHECK(co_await child() == 1);
    look();
    co_await post(strand);
    look();
  };
  beck::co_spawn(strand, parent, beck::detached);
  outcome sent;
  async_write(b, buffer("c", 1), note(sent));
  beck::test::run_all(ctx);
  CHECK(sent.ok());
  CHECK(inside == 6);
}

CONFORMANCE("a context that ends destroys the trees of tasks on its strands") {
  auto life = std::make_shared<int>(0);
  {
    beck::io_context ctx(context_options());
    auto strand = make_strand(ctx);
    stream a(ctx, any_io_executor(strand));
    stream b(ctx);
    connect_pair(a, b);
    auto waits = [](std::shared_ptr<int> kept, stream& from) -> beck::task<> {
      char byte = 0;
      static_cast<void>(co_await from.async_read_some(buffer(&byte, 1)));
      ++*kept;
    };
    beck::co_spawn(strand, waits(life, a), beck::detached);
    beck::co_spawn(strand, waits(life, a), beck::detached);
    ctx.poll();
    CHECK(life.use_count() == 3);
  }
  CHECK(life.use_count() == 1);
  CHECK(*life == 0);
}

CONFORMANCE("an exception of a detached task on a strand goes to the context's handler") {
  beck::io_context ctx(context_options());
  int taken = 0;
  ctx.on_unhandled([](std::exception_ptr, void* count) { ++*static_cast<int*>(count); }, &taken);
  auto fails = []() -> beck::task<> {
    throw std::runtime_error("a task");
    co_return;
  };
  beck::co_spawn(make_strand(ctx), fails, beck::detached);
  ctx.run();
  CHECK(taken == 1);
}

CONFORMANCE("bind_executor sends one handler through a strand") {
  beck::io_context ctx(context_options());
  auto strand = make_strand(ctx);
  bool inside = false;
  post(ctx, beck::bind_executor(strand, [&] { inside = strand.running_in_this_thread(); }));
  ctx.run();
  CHECK(inside);
}

CONFORMANCE("a strand on an any_io_executor is an executor as any other") {
  beck::io_context ctx(context_options());
  beck::steady_timer timer(ctx);
  const auto on_timer = beck::make_strand(timer.get_executor());
  const beck::strand<beck::any_io_executor> on_context(ctx.get_executor());
  const auto copy = on_timer;
  int ran = 0;
  beck::post(on_timer, [&] {
    CHECK(copy.running_in_this_thread());
    ++ran;
  });
  beck::post(ctx, beck::bind_executor(on_context, [&] {
               CHECK(!copy.running_in_this_thread());
               ++ran;
             }));
  CHECK(beck::any_io_executor(copy) == beck::any_io_executor(on_timer));
  ctx.run();
  CHECK(ran == 2);
}
