// SPDX-License-Identifier: BSL-1.0
//
// The buffers of a context: bounded, waited for in order (U9), given back by any thread, there
// after the context is gone.
#include <beck/io/buffer_lease.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sanitizers.hpp"
#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/small_random.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::test::kernel;
using beck::test::pattern;
using beck::test::pause;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

beck::task<> send_text(stream_socket& to, std::string text) {
  CHECK_FALSE((co_await beck::async_write(to, beck::buffer(text))).error());
}

struct crowd {
  crowd(beck::io_context& ctx, int count) {
    for (int i = 0; i < count; ++i) pairs.push_back(std::make_unique<stream_pair>(ctx));
  }
  stream_socket& writer(std::size_t i) { return pairs[i]->a; }
  stream_socket& reader(std::size_t i) { return pairs[i]->b; }

  std::vector<std::unique_ptr<stream_pair>> pairs;
};

}  // namespace

CONFORMANCE("receivers without a buffer wait, and get returned ones in the order of their start") {
  beck::io_context ctx(context_options({.lease_count = 2, .lease_bytes = 64}));
  crowd all(ctx, 6);
  std::deque<beck::buffer_lease> held;
  std::string order;
  auto work = [&]() -> beck::task<> {
    for (std::size_t i = 0; i < 6; ++i) co_await send_text(all.writer(i), "x");
    co_await pause(ctx, 1ms);
    for (std::size_t i = 0; i < 6; ++i) {
      beck::async_receive(all.reader(i), [&, i](beck::error_code ec, beck::buffer_lease lease) {
        CHECK_FALSE(ec);
        order += std::to_string(i);
        held.push_back(std::move(lease));
      });
      co_await pause(ctx, 1ms);
    }
    CHECK(order == "01");
    CHECK(ctx.stats().lease_waits == 4);
    for (std::size_t got = 3; got <= 6; ++got) {
      held.pop_front();
      co_await pause(ctx, 1ms);
      CHECK(order.size() == got);
    }
  };
  run_task(ctx, work);
  CHECK(order == "012345");
}

CONFORMANCE("who comes when others wait for a buffer waits behind them") {
  beck::io_context ctx(context_options({.lease_count = 1, .lease_bytes = 64}));
  crowd all(ctx, 3);
  std::string order;
  auto work = [&]() -> beck::task<> {
    for (std::size_t i = 0; i < 3; ++i) co_await send_text(all.writer(i), "x");
    co_await pause(ctx, 1ms);
    beck::buffer_lease only = (co_await beck::async_receive(all.reader(0))).value();
    const auto note = [&order](char name) {
      return [&order, name](beck::error_code ec, beck::buffer_lease) {
        CHECK_FALSE(ec);
        order += name;
      };
    };
    beck::async_receive(all.reader(1), note('1'));
    co_await pause(ctx, 1ms);
    only.reset();  // it is the first waiter's from now on
    beck::async_receive(all.reader(2), note('2'));
    CHECK(order.empty());
    co_await pause(ctx, 1ms);
  };
  run_task(ctx, work);
  CHECK(order == "12");
}

CONFORMANCE("a receiver that waits for a buffer can be cancelled, closed and timed out") {
  beck::io_context ctx(context_options({.lease_count = 1, .lease_bytes = 64}));
  crowd all(ctx, 5);
  std::string order;
  auto work = [&]() -> beck::task<> {
    for (std::size_t i = 0; i < 5; ++i) co_await send_text(all.writer(i), "data");
    co_await pause(ctx, 1ms);
    beck::buffer_lease only = (co_await beck::async_receive(all.reader(0))).value();
    const auto note = [&order](char name) {
      return [&order, name](beck::error_code ec, beck::buffer_lease lease) {
        CHECK(lease.empty() == static_cast<bool>(ec));
        order += ec == beck::error::operation_aborted ? 'a' : ec ? 't' : name;
      };
    };
    beck::async_receive(all.reader(1), note('1'));
    beck::async_receive(all.reader(2), note('2'));
    beck::async_receive(all.reader(3), note('3'));
    beck::async_receive(all.reader(4), note('4'));
    co_await pause(ctx, 1ms);
    all.reader(1).cancel();
    all.reader(2).close();
    co_await pause(ctx, 1ms);
    all.reader(3).expires_after(0ms);
    co_await pause(ctx, 1ms);
    CHECK(order == "aat");
    only.reset();
    co_await pause(ctx, 1ms);
    CHECK(order == "aat4");
    auto again = co_await beck::async_receive(all.reader(1));
    CHECK(again->size() == 4);  // nothing was taken from it
  };
  run_task(ctx, work);
}

