// SPDX-License-Identifier: BSL-1.0
// The command-line arguments of a program that is a check: check(argc, argv, ...).
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <beck/testing/check.hpp>
#include <beck/testing/tape.hpp>

namespace beck::testing::sim {
using namespace detail;
namespace {

constexpr char usage[] =
    "usage: %s [options]\n"
    "  --seeds N       runs N seeds, from the first one on; --seeds A..B runs A to B\n"
    "  --seed N        runs this seed only\n"
    "  --tape TAPE     replays a tape: a file, or the text that was printed\n"
    "  --shrink        shrinks the first failure: fewest choices that still fail\n"
    "  --tries N       runs the program at most N times for that\n"
    "  --check         runs every seed twice and compares the hashes\n"
    "  --trace         prints what happens\n"
    "  --hashes        prints every seed and the hash of its world\n"
    "Exit status: 0 nothing failed, 1 a failure, 2 arguments that make no sense.\n";

struct arguments {
  check_options how;
  tape replayed;
  bool help = false;
};

[[noreturn]] void refuse(const std::string& reason) { throw std::invalid_argument(reason); }

std::uint64_t number(std::string_view option, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size()) {
    refuse(std::string(option) + " needs a number, not \"" + std::string(text) + "\"");
  }
  return value;
}

void take_seeds(arguments& parsed, std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    const std::uint64_t count = number("--seeds", text);
    if (count == 0) refuse("--seeds 0 would run nothing; it needs at least 1");
    parsed.how.seeds = count;
    return;
  }
  const std::uint64_t first = number("--seeds", text.substr(0, dots));
  const std::uint64_t last = number("--seeds", text.substr(dots + 2));
  if (last < first || last - first == UINT64_MAX) refuse("--seeds A..B needs A <= B");
  parsed.how.first_seed = first;
  parsed.how.seeds = last - first + 1;
}

void take_tape(arguments& parsed, const char* text) {
  constexpr std::string_view beginning = "QktUM";  // the text of every tape begins with it
  const bool is_text = std::string_view(text).substr(0, beginning.size()) == beginning;
  parsed.replayed = is_text ? tape::from_text(text) : tape::load(text);
  parsed.how.replay = &parsed.replayed;
}

void print_hash(std::uint64_t seed, std::uint64_t hash, void*) {
  std::printf("%" PRIu64 " %016" PRIx64 "\n", seed, hash);
}

void take_value(arguments& parsed, std::string_view option, const char* value) {
  if (value == nullptr) refuse(std::string(option) + " needs a value");
  if (option == "--seed") {
    parsed.how.first_seed = number(option, value);
    parsed.how.seeds = 1;
  }
  if (option == "--seeds") take_seeds(parsed, value);
  if (option == "--tape") take_tape(parsed, value);
  if (option == "--tries") parsed.how.tries_max = number(option, value);
}

void parse(int argc, char** argv, arguments& parsed) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--seed" || option == "--seeds" || option == "--tape" || option == "--tries") {
      ++i;
      take_value(parsed, option, i < argc ? argv[i] : nullptr);
    } else if (option == "--shrink") {
      parsed.how.shrink = true;
    } else if (option == "--check") {
      parsed.how.twice = true;
    } else if (option == "--trace") {
      parsed.how.trace = true;
    } else if (option == "--hashes") {
      parsed.how.on_run = &print_hash;
    } else if (option == "--help" || option == "-h") {
      parsed.help = true;
    } else {
      refuse("unknown option: " + std::string(option));
    }
  }
}

}  // namespace

int functions::check(int argc, char** argv, program_ref program, const check_options& how) {
  const char* command = argc > 0 ? argv[0] : "";
  arguments parsed;
  parsed.how = how;
  parsed.how.command = command;
  try {
    parse(argc, argv, parsed);
  } catch (const std::exception& refused) {
    std::fprintf(stderr, "%s: %s\n", command, refused.what());
    std::fprintf(stderr, usage, command);
    return 2;
  }
  if (parsed.help) {
    std::printf(usage, command);
    return 0;
  }
  const check_outcome outcome = check(parsed.how, program);
  if (!outcome) return 1;
  std::printf("%" PRIu64 " runs passed, digest %016" PRIx64 "\n", outcome.runs, outcome.digest);
  return 0;
}

}  // namespace beck::testing::sim
