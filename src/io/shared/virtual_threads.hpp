// SPDX-License-Identifier: BSL-1.0
// The threads of a shared loop whose driver simulates them. The loop calls these functions where
// threads would meet, spin or wait, and the driver decides which thread continues.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace beck::detail {

/// Thread: one. The functions of the second group concern the virtual thread that calls them, and
/// do nothing on any other stack.
class virtual_threads {
 public:
  virtual ~virtual_threads() = default;

  // --- called to run the loop
  /// Runs the loop as io_loop::run() does: by all threads, or by one if the number of handlers is
  /// limited. Returns the number of handlers that ran. An exception of a handler leaves this
  /// function when all threads have left their handlers.
  virtual std::size_t run(std::size_t handlers, std::int64_t deadline, bool blocking) = 0;
  /// Continues one thread for a moment, for io_loop::step(). Threads that run out of work wait for
  /// more.
  virtual std::size_t step() = 0;
  /// Makes all threads leave the loop, each after the handler that it is in.
  virtual void recall() noexcept = 0;

  // --- called by the loop on a virtual thread, without the lock of the loop
  /// Lets other threads continue.
  virtual void meet() noexcept = 0;
  /// Ends an entry: other threads continue as likely as this one.
  virtual void end_step() noexcept = 0;
  /// Waits for a short action of another thread.
  virtual void spin() noexcept = 0;
  /// Waits as futex(2), FUTEX_WAIT does. Returns false if the deadline has passed.
  virtual bool sleep(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::int64_t deadline) noexcept = 0;
  /// Returns false if the thread was recalled, and has to leave run().
  virtual bool may_stay() const noexcept = 0;
  /// Returns whether the loop stops when work has run out.
  virtual bool may_end() const noexcept = 0;

  // --- called by the loop, on any stack
  /// Wakes at most `count` threads that sleep at `word`, as FUTEX_WAKE does.
  virtual void wake_sleepers(const void* word, unsigned count) noexcept = 0;
  /// Ends a wait in the kernel, as a write to the wake descriptor does.
  virtual void wake_kernel() noexcept = 0;
};

}  // namespace beck::detail