CONFORMANCE("a buffer that was kept for a receiver which is cancelled goes to the next one") {
  beck::io_context ctx(context_options({.lease_count = 1, .lease_bytes = 64}));
  crowd all(ctx, 3);
  bool first = false, second = false;
  auto work = [&]() -> beck::task<> {
    for (std::size_t i = 0; i < 3; ++i) co_await send_text(all.writer(i), "data");
    co_await pause(ctx, 1ms);
    beck::buffer_lease only = (co_await beck::async_receive(all.reader(0))).value();
    beck::async_receive(all.reader(1), [&](beck::error_code ec, beck::buffer_lease) {
      CHECK(ec == beck::error::operation_aborted);
      first = true;
    });
    beck::async_receive(all.reader(2), [&](beck::error_code ec, beck::buffer_lease lease) {
      CHECK_FALSE(ec);
      CHECK(lease.size() == 4);
      second = true;
    });
    co_await pause(ctx, 1ms);
    only.reset();
    all.reader(1).cancel();
    co_await pause(ctx, 1ms);
    CHECK(first);
    CHECK(second);
  };
  run_task(ctx, work);
}

CONFORMANCE("many receivers share few buffers, and each gets its whole stream") {
  constexpr int readers = 40;
  beck::io_context ctx(context_options({.lease_count = 3, .lease_bytes = 100}));
  crowd all(ctx, readers);
  std::vector<std::string> received(readers);
  const std::string sent = pattern(5000);
  auto write = [&](std::size_t i) -> beck::task<> {
    co_await send_text(all.writer(i), sent);
    all.writer(i).close();
  };
  auto read = [&](std::size_t i) -> beck::task<> {
    for (;;) {
      auto r = co_await beck::async_receive(all.reader(i));
      if (!r) break;
      received[i].append(r->data(), r->size());
      if (i % 3 == 0) co_await pause(ctx, 10us);  // with its lease
    }
  };
  for (std::size_t i = 0; i < readers; ++i) {
    beck::co_spawn(ctx, read(i), beck::detached);
    beck::co_spawn(ctx, write(i), beck::detached);
  }
  ctx.run();
  for (const std::string& text : received) CHECK(text == sent);
  CHECK(ctx.stats().lease_waits > 0);
}

CONFORMANCE_ON(kernel, "a buffer that another thread returns goes to a waiting receiver") {
  beck::io_context ctx(context_options({.lease_count = 2, .lease_bytes = 256}));
  stream_pair pair(ctx);
  const std::string sent = pattern(300'000);
  std::string received;
  // A thread that takes leases and drops them.
  beck::io_context elsewhere;
  auto guard = beck::make_work_guard(elsewhere);
  std::thread other([&] { elsewhere.run(); });
  auto reader = [&]() -> beck::task<> {
    for (;;) {
      auto r = co_await beck::async_receive(pair.b);
      if (!r) break;
      received.append(r->data(), r->size());
      beck::post(elsewhere, [lease = std::move(r).value()]() mutable { lease.reset(); });
    }
    guard.reset();
  };
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        co_await send_text(pair.a, sent);
        pair.a.close();
      },
      beck::detached);
  run_task(ctx, reader());
  other.join();
  CHECK(received == sent);
}

