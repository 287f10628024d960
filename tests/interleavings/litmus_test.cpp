// SPDX-License-Identifier: BSL-1.0
// The checker itself, on the small programs by which memory models are told apart: what it must
// find, and what it must not.
#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <set>
#include <vector>

#include "interleavings/atomic.hpp"
#include "interleavings/explore.hpp"

using beck::interleavings::atomic;
using beck::interleavings::bounds;
using beck::interleavings::check;
using beck::interleavings::defect;
using beck::interleavings::explore;
using beck::interleavings::outcome;
using beck::interleavings::place;
using beck::interleavings::plain;
using beck::interleavings::scenario;
using beck::interleavings::world;

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr auto seq_cst = std::memory_order_seq_cst;

// Two atomics, an ordinary int, what each thread found, and a program for each thread.
struct litmus : scenario {
  using program = std::function<void(litmus&)>;

  std::vector<program> programs;
  std::function<void(litmus&)> end = [](litmus&) {};
  atomic<int> x{0};
  atomic<int> y{0};
  plain<int> data{0};
  std::array<int, 4> found{};

  unsigned threads() const override { return static_cast<unsigned>(programs.size()); }
  std::string name_of(unsigned thread) const override { return "T" + std::to_string(thread); }
  void run(unsigned thread) override { programs[thread - 1](*this); }
  void check_end() override { end(*this); }
};

outcome explore_programs(
    std::vector<litmus::program> programs, std::function<void(litmus&)> end = [](litmus&) {},
    const bounds& limits = {}) {
  return explore(
      [&] {
        auto* made = new litmus;
        made->programs = programs;
        made->end = end;
        return made;
      },
      limits);
}

void add_one(litmus& l) { l.x.fetch_add(1, relaxed); }

// All that two threads found, over all executions.
std::set<std::array<int, 4>> all_found(const std::vector<litmus::program>& programs,
                                       const bounds& limits = {}) {
  std::set<std::array<int, 4>> all;
  const outcome o = explore_programs(programs, [&](litmus& l) { all.insert(l.found); }, limits);
  CHECK_FALSE(o.failed);
  return all;
}

}  // namespace

TEST_CASE("checker: data that a release and an acquire hand over is no race, with less it is one") {
  const auto hand_over = [](std::memory_order out, std::memory_order in) {
    return explore_programs({[=](litmus& l) {
                               l.data = 1;
                               l.x.store(1, out);
                             },
                             [=](litmus& l) {
                               if (l.x.load(in) == 1) check(l.data == 1, "the data is there");
                             }});
  };
  CHECK_FALSE(hand_over(release, acquire).failed);
  CHECK(hand_over(relaxed, acquire).failure.starts_with("data race"));
  CHECK(hand_over(release, relaxed).failure.starts_with("data race"));
}

TEST_CASE("checker: two threads may both miss the other's store, unless all is seq_cst") {
  const auto both_store = [](std::memory_order out, std::memory_order in) {
    return all_found({[=](litmus& l) {
                        l.x.store(1, out);
                        l.found[0] = l.y.load(in);
                      },
                      [=](litmus& l) {
                        l.y.store(1, out);
                        l.found[1] = l.x.load(in);
                      }});
  };
  CHECK(both_store(release, acquire).contains({0, 0}));
  CHECK_FALSE(both_store(seq_cst, seq_cst).contains({0, 0}));
  CHECK(both_store(seq_cst, seq_cst).size() == 3);
}

TEST_CASE("checker: seq_cst fences between store and load forbid that both miss the other") {
  const auto fenced = [](std::memory_order o) {
    return all_found({[=](litmus& l) {
                        l.x.store(1, relaxed);
                        world::now().fence(o, place::current());
                        l.found[0] = l.y.load(relaxed);
                      },
                      [=](litmus& l) {
                        l.y.store(1, relaxed);
                        world::now().fence(o, place::current());
                        l.found[1] = l.x.load(relaxed);
                      }});
  };
  CHECK(fenced(std::memory_order_acq_rel).contains({0, 0}));
  CHECK_FALSE(fenced(seq_cst).contains({0, 0}));
}

