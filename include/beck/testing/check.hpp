// SPDX-License-Identifier: BSL-1.0
// Runs a program in many simulated worlds, and prints how to reproduce a failure:
//
//   void transfer(beck::testing::sim::world& w) { ... }
//   int main(int argc, char** argv) { return beck::testing::sim::check(argc, argv, transfer); }
#pragma once

#include <beck/testing/sim.hpp>
#include <beck/testing/tape.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace beck::testing::sim {

namespace functions {

/// Fails the program: throws an exception with the text `report`.
[[noreturn]] void fail(std::string_view report);

/// Calls fail(report) unless `condition` holds.
inline void require(bool condition, std::string_view report) {
  if (!condition) [[unlikely]]
    fail(report);
}

}  // namespace functions
using namespace functions;

/// The program of a check: a callable that takes a world&, called once for each seed. It fails by
/// an exception, by returning a text that is not empty, or by ending the process (an assertion, a
/// signal, a sanitizer; also an exception that leaves a detached task, and a wait that can never
/// end). All its behaviour must follow from the world: it makes its own choices with
/// world::random(). Refers to the callable; does not own it.
class program_ref {
 public:
  /// Refers to `program`, which must outlive it.
  template <class Program>
    requires(!std::same_as<std::remove_cvref_t<Program>, program_ref> &&
             std::invocable<Program&, world&>)
  program_ref(Program&& program) noexcept
      : object_(const_cast<void*>(reinterpret_cast<const volatile void*>(&program))),
        call_(&invoke<std::remove_reference_t<Program>>) {}

  /// Runs the program in a world.
  void operator()(world& w) const { call_(object_, w); }

 private:
  template <class Program>
  static void invoke(void* object, world& w) {
    Program& program = *reinterpret_cast<Program*>(object);
    if constexpr (std::is_void_v<std::invoke_result_t<Program&, world&>>) {
      program(w);
    } else {
      const auto returned = program(w);
      const std::string_view report = returned;
      require(report.empty(), report);
    }
  }

  void* object_;
  void (*call_)(void* object, world& w);
};

/// The options of check().
struct check_options {
  std::uint64_t first_seed = 0;
  std::uint64_t seeds = 1'000;  ///< how many, at least 1
  sim::settings settings = {};  ///< of the worlds
  /// Runs each seed twice: fails if the hashes differ, because the program then depends on
  /// something outside its world.
  bool twice = false;
  /// Prints the events in the worlds on the standard error: world::trace().
  bool trace = false;
  /// Shrinks the tape of the first failure. Programs then run in child processes, so that a crash
  /// can be shrunk as well, and a candidate with which the program never ends is rejected. A
  /// failing run must fail again: its tape is recorded in the second run.
  bool shrink = false;
  std::size_t tries_max = 4'000;  ///< the most runs of the program while shrinking
  /// A tape to run instead of the seeds. It must live until the check returns.
  const tape* replay = nullptr;
  /// A function that is called, with `data`, after each run; with `shrink` in a child process.
  void (*on_run)(std::uint64_t seed, std::uint64_t hash, void* data) = nullptr;
  void* data = nullptr;
  /// The command that starts this program, for the line that replays a failure. It must live until
  /// the check returns.
  const char* command = "";
};
static_assert(std::is_trivially_destructible_v<check_options>);

/// The result of a check; true if the program has not failed.
struct check_outcome {
  bool passed = true;
  std::uint64_t runs = 0;    ///< worlds that the program was run in, without those of shrinking
  std::uint64_t digest = 0;  ///< of the hashes of all worlds: compare it between two builds
  std::uint64_t seed = 0;    ///< of the first failure; below, the hash of its world
  std::uint64_t hash = 0;
  sim::tape tape;    ///< of the failure, with shrink()
  sim::tape shrunk;  ///< the smallest that was found

  /// Returns whether the program has not failed.
  explicit operator bool() const noexcept { return passed; }
};

namespace functions {

/// Runs the program in one world after the other until it fails. Prints on the standard error the
/// failure, seed, hash and the command that replays it. If the program ends the process, they are
/// printed before it ends; so does the first SIGINT or SIGTERM. Handlers of these signals are
/// restored afterwards. Throws std::invalid_argument for 0 seeds, because a check without runs has
/// not passed. Thread: one check at a time in a process.
check_outcome check(const check_options& how, program_ref program);

/// Runs a check from main(): takes its arguments, --seed, --seeds, --tape, --shrink, --check and
/// others (--help explains them), over `how`. Returns the exit status: 0, 1 after a failure, 2 for
/// invalid arguments.
int check(int argc, char** argv, program_ref program, const check_options& how = check_options());

}  // namespace functions
using namespace functions;

}  // namespace beck::testing::sim
