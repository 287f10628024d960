// SPDX-License-Identifier: BSL-1.0
//
// timeout_lists: which entries are due and when, entries and lists that go meanwhile, and what it
// costs.
#include <beck/detail/block.hpp>
#include <beck/io/context_services.hpp>
#include <beck/io/timeout_lists.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/sanitizers.hpp"
#include "support/allocations.hpp"
#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::duration;
using beck::timeout_entry;
using beck::timeout_lists;
using beck::test::run_task;

namespace {

constexpr duration times[] = {duration(20ms), duration(5ms), duration(1h)};

/// Lists whose entries have names, and a note of those that were due.
struct site {
  struct named_entry : timeout_entry {
    explicit named_entry(char of) noexcept : name(of) {}
    char name;
  };

  explicit site(beck::io_context& ctx)
      : context(ctx), lists(std::in_place, ctx.get_executor(), times, 3, &note, this) {}

  static void note(timeout_entry& entry, std::size_t list, void* self) {
    auto& s = *static_cast<site*>(self);
    s.due += static_cast<named_entry&>(entry).name;
    s.due += std::to_string(list);
    CHECK_FALSE(entry.is_waiting());
    CHECK(beck::now(s.context.get_executor()) - s.began >= times[list]);
    if (s.on_due) s.on_due();
  }

  beck::io_context& context;
  std::optional<timeout_lists> lists;
  std::string due;
  std::function<void()> on_due;
  const beck::time_point began = beck::now(context.get_executor());
};

}  // namespace

CONFORMANCE("timeout lists: each entry is due once, those of a list in the order of their start") {
  beck::io_context ctx(context_options());
  site s(ctx);
  site::named_entry a('a'), b('b'), c('c'), d('d'), e('e');
  run_task(ctx, [&]() -> beck::task<> {
    s.lists->start(a, 0);
    s.lists->start(b, 1);
    s.lists->start(c, 0);
    s.lists->start(d, 2);
    s.lists->start(e, 1);
    CHECK(s.lists->front(0) == &a);
    CHECK(s.lists->front(2) == &d);
    co_await beck::test::pause(ctx, 60ms);
    CHECK(s.due == "b1e1a0c0");
    CHECK(d.is_waiting());
    CHECK(s.lists->front(0) == nullptr);
    s.lists.reset();
    CHECK_FALSE(d.is_waiting());
  });
}

CONFORMANCE("timeout lists: an entry that is started again, removed or gone is not due") {
  beck::io_context ctx(context_options());
  site s(ctx);
  site::named_entry a('a'), b('b');
  auto c = std::make_unique<site::named_entry>('c');
  run_task(ctx, [&]() -> beck::task<> {
    for (site::named_entry* const each : {&a, &b, c.get()}) s.lists->start(*each, 1);
    s.lists->start(a, 2);
    timeout_lists::remove(b);
    timeout_lists::remove(b);
    c.reset();
    co_await beck::test::pause(ctx, 30ms);
    CHECK(s.due.empty());
    CHECK(a.is_waiting());
    s.lists->start(a, 1);
    co_await beck::test::pause(ctx, 30ms);
    CHECK(s.due == "a1");
    s.lists.reset();
  });
}

CONFORMANCE("timeout lists: the call for an entry may start and remove others, and end the lists") {
  beck::io_context ctx(context_options());
  site s(ctx);
  site::named_entry a('a'), b('b'), c('c');
  run_task(ctx, [&]() -> beck::task<> {
    for (site::named_entry* const each : {&a, &b}) s.lists->start(*each, 1);
    s.on_due = [&] {
      timeout_lists::remove(b);
      s.lists->start(c, 1);
      s.on_due = [&] { s.lists.reset(); };
    };
    co_await beck::test::pause(ctx, 30ms);
    CHECK(s.due == "a1c1");
    CHECK_FALSE(s.lists.has_value());
  });
}

CONFORMANCE(
    "timeout lists: an exception of a call leaves run(), and the others are due behind it") {
  beck::io_context ctx(context_options());
  site s(ctx);
  site::named_entry a('a'), b('b'), c('c');
  for (site::named_entry* const each : {&a, &b}) s.lists->start(*each, 1);
  s.on_due = [&] {
    s.on_due = nullptr;
    throw std::runtime_error("of a call");
  };
  CHECK_THROWS_AS(ctx.run(), std::runtime_error);
  s.lists->start(c, 1);
  ctx.restart();
  ctx.run();
  CHECK(s.due == "a1b1c1");
}

CONFORMANCE("timeout lists: run() returns when no entry waits") {
  beck::io_context ctx(context_options());
  site s(ctx);
  site::named_entry a('a'), b('b');
  s.lists->start(a, 1);
  s.lists->start(b, 1);
  timeout_lists::remove(b);
  ctx.run();
  CHECK(s.due == "a1");
}

CONFORMANCE("timeout lists: a context may be destroyed while entries wait") {
  site::named_entry a('a');
  std::optional<beck::io_context> ctx(std::in_place, context_options());
  auto s = std::make_unique<site>(*ctx);
  s->lists->start(a, 2);
  ctx->poll();
  s.reset();
  ctx.reset();
  CHECK_FALSE(a.is_waiting());
}

CONFORMANCE("timeout lists: ten thousand entries that are started again allocate nothing") {
  if (beck::detail::address_sanitizer) SKIP_CASE("blocks are not recycled under AddressSanitizer");
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context ctx(context_options());
  site s(ctx);
  std::vector<std::unique_ptr<site::named_entry>> all;
  for (int i = 0; i < 10'000; ++i) all.push_back(std::make_unique<site::named_entry>('x'));
  run_task(ctx, [&]() -> beck::task<> {
    s.lists->start(*all[0], 2);
    const std::uint64_t before = beck::test::allocations();
    for (int round = 0; round < 3; ++round) {
      for (const auto& each : all) s.lists->start(*each, 2);
    }
    CHECK(beck::test::allocations() == before);
    s.lists.reset();
    co_return;
  });
}

CONFORMANCE("timeout lists: without memory for the timer, the next start sets it") {
  NEEDS_ALLOCATION_FAULTS();
  beck::io_context ctx(context_options());
  site s(ctx);
  site::named_entry a('a'), b('b');
  std::vector<void*> held;  // all recycled blocks: the next one comes from the allocator
  for (std::size_t bytes = 64; bytes <= 512; bytes += 64) {
    for (const std::uint64_t known = ctx.stats().block_misses; ctx.stats().block_misses == known;)
      held.push_back(beck::detail::allocate_block(bytes));
  }
  {
    const beck::test::allocation_fault fault(1);
    s.lists->start(a, 1);
    CHECK(fault.fired());
  }
  s.lists->start(b, 1);
  ctx.run();
  CHECK(s.due == "a1b1");
  for (void* const block : held) beck::detail::free_block(block);
}
