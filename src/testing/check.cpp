// SPDX-License-Identifier: BSL-1.0
// Checks: the loop over the seeds, and the reports about a failure.
#include <beck/testing/check.hpp>

#include <cinttypes>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "testing/crash_scene.hpp"
#include "testing/shrinker.hpp"
#include "testing/world_access.hpp"

namespace beck::testing::sim {
using namespace detail;
namespace {

// Limits of processor time while a failure is shrunk: the first run may use cpu_us_first_max, each
// later one cpu_us_base plus cpu_factor times the time of the failure.
constexpr std::uint64_t cpu_us_first_max = 20'000'000;
constexpr std::uint64_t cpu_us_base = 500'000;
constexpr std::uint64_t cpu_factor = 20;
constexpr unsigned endless_max = 40;  // runs over the limit after which the search gives up
constexpr std::size_t traced_lines_max = 1'000'000;
constexpr std::size_t shown_tape_max = 1'000;  // longer texts go to a file

std::uint64_t fold(std::uint64_t digest, std::uint64_t hash) noexcept {
  for (unsigned shift = 0; shift < 64; shift += 8) {
    digest = (digest ^ ((hash >> shift) & 0xff)) * 0x100000001b3;
  }
  return digest;
}

void print_line(const char* line, void*) { std::fprintf(stderr, "%s\n", line); }

/// Returns the first line of the trace that differs when the program runs again; "" if there is
/// none.
std::string first_difference(attempt_start start, program_ref program) {
  struct {
    std::vector<std::string> lines;
    std::size_t at = 0;
    std::string difference;
  } seen;
  using traces = decltype(seen);
  start.trace_data = &seen;
  start.trace = [](const char* line, void* data) {
    traces& to = *static_cast<traces*>(data);
    if (to.lines.size() < traced_lines_max) to.lines.emplace_back(line);
  };
  run_here(start, program);
  start.trace = [](const char* line, void* data) {
    traces& to = *static_cast<traces*>(data);
    if (to.at < to.lines.size() && to.difference.empty() && to.lines[to.at] != line) {
      to.difference = "first \"" + to.lines[to.at] + "\", then \"" + line + '"';
    }
    ++to.at;
  };
  run_here(start, program);
  return seen.difference;
}

class checker {
 public:
  checker(const check_options& how, program_ref program) : how_(how), program_(program) {}

  check_outcome run();

 private:
  class judge;

  attempt_start start_of(std::uint64_t seed) const;
  attempt run_once(const attempt_start& start) const;
  /// Runs all seeds until the first failure.
  attempt run_all() const;
  std::string replay_command(const attempt& failed) const;
  void tell(const attempt& failed) const;
  void shrink(const attempt& failed, check_outcome& outcome) const;
  void tell_shrunk(const check_outcome& outcome, const attempt& smallest, std::size_t tries) const;

  const check_options& how_;
  program_ref program_;
};

/// Runs candidates in child processes and accepts those with the same failure.
class checker::judge final : public shrink_judge {
 public:
  judge(const checker& owner, const attempt& failure)
      : owner_(owner), smallest_(failure), cpu_us_max_(cpu_us_base + cpu_factor * failure.cpu_us) {}

  bool fails(sim_tape& candidate) override {
    if (endless_ == endless_max) return false;
    const tape replayed = tape_access::make(candidate);
    attempt_start start = owner_.start_of(0);
    start.replayed = &replayed;
    attempt result = run_apart([&] { return owner_.run_once(start); }, cpu_us_max_);
    if (result.how == attempt::ending::endless) ++endless_;
    if (!result.same_failure_as(smallest_)) return false;
    if (result.draws.draws() != 0) candidate = result.draws;
    smallest_ = std::move(result);
    return true;
  }
  void found(std::size_t, const sim_tape&) override {}

  /// Returns the run of the smallest candidate.
  const attempt& smallest() const noexcept { return smallest_; }

