// SPDX-License-Identifier: BSL-1.0
// A stack of its own that a thread goes to and comes back from: the simulator plays the threads of
// a shared context on a few of them. What the library and the language keep for each thread (the
// runner, initiating calls, exceptions in flight) is kept for each fiber, so that what runs on it
// cannot tell it from a thread. Sanitizers are told of every change.
#pragma once

#include <cstddef>
#include <memory>

namespace beck::detail {

/// Thread: the one that took it.
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
  /// Where it goes when it is let go of, which requires that it is over.
  using handle = std::unique_ptr<fiber, put_back>;

  /// One that this thread has used before, or a new one; over. Throws std::bad_alloc.
  static handle take();

  /// The next resume() calls body(argument). Requires that it is over.
  void start(function body, void* argument) noexcept {
    body_ = body;
    argument_ = argument;
  }
  bool is_over() const noexcept { return body_ == nullptr; }
  /// Goes on with it until it calls suspend() or is over. Fibers may resume others.
  void resume() noexcept;

  /// The one that the caller runs on; nullptr: on the thread's own stack.
  static fiber* current() noexcept;
  /// Back to whoever resumed the current one.
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