CONFORMANCE_ON(kernel, "a batch of returned buffers goes to all waiting receivers") {
  beck::io_context ctx(context_options({.lease_count = 3, .lease_bytes = 64}));
  crowd all(ctx, 6);
  std::vector<beck::buffer_lease> held;
  for (std::size_t i = 0; i < 6; ++i) all.writer(i).write_some(beck::buffer("x", 1));
  const auto keep = [&](beck::error_code ec, beck::buffer_lease lease) {
    CHECK_FALSE(ec);
    held.push_back(std::move(lease));
  };
  for (std::size_t i = 0; i < 6; ++i) beck::async_receive(all.reader(i), keep);
  while (held.size() < 3 && ctx.run_one_for(10s) != 0) {}
  REQUIRE(held.size() == 3);
  ctx.poll();  // the other three wait for buffers
  CHECK(ctx.stats().lease_waits == 3);
  std::vector<beck::buffer_lease> back = std::exchange(held, {});
  std::thread([&back] { back.clear(); }).join();
  while (held.size() < 3 && ctx.run_one_for(10s) != 0) {}
  CHECK(held.size() == 3);
}

CONFORMANCE("leases outlive their context") {
  std::vector<beck::buffer_lease> kept;
  {
    beck::io_context ctx(context_options({.lease_count = 8, .lease_bytes = 16}));
    stream_pair pair(ctx);
    auto work = [&]() -> beck::task<> {
      co_await send_text(pair.a, pattern(100));
      for (int i = 0; i < 6; ++i) kept.push_back((co_await beck::async_receive(pair.b)).value());
    };
    run_task(ctx, work);
  }
  std::string text;
  for (const auto& lease : kept) text.append(lease.data(), lease.size());
  CHECK(text.size() >= 6);
  CHECK(text == pattern(text.size()));
  std::thread elsewhere([&] { kept.resize(3); });
  elsewhere.join();
  kept.clear();
}

CONFORMANCE_ON(kernel, "a context may end while another thread gives back what others wait for") {
  for (int round = 0; round < 50; ++round) {
    std::vector<beck::buffer_lease> kept;
    std::thread other;
    {
      beck::io_context ctx(context_options({.lease_count = 2, .lease_bytes = 64}));
      crowd all(ctx, 4);
      for (std::size_t i = 0; i < 4; ++i) {
        beck::async_write(all.writer(i), beck::buffer("data", 4), beck::detached);
        beck::async_receive(all.reader(i), [&kept](beck::error_code, beck::buffer_lease lease) {
          kept.push_back(std::move(lease));
        });
      }
      ctx.poll();
      CHECK(kept.size() == 2);
      other = std::thread([taken = std::move(kept)]() mutable {
        for (auto& lease : taken) lease.reset();
      });
    }
    other.join();
  }
}

CONFORMANCE("a context ends with receives in every state, and gives all buffers back") {
  std::vector<beck::buffer_lease> kept;
  crowd* gone = nullptr;
  {
    beck::io_context ctx(context_options({.lease_count = 2, .lease_bytes = 64}));
    crowd all(ctx, 6);
    gone = &all;
    for (std::size_t i = 0; i < 5; ++i) {
      beck::async_write(all.writer(i), beck::buffer("data", 4), beck::detached);
    }
    ctx.run();
    ctx.restart();
    auto take = [&](std::size_t i) -> beck::task<> {
      auto r = co_await beck::async_receive(all.reader(i));
      if (r) kept.push_back(std::move(r).value());
      co_await pause(ctx, 1h);
    };
    for (std::size_t i = 0; i < 6; ++i) beck::co_spawn(ctx, take(i), beck::detached);
    if (where == beck::test::on_sim) {
      ctx.run_for(1ms);
    } else {
      ctx.poll();
    }
    beck::async_receive(all.reader(5), [](beck::error_code, beck::buffer_lease) { CHECK(false); });
  }
  CHECK(gone != nullptr);
  CHECK(kept.size() == 2);
}

CONFORMANCE("a callback that is destroyed un-run gives its lease back") {
  beck::buffer_lease kept;
  {
    beck::io_context ctx(context_options({.lease_count = 1, .lease_bytes = 64}));
    stream_pair pair(ctx);
    beck::async_write(pair.a, beck::buffer("data", 4), beck::detached);
    ctx.run();
    ctx.restart();
    beck::async_receive(pair.b, [](beck::error_code, beck::buffer_lease) { CHECK(false); });
    ctx.stop();
  }
  CHECK(kept.empty());
}

