// SPDX-License-Identifier: BSL-1.0
// The runner: which seeds it runs, what it says of a failure, and that what it says is true.
#include <beck/testing/check.hpp>

#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/local.hpp>

#include <csignal>
#include <cstdlib>
#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/dies.hpp"
#include "testing/captured_errors.hpp"

using namespace beck;
using namespace beck::detail;
using beck::test::errors_of;
namespace sim = beck::testing::sim;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The word that follows `before`.
std::string word_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return "";
  const std::size_t first = at + before.size();
  return text.substr(first, text.find_first_of(" \n", first) - first);
}

struct ran {
  int status;
  std::string errors;
};

ran run_main(std::initializer_list<const char*> arguments, sim::program_ref program,
             const sim::check_options& how = sim::check_options()) {
  std::vector<std::string> kept{"./prog"};
  kept.insert(kept.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : kept) argv.push_back(argument.data());
  ran result{};
  result.errors = errors_of([&] {
    result.status = sim::check(static_cast<int>(argv.size()), argv.data(), program, how);
  });
  return result;
}

constexpr std::uint64_t first_bad_seed = 7;

void passes(sim::world& world) {
  io_context ctx(world.host("a"));
  steady_timer timer(ctx, duration(1 + static_cast<std::int64_t>(world.random().below(1'000))));
  timer.async_wait([](error_code) {});
  ctx.run();
}

void fails_at_seven(sim::world& world) {
  passes(world);
  sim::require(world.seed() < first_bad_seed, "seven is bad");
}

/// Fails if two of a hundred choices are above 900.
void rarely_fails(sim::world& world) {
  int high = 0;
  for (int i = 0; i < 100; ++i) {
    if (world.random().below(1'000) >= 990) ++high;
  }
  if (high >= 3) throw std::runtime_error(std::to_string(high) + " were high");
}

/// Waits for 16 bytes when fewer have been sent.
void deadlocks(sim::world& world) {
  io_context ctx(world.host("a"));
  local::stream_protocol::socket a(ctx), b(ctx);
  connect_pair(a, b);
  for (int i = 0; i < 20; ++i) {
    if (world.random().chance(0.1)) continue;
    a.async_write_some(buffer("x", 1), [](error_code, std::size_t) {});
  }
  char all[16];
  async_read(b, buffer(all), [](error_code, std::size_t) {});
  ctx.run();
}

}  // namespace

TEST_CASE("a check runs every seed that it is given, once, and no other") {
  std::vector<std::uint64_t> seeds;
  const auto program = [&seeds](sim::world& world) { seeds.push_back(world.seed()); };
  const sim::check_outcome outcome =
      sim::check(sim::check_options{.first_seed = 5, .seeds = 3}, program);
  CHECK(outcome);
  CHECK(outcome.runs == 3);
  CHECK(seeds == std::vector<std::uint64_t>{5, 6, 7});
}

TEST_CASE("the digest of a check is that of its hashes") {
  const auto digest = [](std::uint64_t first) {
    return sim::check(sim::check_options{.first_seed = first, .seeds = 3}, passes).digest;
  };
  CHECK(digest(1) == digest(1));
  CHECK(digest(1) != digest(2));
}

TEST_CASE(
    "the first failure ends a check, which tells seed, hash, report and how to see it again") {
  sim::check_outcome outcome;
  const std::string text = errors_of([&] {
    outcome = sim::check(sim::check_options{.seeds = 100, .command = "./prog"}, fails_at_seven);
  });
  CHECK_FALSE(outcome);
  CHECK(outcome.runs == first_bad_seed + 1);
  CHECK(outcome.seed == first_bad_seed);
  sim::world world(first_bad_seed);
  passes(world);
  CHECK(outcome.hash == world.hash());
  CHECK(contains(text, "seed 7 failed: seven is bad"));
  CHECK(contains(text, "replay: ./prog --seed 7\n"));
}

TEST_CASE("exceptions of any type and texts that are not empty are failures") {
  const auto fails = [](auto program) {
    bool passed = true;
    errors_of([&] {
      passed = sim::check(sim::check_options{.first_seed = 1, .seeds = 1}, program).passed;
    });
    return !passed;
  };
  CHECK(fails([](sim::world&) { throw 5; }));
  CHECK(fails([](sim::world&) { return std::string("wrong"); }));
  CHECK(fails([](sim::world&) { return "wrong"; }));
  CHECK_FALSE(fails([](sim::world&) { return std::string(); }));
  CHECK_FALSE(fails([](sim::world&) { return ""; }));
}

TEST_CASE("a check of no seeds is refused, because what ran nothing has not passed") {
  const auto none = sim::check_options{.first_seed = 1, .seeds = 0};
  CHECK_THROWS_AS(sim::check(none, passes), std::invalid_argument);
  CHECK_THROWS_AS(run_main({}, passes, none), std::invalid_argument);
  CHECK(run_main({"--seeds", "2"}, passes, none).status == 0);
}

TEST_CASE("main's arguments choose seeds") {
  std::vector<std::uint64_t> seeds;
  const auto program = [&seeds](sim::world& world) { seeds.push_back(world.seed()); };
  const auto run = [&](std::initializer_list<const char*> arguments) {
    seeds.clear();
    CHECK(run_main(arguments, program, sim::check_options{.first_seed = 3, .seeds = 2}).status ==
          0);
    return seeds;
  };
  using list = std::vector<std::uint64_t>;
  CHECK(run({}) == list{3, 4});
  CHECK(run({"--seed", "9"}) == list{9});
  CHECK(run({"--seeds", "1"}) == list{3});
  CHECK(run({"--seeds", "8..10"}) == list{8, 9, 10});
  CHECK(run({"--seed", "9", "--check"}) == list{9, 9});
  CHECK(run({"--seed", "18446744073709551615"}) == list{UINT64_MAX});
}

TEST_CASE("arguments that make no sense are refused by name") {
  const auto refusal = [](std::initializer_list<const char*> arguments) {
    const ran result = run_main(arguments, passes);
    CHECK(result.status == 2);
    CHECK(contains(result.errors, "usage: ./prog"));
    return result.errors;
  };
  CHECK(contains(refusal({"--sed", "1"}), "unknown option: --sed"));
  CHECK(contains(refusal({"--seed"}), "--seed needs a value"));
  CHECK(contains(refusal({"--seed", "1x"}), "--seed needs a number, not \"1x\""));
  CHECK(contains(refusal({"--seed", "18446744073709551616"}), "needs a number"));
  CHECK(contains(refusal({"--seeds", "3..1"}), "A <= B"));
  CHECK(contains(refusal({"--seeds", "0"}), "--seeds 0 would run nothing"));
  CHECK(contains(refusal({"--tape", "/nonexistent/tape"}), "/nonexistent/tape"));
  CHECK(contains(refusal({"--tape", "QktUMQ"}), "malformed tape"));
}

TEST_CASE("a failure is shrunk to a tape whose printed command fails in the same way") {
  const ran found = run_main({"--seeds", "20000", "--shrink"}, rarely_fails);
  CHECK(found.status == 1);
  CHECK(contains(found.errors, "were high"));
  CHECK(contains(found.errors, "to 3 in 3, in "));
  const std::string text = word_after(found.errors, "./prog --tape ");
  REQUIRE_FALSE(text.empty());
  const ran again = run_main({"--tape", text.c_str()}, rarely_fails);
  CHECK(again.status == 1);
  CHECK(contains(again.errors, "replayed from a tape, failed: 3 were high"));
  const std::string hash = word_after(again.errors, "hash:   ");
  CHECK(contains(found.errors.substr(found.errors.find("shrunk")), hash));
}

TEST_CASE("a check that shrinks gives both tapes to its caller") {
  sim::check_outcome outcome;
  errors_of([&] {
    outcome = sim::check(sim::check_options{.seeds = 20'000, .shrink = true}, rarely_fails);
  });
  REQUIRE_FALSE(outcome);
  CHECK(outcome.tape.choices() > 80);
  CHECK(outcome.shrunk.choices() == 3);
  sim::world world(outcome.shrunk);
  CHECK_THROWS_WITH_AS(rarely_fails(world), "3 were high", std::runtime_error);
}

TEST_CASE("a tape that is too long for a command line goes to a file") {
  const auto program = [](sim::world& world) {
    std::uint64_t sum = 0;
    for (int i = 0; i < 1'000; ++i) sum += world.random().below(1'000);
    sim::require(sum < 400'000, "too much");
  };
  const ran found = run_main({"--seed", "4", "--shrink", "--tries", "1"}, program);
  CHECK(found.status == 1);
  CHECK(word_after(found.errors, "--tape ") == "seed-4.tape");
  CHECK(run_main({"--tape", "seed-4.tape"}, program).status == 1);
  std::remove("seed-4.tape");
}

TEST_CASE("a program that waits for ever is told of with its seed, and shrinks") {
  const std::string text = dies_with(
      [] { sim::check(sim::check_options{.seeds = 1'000, .command = "./prog"}, deadlocks); });
  CHECK(contains(text, "every task waits and nothing can happen"));
  const std::string seed = word_after(text, "replay: ./prog --seed ");
  REQUIRE_FALSE(seed.empty());
  CHECK(contains(text, "the program has ended in the world of seed " + seed + ", hash "));

  const ran found = run_main({"--shrink"}, deadlocks);
  CHECK(found.status == 1);
  CHECK(contains(found.errors, "seed " + seed + " failed: "));
  CHECK(contains(found.errors, "shrunk from"));
  const sim::tape tape = sim::tape::from_text(word_after(found.errors, "./prog --tape "));
  CHECK(tape.choices() == 5);
  CHECK(contains(dies_with([&] { sim::check(sim::check_options{.replay = &tape}, deadlocks); }),
                 "every task waits"));
}

TEST_CASE("a program that a signal ends says which one") {
  const auto program = [](sim::world& world) {
    if (world.seed() == 2) std::raise(SIGKILL);
    if (world.seed() == 1) std::raise(SIGABRT);
  };
  const auto reported = [&](const char* seed) {
    return run_main({"--seed", seed, "--shrink"}, program).errors;
  };
  CHECK(contains(reported("1"), "seed 1 failed: Aborted"));
  CHECK(contains(reported("2"), "failed: Killed"));
}

TEST_CASE("an exception that leaves a detached task is told of with its seed") {
  const auto program = [](sim::world& world) {
    io_context ctx(world.host("a"));
    const auto throws = [](bool now) -> task<> {
      if (now) throw std::runtime_error("out of a task");
      co_return;
    };
    co_spawn(ctx, throws(world.seed() == 3), detached);
    ctx.run();
  };
  const std::string text =
      dies_with([&] { sim::check(sim::check_options{.command = "./prog"}, program); });
  CHECK(contains(text, "out of a task"));
  CHECK(contains(text, "replay: ./prog --seed 3"));
}

TEST_CASE("a program that draws without end on a calm tape shrinks all the same") {
  const auto program = [](sim::world& world) {
    int rounds = 0;
    while (!world.random().chance(0.5)) ++rounds;
    sim::require(rounds < 3, "too many rounds");
  };
  const ran found = run_main({"--shrink", "--tries", "50"}, program);
  CHECK(found.status == 1);
  const std::string tape = word_after(found.errors, "./prog --tape ");
  CHECK(run_main({"--tape", tape.c_str()}, program).status == 1);
}

TEST_CASE("choices with which a program never ends are not taken") {
  const auto program = [](sim::world& world) {
    std::uint64_t step = world.random().below(1'000);
    io_context ctx(world.host("a"));
    for (std::uint64_t at = 0; at < 10'000; at += step) {  // not with 0
      steady_timer timer(ctx, duration(1));
      timer.async_wait([](error_code) {});
      ctx.run();
      ctx.restart();
    }
    sim::require(step < 3 || world.random().below(100) < 50, "too far");
  };
  const ran found = run_main({"--shrink"}, program);
  CHECK(found.status == 1);
  const sim::tape tape = sim::tape::from_text(word_after(found.errors, "./prog --tape "));
  CHECK(tape.choices() == 2);
  sim::world world(tape);
  CHECK(world.random().below(1'000) == 3);
  CHECK(world.random().below(100) == 50);
}

TEST_CASE("running every seed twice finds what depends on more than the world") {
  int runs = 0;
  const auto program = [&runs](sim::world& world) {
    io_context ctx(world.host("a"));
    steady_timer timer(ctx, duration(10'000'000 * ++runs));
    timer.async_wait([](error_code) {});
    ctx.run();
    local::stream_protocol::socket a(ctx), b(ctx);
    connect_pair(a, b);
  };
  CHECK(run_main({"--seeds", "3"}, program).status == 0);
  const ran checked = run_main({"--seeds", "3", "--check"}, program);
  CHECK(checked.status == 1);
  CHECK(contains(checked.errors, "not deterministic"));
  CHECK(contains(checked.errors, "; first \""));
  CHECK(contains(checked.errors, "\", then \""));
  CHECK(run_main({"--seeds", "3", "--check"}, passes).status == 0);
}

TEST_CASE("a trace shows what a seed does") {
  const auto program = [](sim::world& world) {
    io_context ctx(world.host("somewhere"));
    local::stream_protocol::socket a(ctx), b(ctx);
    connect_pair(a, b);
  };
  const ran traced = run_main({"--seed", "3", "--trace"}, program);
  CHECK(traced.status == 0);
  CHECK(contains(traced.errors, "somewhere"));
  CHECK(run_main({"--seed", "3"}, program).errors.empty());
}

TEST_CASE("the handlers of signals are what they were after a check") {
  struct sigaction before{};
  struct sigaction after{};
  ::sigaction(SIGABRT, nullptr, &before);
  CHECK(sim::check(sim::check_options{.seeds = 1}, passes));
  ::sigaction(SIGABRT, nullptr, &after);
  const bool same = before.sa_handler == after.sa_handler;
  CHECK(same);
}
