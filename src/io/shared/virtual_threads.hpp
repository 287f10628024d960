// SPDX-License-Identifier: BSL-1.0
// The threads of a shared loop whose driver plays them itself: the simulator's. The loop says where
// threads would meet, spin and wait; the driver decides who goes on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace beck::detail {

/// Thread: one. Functions of the second group concern the virtual thread that calls them, and do
/// nothing on any other stack.
class virtual_threads {
 public:
  virtual ~virtual_threads() = default;

  // --- whoever wants the loop to be run
  /// io_loop::run(): by all of them, or by one if the number of handlers is limited. Gives how many
  /// ran. What a handler throws leaves it when all of them have left theirs.
  virtual std::size_t run(std::size_t handlers, std::int64_t deadline, bool blocking) = 0;
  /// io_loop::step(): one of them goes on for a moment. Those that run out of work wait for more.
  virtual std::size_t step() = 0;
  /// Makes all of them leave the loop, each after the handler that it is in.
  virtual void recall() noexcept = 0;

  // --- the loop, on one of them, without its lock
  /// Others may go on here.
  virtual void meet() noexcept = 0;
  /// An entry is over: others go on as likely as this one.
  virtual void end_step() noexcept = 0;
  /// Waits for something short that another one does.
  virtual void spin() noexcept = 0;
  /// As futex(2), FUTEX_WAIT; false: the deadline has passed.
  virtual bool sleep(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                     std::int64_t deadline) noexcept = 0;
  /// False: it has been recalled, and leaves run().
  virtual bool may_stay() const noexcept = 0;
  /// Whether the loop stops when work has run out.
  virtual bool may_end() const noexcept = 0;

  // --- the loop, anywhere
  /// As FUTEX_WAKE.
  virtual void wake_sleepers(const void* word, unsigned count) noexcept = 0;
  /// As a write to the wake descriptor.
  virtual void wake_kernel() noexcept = 0;
};

}  // namespace beck::detail