TEST_CASE("checker: release and acquire fences carry what relaxed operations between them reach") {
  const auto fenced = [](std::memory_order out, std::memory_order in) {
    return explore_programs({[=](litmus& l) {
                               l.data = 1;
                               world::now().fence(out, place::current());
                               l.x.store(1, relaxed);
                             },
                             [=](litmus& l) {
                               if (l.x.load(relaxed) != 1) return;
                               world::now().fence(in, place::current());
                               check(l.data == 1, "the data is there");
                             }});
  };
  CHECK_FALSE(fenced(release, acquire).failed);
  CHECK(fenced(relaxed, acquire).failed);
  CHECK(fenced(release, relaxed).failed);
}

TEST_CASE(
    "checker: one location never goes back, neither in a thread nor along what happens before") {
  const auto all = all_found({[](litmus& l) {
                                l.x.store(1, relaxed);
                                l.x.store(2, relaxed);
                              },
                              [](litmus& l) {
                                l.found[0] = l.x.load(relaxed);
                                l.y.store(1, release);
                              },
                              [](litmus& l) {
                                if (l.y.load(acquire) == 1) l.found[1] = l.x.load(relaxed) + 10;
                              }},
                             {.preemptions_max = 3});
  CHECK(all.contains({1, 12}));
  for (const auto& found : all) {
    if (found[1] != 0) CHECK(found[1] >= found[0] + 10);
  }
}

TEST_CASE("checker: a read-modify-write continues what was released before, a store does not") {
  const auto passed_on = [](bool modify) {
    return explore_programs({[](litmus& l) {
                               l.data = 1;
                               l.x.store(1, release);
                             },
                             [=](litmus& l) {
                               if (l.x.load(relaxed) != 1) return;
                               if (modify) {
                                 l.x.fetch_add(1, relaxed);
                               } else {
                                 l.x.store(2, relaxed);
                               }
                             },
                             [](litmus& l) {
                               if (l.x.load(acquire) == 2) check(l.data == 1, "the data is there");
                             }});
  };
  CHECK_FALSE(passed_on(true).failed);
  CHECK(passed_on(false).failure.starts_with("data race"));
}

TEST_CASE("checker: two increments are two, and one when each is torn into load and store") {
  const auto count = [](const defect& planted) {
    return explore(
        [] {
          auto* made = new litmus;
          for (int i = 0; i < 2; ++i) {
            made->programs.push_back(&add_one);
          }
          made->end = [](litmus& l) { check(l.x.newest() == 2, "both count"); };
          return made;
        },
        {}, planted);
  };
  CHECK_FALSE(count({}).failed);
  const outcome torn = count({defect::kind::tear, "add_one"});
  CHECK(torn.failure == "both count");
  CHECK(torn.trace.find("store(atomic 1, 1") != std::string::npos);
}

TEST_CASE(
    "checker: a preemption bound of 0 runs each thread to its end, 1 is enough for a lost sum") {
  const auto lost_with = [](unsigned preemptions) {
    const litmus::program add = [](litmus& l) { l.x.store(l.x.load(relaxed) + 1, relaxed); };
    return explore_programs({add, add}, [](litmus& l) { check(l.x.newest() == 2, "both count"); },
                            {.preemptions_max = preemptions, .old_values_max = 0})
        .failed;
  };
  CHECK_FALSE(lost_with(0));
  CHECK(lost_with(1));
}

TEST_CASE(
    "checker: what waits for ever and what spins for ever is found, what spins for long is not") {
  const outcome stuck = explore_programs({[](litmus& l) {
    while (l.x.load(acquire) == 0) world::now().yield(place::current());
  }});
  CHECK(stuck.failure.starts_with("nobody can go on: T1 waits for"));

  const outcome patient = explore_programs({[](litmus& l) {
                                              while (l.x.load(acquire) == 0)
                                                world::now().yield(place::current());
                                              check(l.data == 1, "the data is there");
                                            },
                                            [](litmus& l) {
                                              l.data = 1;
                                              l.y.store(1, relaxed);
                                              l.x.store(1, release);
                                            }});
  CHECK_FALSE(patient.failed);
}
