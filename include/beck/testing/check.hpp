// SPDX-License-Identifier: BSL-1.0
// Runs a program in many simulated worlds, and prints how to reproduce a failure:
//
//   void transfer(beck::testing::sim::world& w) { ... }
//   int main(int argc, char** argv) { return beck::testing::sim::check(argc, argv, transfer); }
#pragma once

#include <beck/detail/text_view.hpp>
#include <beck/testing/sim.hpp>
#include <beck/testing/tape.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace beck::testing::sim {

namespace functions {

/// Fails the program: throws an exception with the text `report`.
[[noreturn]] void fail(detail::text_view report);

/// Calls fail(report) unless `condition` holds.
inline void require(bool condition, detail::text_view report) {
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
      const detail::text_view report = returned;
      require(report.empty(), report);
    }
  }

  void* object_;
  void (*call_)(void* object, world& w);
};

/// The options of check(). A value; each setter returns *this.
class check_options {
 public:
  /// Makes the defaults: seeds 0 to 999.
  check_options() noexcept {}

  /// Sets the seeds: `count`, at least 1, from `first` on. Default: 1,000 from 0 on.
  check_options& seeds(std::uint64_t first, std::uint64_t count) noexcept {
    first_ = first;
    count_ = count;
    return *this;
  }
  /// Sets the settings of the worlds.
  check_options& settings(const sim::settings& how) noexcept {
    settings_ = how;
    return *this;
  }
  /// Runs each seed twice: fails if the hashes differ, because the program then depends on
  /// something outside its world.
  check_options& twice(bool on = true) noexcept {
    twice_ = on;
    return *this;
  }
  /// Prints the events in the worlds on the standard error: world::trace().
  check_options& trace(bool on = true) noexcept {
    trace_ = on;
    return *this;
  }
  /// Sets a function that is called after each run; with shrink() in a child process.
  check_options& on_run(void (*call)(std::uint64_t seed, std::uint64_t hash, void* data),
                        void* data = nullptr) noexcept {
    on_run_ = call;
    on_run_data_ = data;
    return *this;
  }
  /// Shrinks the tape of the first failure. Programs then run in child processes, so that a crash
  /// can be shrunk as well, and a candidate with which the program never ends is rejected. A
  /// failing run must fail again: its tape is recorded in the second run.
  check_options& shrink(bool on = true) noexcept {
    shrink_ = on;
    return *this;
  }
  /// Sets the most runs of the program while shrinking. Default: 4,000.
  check_options& tries_max(std::size_t tries) noexcept {
    tries_max_ = tries;
    return *this;
  }
  /// Runs this tape instead of the seeds. It must live until the check returns.
  check_options& replay(const tape& recorded) noexcept {
    replay_ = &recorded;
    return *this;
  }
  /// Sets the command that starts this program, for the line that replays a failure. It must live
  /// until the check returns.
  check_options& command(const char* name) noexcept {
    command_ = name;
    return *this;
  }

 private:
  friend struct check_access;

  std::uint64_t first_ = 0;
  std::uint64_t count_ = 1'000;
  sim::settings settings_;
  bool twice_ = false;
  bool trace_ = false;
  bool shrink_ = false;
  std::size_t tries_max_ = 4'000;
  void (*on_run_)(std::uint64_t seed, std::uint64_t hash, void* data) = nullptr;
  void* on_run_data_ = nullptr;
  const tape* replay_ = nullptr;
  const char* command_ = "";
};

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
