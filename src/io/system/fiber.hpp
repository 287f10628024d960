// SPDX-License-Identifier: BSL-1.0
// A stack that a thread switches to and back from: the simulator plays the threads of a shared
// context on several of them. The data that the library and the language keep for each thread (the
// runner, initiating calls, exceptions in flight) is kept for each fiber, so code on a fiber cannot
// tell it from a thread. Sanitizers are told of every switch.
#pragma once

#include <cstddef>
#include <memory>

namespace beck::detail {

/// A fiber. Thread: the one that took it.
class fiber {
 public:
  using function = void (*)(void* argument) noexcept;
  static constexpr std::size_t stack_bytes = 1024 * 1024;

  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  struct put_back {
    void operator()(fiber* used) const noexcept;
  };
  /// Owns a fiber, and returns it to the unused ones of the thread. Requires then that the fiber is
  /// over.
  using handle = std::unique_ptr<fiber, put_back>;

  /// Returns an unused fiber of this thread, or a new one; it is over. Throws std::bad_alloc.
  static handle take();

  /// Makes the next resume() call body(argument). Requires that the fiber is over.
  void start(function body, void* argument) noexcept {
    body_ = body;
    argument_ = argument;
  }
  /// Returns whether the fiber has no body to run.
  bool is_over() const noexcept { return body_ == nullptr; }
  /// Runs the fiber until it calls suspend() or is over. A fiber may resume others.
  void resume() noexcept;

  /// Returns the fiber that the caller runs on; nullptr on the thread's own stack.
  static fiber* current() noexcept;
  /// Returns to the caller of resume() of the current fiber.
  static void suspend() noexcept;

 private:
  struct machine;

  fiber();
  static void enter() noexcept;

  std::unique_ptr<machine> machine_;
  function body_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace beck::detail
