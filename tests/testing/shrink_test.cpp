// SPDX-License-Identifier: BSL-1.0
// Shrinking: the smallest tape still fails, and says little else than why.
#include <beck/testing/shrink.hpp>

#include <doctest/doctest.h>
#include <beck/io/read_write.hpp>
#include <beck/net/local.hpp>
#include <beck/testing/sim.hpp>

#include <ostream>
#include <string>

#include "io/sim/sim_draws.hpp"
#include "testing/world_access.hpp"

using namespace beck;
using namespace beck::detail;
namespace sim = beck::testing::sim;

namespace {

/// Fails if a message comes in pieces: its reader believes that one read gives all.
bool pieces_break_it(sim::world& world) {
  constexpr int messages = 40;
  io_context ctx(world.host("a"));
  local::stream_protocol::socket a(ctx), b(ctx);
  connect_pair(a, b);
  bool broken = false;
  for (int i = 0; i < messages; ++i) {
    const std::string sent(2 + world.random().below(30), 'x');
    std::string got(sent.size(), '\0');
    a.async_write_some(buffer(sent), [](error_code, std::size_t) {});
    std::size_t first = 0;
    b.async_read_some(buffer(got), [&](error_code, std::size_t n) { first = n; });
    ctx.run();
    ctx.restart();
    if (first == sent.size()) continue;
    broken = true;
    async_read(b, buffer(got.data() + first, got.size() - first), [](error_code, std::size_t) {});
    ctx.run();
    ctx.restart();
  }
  return broken;
}

bool replay_breaks(const sim::tape& tape) {
  sim::world world(tape);
  return pieces_break_it(world);
}

sim::tape first_failure() {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    sim::world world(seed, sim::settings().record());
    if (pieces_break_it(world)) return world.tape();
  }
  FAIL("no seed has found it");
  return sim::tape();
}

beck::detail::sim_tape program_draws(std::initializer_list<std::uint64_t> values) {
  sim_tape tape;
  tape.streams[sim_draws::program_stream] = values;
  return tape;
}

}  // namespace

TEST_CASE("a shrunk tape still fails and has no more choices than the failure needs") {
  const sim::tape failing = first_failure();
  const sim::tape small = sim::shrink(failing, replay_breaks);
  CHECK(replay_breaks(small));
  CHECK(failing.choices() > 100);
  CHECK(small.choices() <= 2);
  CHECK(small.draws() <= failing.draws());
  CHECK(small.bytes().size() < 40);
}

TEST_CASE("shrinking lowers values to the least that fails") {
  const auto fails = [](const sim::tape& tape) {
    sim::world world(tape);
    return world.random().below(1'000'000) >= 4'711;
  };
  const sim::tape small =
      sim::shrink(sim::tape_access::make(program_draws({999'999, 5, 6, 7})), fails);
  CHECK(small == sim::tape_access::make(program_draws({4'711})));
}

TEST_CASE("shrinking deletes what stands before the choice that matters") {
  const auto fails = [](const sim::tape& tape) {
    sim::world world(tape);
    for (int i = 0; i < 100; ++i) {
      if (world.random().below(50) == 49) return true;
    }
    return false;
  };
  const sim::tape small =
      sim::shrink(sim::tape_access::make(program_draws({1, 2, 3, 4, 5, 6, 7, 49, 8, 9})), fails);
  CHECK(small == sim::tape_access::make(program_draws({49})));
}

TEST_CASE("what fails without any choice shrinks to the empty tape in one try") {
  int tries = 0;
  const sim::tape small = sim::shrink(first_failure(), [&tries](const sim::tape&) {
    ++tries;
    return true;
  });
  CHECK(small.draws() == 0);
  CHECK(tries == 1);
}

TEST_CASE("what never fails again stays as it was") {
  const sim::tape failing = first_failure();
  CHECK(sim::shrink(failing, [](const sim::tape&) { return false; }) == failing);
}

TEST_CASE("shrinking runs the program no more often than it may, and tells how far it is") {
  const sim::tape failing = first_failure();
  std::size_t tries = 0;
  const auto fails = [&tries](const sim::tape& tape) {
    ++tries;
    return replay_breaks(tape);
  };
  struct {
    std::size_t calls = 0;
    sim::shrink_progress last;
  } seen;
  using told = decltype(seen);
  const auto listen = [](const sim::shrink_progress& progress, void* data) {
    told& to = *static_cast<told*>(data);
    CHECK(progress.tries > to.last.tries);
    ++to.calls;
    to.last = progress;
  };
  const sim::tape small = sim::shrink(
      failing, fails, sim::shrink_options{.tries_max = 30, .on_progress = listen, .data = &seen});
  CHECK(tries == 30);
  CHECK(replay_breaks(small));
  CHECK(seen.calls > 0);
  CHECK(seen.last.tries <= 30);
  CHECK(seen.last.choices_before == failing.choices());
  CHECK(seen.last.choices == small.choices());
}

TEST_CASE("an exception of the program that decides leaves shrinking") {
  const auto throws = [](const sim::tape&) -> bool { throw std::string("no"); };
  CHECK_THROWS_AS(sim::shrink(first_failure(), throws), std::string);
}
