// SPDX-License-Identifier: BSL-1.0
// Random walks in simulated worlds, over a scripted kernel and on the real one: no rule is broken,
// every transition of an operation's table happens, and bugs that are planted are found.
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <array>
#include <beck/testing/check.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "io/op/transitions.hpp"
#include "simulation/oracles.hpp"
#include "simulation/planted.hpp"
#include "simulation/walk.hpp"
#include "simulation/walk_program.hpp"
#include "support/context_seam.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"
#include "support/scripted_ring.hpp"
#include "support/small_random.hpp"
#include "support/watchdog.hpp"

int beck::test::busy_limits_max() noexcept { return 30; }  // its cases search for minutes

namespace sim = beck::testing::sim;
using beck::test::scaled;

namespace {

/// Which transitions have been seen, by all cases of this binary.
class coverage {
 public:
  static void begin() { beck::detail::on_transition = &note; }

  /// The first legal transition that has not been seen, as "state event", or "".
  static std::string missing() {
    static constexpr const char* states[] = {"inert",  "mailed",    "waiting", "listed",
                                             "parked", "in_kernel", "ready",   "finished"};
    static constexpr const char* events[] = {"mail",   "queue", "list",  "park",
                                             "submit", "wake",  "finish"};
    std::string text;
    for_each_legal([&text](std::size_t state, std::size_t event) {
      if (!seen_[state][event]) text += std::string(states[state]) + " " + events[event] + "; ";
    });
    return text;
  }
  static long long covered() {
    long long count = 0;
    for_each_legal(
        [&count](std::size_t state, std::size_t event) { count += seen_[state][event]; });
    return count;
  }
  static long long all() {
    long long count = 0;
    for_each_legal([&count](std::size_t, std::size_t) { ++count; });
    return count;
  }

 private:
  static void note(unsigned state, unsigned event) { seen_[state][event] = true; }

  template <class Action>
  static void for_each_legal(Action&& action) {
    for (std::size_t state = 0; state < beck::detail::op_states; ++state) {
      for (std::size_t event = 0; event < beck::detail::op_events; ++event) {
        const bool legal =
            beck::detail::transitions[event].may_leave(static_cast<beck::detail::op_state>(state));
        if (legal) action(state, event);
      }
    }
  }

  static inline std::array<std::array<bool, beck::detail::op_events>, beck::detail::op_states>
      seen_{};
};

class seeded_choices final : public beck::test::choices {
 public:
  explicit seeded_choices(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t bound) override {
    return random_.below(static_cast<unsigned>(bound));
  }

 private:
  beck::testing::small_random random_;
};

std::string walk_on(const beck::io_context::options& how, std::uint64_t seed) {
  seeded_choices from(seed);
  beck::io_context ctx(how);
  return beck::test::walk(ctx, from, beck::test::walk_options());
}

struct finding {
  int status;
  std::string text;
};

/// What simulate_walks prints with these arguments, and how it ends.
finding walks(const std::string& arguments) {
  const std::string command = std::string(SIMULATE_WALKS) + " " + arguments + " 2>&1";
  FILE* const output = ::popen(command.c_str(), "r");
  REQUIRE(output != nullptr);
  finding found{0, {}};
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, output)) > 0;) {
    found.text.append(part, n);
  }
  found.status = ::pclose(output);
  return found;
}

/// The seed that a failed check names, or "".
std::string seed_in(const std::string& text) {
  const std::size_t at = text.find("--seed ");
  if (at == std::string::npos) return {};
  const std::size_t from = at + 7;
  return text.substr(from, text.find_first_not_of("0123456789", from) - from);
}

}  // namespace

TEST_CASE("20,000 random walks in simulated worlds break no rule") {
  coverage::begin();
  const auto wanted = static_cast<std::uint64_t>(scaled(20'000));
  const auto outcome = sim::check(
      sim::check_options{.seeds = wanted, .command = "build/release/tests/simulate_walks"},
      beck::test::walk_program);
  CHECK(outcome.passed);
  beck::test::report_value("schedules", static_cast<long long>(outcome.runs));
}

TEST_CASE("random walks over a kernel that makes trouble break no rule") {
  coverage::begin();
  // All of them in slow builds, too: the first forty do not take every transition.
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    beck::testing::scripted_kernel kernel(seed);
    seeded_choices from(seed);
    std::string report;
    {
      beck::io_context ctx(beck::testing::context_seam::on_ring(kernel));
      kernel.set_chances(beck::testing::rough_chances);
      report = beck::test::walk(ctx, from, beck::test::walk_options());
    }
    INFO("seed ", seed);
    REQUIRE(report == "");
  }
}

TEST_CASE("random walks on io_uring and on epoll break no rule") {
  coverage::begin();
  const auto wanted = static_cast<std::uint64_t>(scaled(400));
  for (const beck::backend where : {beck::backend::io_uring, beck::backend::epoll}) {
    for (std::uint64_t seed = 0; seed < wanted; ++seed) {
      INFO("seed ", seed);
      REQUIRE(walk_on(beck::io_context::options{.backend = where}, seed) == "");
    }
  }
}

TEST_CASE("the walks take every transition of an operation's table") {
  CHECK(coverage::missing() == "");
  beck::test::report_value("edges.covered", coverage::covered());
  beck::test::report_value("edges.all", coverage::all());
}

TEST_CASE("a byte of a stream that is not what was sent is told, wherever it stands") {
  std::string sent(200'000, '\0');
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{70'000}, sent.size() - 1}) {
    beck::test::oracles rules;
    beck::test::judged_stream stream(rules, 7);
    stream.fill(sent.data(), sent.size());
    stream.got(sent.data(), wrong);
    CHECK(rules.report() == "");
    sent[wrong] = static_cast<char>(sent[wrong] + 1);
    stream.got(sent.data() + wrong, sent.size() - wrong);
    CHECK(rules.report() ==
          "byte " + std::to_string(wrong) + " of a stream is not what was sent there");
  }
}

TEST_CASE("each planted bug is found by the ordinary seeds, and its seed replays it") {
  for (const auto& [name, bug] : beck::test::planted_names) {
    beck::test::report_value("planted.all", 1);
    INFO(std::string(name));
    const std::string plant = "--plant " + std::string(name);
    const std::string program = beck::test::needs_threads(bug) ? " --workers" : "";
    const finding first = walks(plant + program + " --seeds 2000");
    CHECK(first.status != 0);
    const std::string seed = seed_in(first.text);
    REQUIRE(seed != "");
    const finding again = walks(plant + program + " --seed " + seed);
    CHECK(again.status != 0);
    CHECK(seed_in(again.text) == seed);
    CHECK(walks(program + " --seed " + seed).status == 0);
    MESSAGE(std::string(name), ", seed ", seed, ": ", first.text.substr(0, first.text.find('\n')));
    beck::test::report_value("planted.found", first.status != 0 && again.status != 0 ? 1 : 0);
  }
}
