// SPDX-License-Identifier: BSL-1.0
//
// The queue of timers beside a model that sorts: order, equal deadlines, removal anywhere, and what
// happens without memory.
#include "io/loop/timer_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/allocations.hpp"
#include "support/small_random.hpp"

using beck::detail::timer_entry;
using beck::detail::timer_queue;
using beck::test::allocation_fault;

namespace {

struct named_entry : timer_entry {
  int name = 0;
};

std::vector<named_entry> entries_with(const std::vector<std::int64_t>& deadlines) {
  std::vector<named_entry> entries(deadlines.size());
  for (std::size_t i = 0; i < deadlines.size(); ++i) {
    entries[i].deadline = deadlines[i];
    entries[i].name = static_cast<int>(i);
  }
  return entries;
}

std::vector<int> take_all(timer_queue& queue, std::int64_t now) {
  std::vector<int> names;
  while (timer_entry* entry = queue.take_expired(now)) {
    CHECK_FALSE(entry->is_armed());
    names.push_back(static_cast<named_entry*>(entry)->name);
  }
  return names;
}

}  // namespace

TEST_CASE("timers are taken by deadline, and equal ones in the order of their arming") {
  timer_queue queue;
  auto entries = entries_with({50, 10, 30, 10, 20, 10, 50});
  for (named_entry& entry : entries) CHECK(queue.add(entry));
  CHECK(queue.earliest() == 10);
  CHECK(take_all(queue, 9).empty());
  CHECK(take_all(queue, 49) == std::vector{1, 3, 5, 4, 2});
  CHECK(take_all(queue, 50) == std::vector{0, 6});
  CHECK(queue.empty());
  CHECK(queue.earliest() == timer_queue::never);
}

TEST_CASE("the order of equal deadlines holds across looks and removals") {
  timer_queue queue;
  auto entries = entries_with(std::vector<std::int64_t>(100, 7));
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(queue.add(entries[i]));
    if (i % 3 == 0) CHECK(queue.earliest() == 7);
  }
  for (std::size_t i = 0; i < 100; i += 2) queue.remove(entries[i]);
  std::vector<int> expected;
  for (int i = 1; i < 100; i += 2) expected.push_back(i);
  CHECK(take_all(queue, 7) == expected);
}

TEST_CASE("timers that are armed and disarmed at random stay in order") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    beck::testing::small_random random(seed);
    timer_queue queue;
    std::vector<named_entry> entries(60);
    std::vector<std::uint64_t> armed_at(entries.size());
    std::uint64_t clock = 0;
    for (int step = 0; step < 400; ++step) {
      const std::size_t at = random.below(static_cast<unsigned>(entries.size()));
      named_entry& entry = entries[at];
      if (entry.is_armed()) {
        queue.remove(entry);
      } else {
        entry.deadline = static_cast<std::int64_t>(random.below(40));
        armed_at[at] = ++clock;
        CHECK(queue.add(entry));
      }
      if (random.below(4) == 0) static_cast<void>(queue.earliest());
      if (random.below(16) != 0) continue;
      std::vector<named_entry*> model;
      const auto now = static_cast<std::int64_t>(random.below(20));
      for (named_entry& e : entries) {
        if (e.is_armed() && e.deadline <= now) model.push_back(&e);
      }
      std::sort(model.begin(), model.end(), [&](const named_entry* a, const named_entry* b) {
        if (a->deadline != b->deadline) return a->deadline < b->deadline;
        return armed_at[static_cast<std::size_t>(a - entries.data())] <
               armed_at[static_cast<std::size_t>(b - entries.data())];
      });
      for (named_entry* expected : model) CHECK(queue.take_expired(now) == expected);
      CHECK(queue.take_expired(now) == nullptr);
    }
    while (queue.take_any() != nullptr) {}
    for (const named_entry& entry : entries) CHECK_FALSE(entry.is_armed());
  }
}

TEST_CASE("every timer that is armed is taken in the end, never ones too") {
  timer_queue queue;
  auto entries = entries_with({timer_queue::never, 1, timer_queue::never, INT64_MIN});
  for (named_entry& entry : entries) CHECK(queue.add(entry));
  CHECK(take_all(queue, timer_queue::never - 1) == std::vector{3, 1});
  int left = 0;
  while (queue.take_any() != nullptr) ++left;
  CHECK(left == 2);
}

TEST_CASE("without memory a timer is refused and those that are armed stay") {
  NEEDS_ALLOCATION_FAULTS();
  timer_queue queue;
  auto entries = entries_with(std::vector<std::int64_t>(65, 5));
  {
    const allocation_fault none(1);
    CHECK_FALSE(queue.add(entries[0]));
    CHECK_FALSE(entries[0].is_armed());
  }
  for (std::size_t i = 0; i < 64; ++i) CHECK(queue.add(entries[i]));
  {
    const allocation_fault none(1);
    CHECK_FALSE(queue.add(entries[64]));
    CHECK_FALSE(entries[64].is_armed());
  }
  CHECK(queue.add(entries[64]));
  CHECK(take_all(queue, 5).size() == 65);
}