CONFORMANCE("a shared context lends buffers, too") {
  beck::io_context ctx(
      context_options({.backend = where == beck::test::on_uring ? beck::test::on_epoll : where,
                       .threads = 2,
                       .lease_count = 2,
                       .lease_bytes = 100}));
  crowd all(ctx, 8);
  std::vector<std::string> received(8);
  const std::string sent = pattern(20'000);
  auto write = [&](std::size_t i) -> beck::task<> {
    co_await send_text(all.writer(i), sent);
    all.writer(i).close();
  };
  auto read = [&](std::size_t i) -> beck::task<> {
    for (;;) {
      auto r = co_await beck::async_receive(all.reader(i));
      if (!r) break;
      received[i].append(r->data(), r->size());
    }
  };
  for (std::size_t i = 0; i < 8; ++i) {
    beck::co_spawn(ctx, read(i), beck::detached);
    beck::co_spawn(ctx, write(i), beck::detached);
  }
  if (where == beck::test::on_sim) {
    ctx.run();
  } else {
    std::thread other([&] { ctx.run(); });
    ctx.run();
    other.join();
  }
  for (const std::string& text : received) CHECK(text == sent);
}

CONFORMANCE_ON(beck::test::uring,
               "U18: a receive that waits for a buffer needs no poll of a thread that has ended") {
  beck::io_context ctx(context_options({.lease_count = 1, .lease_bytes = 64}));
  stream_pair pair(ctx);
  stream_pair other(ctx);
  beck::buffer_lease only;
  std::string got;
  auto work = [&]() -> beck::task<> {
    co_await send_text(other.a, "x");
    only = (co_await beck::async_receive(other.b)).value();
    auto ready = pair.b.async_wait(stream_socket::wait_read);
    beck::post(ctx, [&] { pair.a.write_some(beck::buffer("abc", 3)); });
    CHECK_FALSE((co_await std::move(ready)).error());
    beck::async_receive(pair.b, [&](beck::error_code ec, beck::buffer_lease lease) {
      CHECK_FALSE(ec);
      got.assign(lease.data(), lease.size());
    });
    ctx.stop();
  };
  std::thread([&] { run_task(ctx, work); }).join();
  CHECK(ctx.stats().lease_waits == 1);
  const auto before = ctx.stats();
  ctx.restart();
  pair.a.write_some(beck::buffer("d", 1));  // the kernel finds that the thread has ended
  // It ends the thread's poll some milliseconds later, on a busy machine after more.
  for (int i = 0; i < 500 && ctx.stats().completions == before.completions; ++i) {
    beck::test::tick(ctx, 20ms);
    ctx.restart();
  }
  CHECK(ctx.stats().completions > before.completions);
  CHECK(ctx.stats().completions - before.completions < 10);
  only.reset();
  ctx.restart();
  ctx.run();
  CHECK(got == "abcd");
}

// The simulated network allocates for each message that travels; so this is the kernel's.
CONFORMANCE_ON(kernel, "receives allocate nothing in a steady state") {
  if (beck::detail::address_sanitizer) SKIP_CASE("blocks are not recycled under AddressSanitizer");
  if (!beck::test::counts_allocations()) SKIP_CASE("a sanitizer brings its own operator new");
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::uint64_t before = 0, after = 0;
  auto work = [&]() -> beck::task<> {
    for (int i = 0; i < 600; ++i) {
      if (i == 100) before = beck::test::allocations() + beck::detail::block_misses();
      CHECK_FALSE((co_await beck::async_write(pair.a, beck::buffer("ping", 4))).error());
      auto r = co_await beck::async_receive(pair.b);
      CHECK(r->size() == 4);
    }
    after = beck::test::allocations() + beck::detail::block_misses();
  };
  run_task(ctx, work);
  CHECK(after == before);
}