 private:
  const checker& owner_;
  attempt smallest_;
  std::uint64_t cpu_us_max_;
  unsigned endless_ = 0;
};

attempt_start checker::start_of(std::uint64_t seed) const {
  attempt_start start{how_.replay, seed, how_.settings};
  if (how_.trace) start.trace = &print_line;
  return start;
}

/// Runs the program once, or with `twice` a second time, whose hash must be equal.
attempt checker::run_once(const attempt_start& start) const {
  attempt first = run_here(start, program_);
  first.runs = 1;
  first.digest = fold(first.digest, first.hash);
  if (!how_.twice || first.how != attempt::ending::passed) return first;
  const attempt second = run_here(start, program_);
  first.runs = 2;
  if (second.how == attempt::ending::passed && second.hash == first.hash) return first;
  char report[128];
  std::snprintf(report, sizeof report,
                "not deterministic: run again it has hash %016" PRIx64 " instead of %016" PRIx64,
                second.hash, first.hash);
  first.how = attempt::ending::failed;
  first.report = report;
  if (second.how != attempt::ending::passed) first.report += ", and fails: " + second.report;
  if (const std::string difference = first_difference(start, program_); !difference.empty()) {
    first.report += "; " + difference;
  }
  return first;
}

attempt checker::run_all() const {
  attempt last;
  std::uint64_t runs = 0;
  std::uint64_t digest = attempt::digest_basis;
  const std::uint64_t count = how_.replay != nullptr ? 1 : how_.seeds;
  for (std::uint64_t i = 0; i < count && last.how == attempt::ending::passed; ++i) {
    last = run_once(start_of(how_.first_seed + i));
    runs += last.runs;
    digest = fold(digest, last.hash);
    if (how_.on_run != nullptr) how_.on_run(last.seed, last.hash, how_.data);
  }
  last.runs = runs;
  last.digest = digest;
  return last;
}

check_outcome checker::run() {
  const bool replays = how_.replay != nullptr;
  const crash_scene scene(replays ? std::string(how_.command) + " with the same --tape"
                                  : std::string(how_.command) + " --seed ",
                          !replays);
  const attempt last = how_.shrink ? run_apart([this] { return run_all(); }, 0) : run_all();
  check_outcome outcome;
  outcome.passed = last.how == attempt::ending::passed;
  outcome.runs = last.runs;
  outcome.digest = last.digest;
  if (outcome.passed) return outcome;
  outcome.seed = last.seed;
  outcome.hash = last.hash;
  tell(last);
  if (how_.shrink) shrink(last, outcome);
  return outcome;
}

std::string checker::replay_command(const attempt& failed) const {
  std::string command(how_.command);
  if (how_.replay != nullptr) {
    command += " --tape " + std::string(how_.replay->text());
  } else {
    command += " --seed " + std::to_string(failed.seed);
  }
  return command;
}

void checker::tell(const attempt& failed) const {
  const std::string command = replay_command(failed);
  std::fprintf(stderr, "seed %" PRIu64 "%s failed: %s\n  hash:   %016" PRIx64 "\n", failed.seed,
               how_.replay != nullptr ? ", replayed from a tape," : "", failed.report.c_str(),
               failed.hash);
  if (command.size() <= shown_tape_max) std::fprintf(stderr, "  replay: %s\n", command.c_str());
  if (command.size() <= shown_tape_max && !how_.shrink) {
    std::fprintf(stderr, "  shrink: %s --shrink\n", command.c_str());
  }
}

/// Runs the failed seed again in a child process, which records its draws, and shrinks that tape.
void checker::shrink(const attempt& failed, check_outcome& outcome) const {
  attempt_start start = start_of(failed.seed);
  start.how.record();
  attempt again = run_apart([&] { return run_once(start); }, cpu_us_first_max);
  if (again.how == attempt::ending::passed) {
    std::fprintf(stderr, "  not shrunk: run once more it does not fail\n");
    return;
  }
  if (again.how == attempt::ending::endless) {
    std::fprintf(stderr, "  not shrunk: run once more it does not come to an end\n");
    return;
  }
  outcome.tape = outcome.shrunk = tape_access::make(again.draws);
  judge same(*this, again);
  shrinker search(again.draws, same, how_.tries_max);
  outcome.shrunk = tape_access::make(search.run());
  tell_shrunk(outcome, same.smallest(), search.tries());
}

void checker::tell_shrunk(const check_outcome& outcome, const attempt& smallest,
                          std::size_t tries) const {
  std::fprintf(stderr,
               "shrunk from %zu choices in %zu draws to %zu in %zu, in %zu tries: %s\n"
               "  hash:   %016" PRIx64 "\n",
               outcome.tape.choices(), outcome.tape.draws(), outcome.shrunk.choices(),
               outcome.shrunk.draws(), tries, smallest.report.c_str(), smallest.hash);
  std::string name(outcome.shrunk.text());
  if (name.size() > shown_tape_max) {
    const std::string file = "seed-" + std::to_string(outcome.seed) + ".tape";
    try {
      outcome.shrunk.save(file);
      name = file;
    } catch (const std::exception& refused) {
      std::fprintf(stderr, "  (%s)\n", refused.what());
    }
  }
  std::fprintf(stderr, "  replay: %s --tape %s\n", how_.command, name.c_str());
}

}  // namespace

void functions::fail(std::string_view report) {
  throw std::runtime_error(std::string(report.data(), report.size()));
}

check_outcome functions::check(const check_options& how, program_ref program) {
  if (how.replay == nullptr && how.seeds == 0) {
    throw std::invalid_argument("beck::testing::sim::check: 0 seeds; it takes at least 1");
  }
  return checker(how, program).run();
}

}  // namespace beck::testing::sim
