// SPDX-License-Identifier: BSL-1.0
// The threads of a simulated shared context. Each virtual thread is a stack of its own on which the
// code of real threads runs; its waits and wake-ups are simulated. The seed decides which thread
// continues wherever the loop's lock is free: between two handlers, around system calls, in every
// wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "io/shared/virtual_threads.hpp"
#include "io/sim/sim_random.hpp"
#include "io/system/fiber.hpp"

namespace beck::detail {

class io_loop;
class sim_driver;
class sim_world;

/// The virtual threads of one context. Thread: one real thread.
class sim_runners final : public virtual_threads {
 public:
  sim_runners(sim_driver& driver, sim_world& world, unsigned count);
  ~sim_runners() override;
  sim_runners(const sim_runners&) = delete;
  sim_runners& operator=(const sim_runners&) = delete;

  std::size_t run(std::size_t handlers, std::int64_t deadline, bool blocking) override;
  std::size_t step() override;
  void recall() noexcept override;
  void meet() noexcept override;
  void end_step() noexcept override;
  void spin() noexcept override;
  bool sleep(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
             std::int64_t deadline) noexcept override;
  bool may_stay() const noexcept override { return !recalled_; }
  bool may_end() const noexcept override { return !in_step_; }
  void wake_sleepers(const void* word, unsigned count) noexcept override;
  void wake_kernel() noexcept override { called_ = true; }

  // --- for the driver, without the loop's lock
  /// Waits until there are events, mail or a wake-up for the driver, or until the deadline.
  void wait_in_kernel(std::int64_t deadline) noexcept;
  /// Waits in a handler until `may_go_on(data)` or the deadline. Returns false at once if the
  /// caller is not a virtual thread of this context.
  bool wait_in_call(bool (*may_go_on)(const void* data), const void* data,
                    std::int64_t deadline) noexcept;

  // --- for the scheduler, which runs all contexts of a world
  /// Returns the number of handlers that have run since the last call.
  std::size_t take_count() noexcept { return std::exchange(ran_, 0); }
  /// Returns whether any virtual thread is inside run().
  bool are_inside() const noexcept { return inside_ != 0; }
  /// Returns whether any virtual thread could continue, or has thrown an exception that has not
  /// been rethrown yet.
  bool is_ready() const noexcept;
  /// Returns whether any virtual thread is inside a handler or a call, and not waiting for work, or
  /// has thrown an exception that has not been rethrown yet.
  bool is_busy() const noexcept;
  /// Returns the first deadline of the virtual threads that wait; INT64_MAX if there is none.
  std::int64_t next_deadline() const noexcept;

 private:
  enum class activity : unsigned char {
    away,
    running,
    going,
    spinning,
    paused,  // by a machine that is busy with other work
    at_futex,
    in_kernel,
    in_call,  // in a call that blocks
  };

  struct virtual_runner {
    sim_runners* all = nullptr;
    fiber::handle stack;
    activity does = activity::away;
    const void* word = nullptr;                     // at the futex; null: it was woken
    bool (*may_go_on)(const void* data) = nullptr;  // in a call: the condition of its end
    const void* data = nullptr;
    std::int64_t deadline = INT64_MAX;
  };

  static void body(void* argument) noexcept;
  void live() noexcept;
  void enter(virtual_runner& one);
  bool is_ready(const virtual_runner& one) const noexcept;
  virtual_runner* mine() noexcept;
  void leave_for_others(activity why) noexcept;
  /// Resumes one thread that is ready until it waits. Returns false if none is ready.
  bool go_on() noexcept;
  void wait_for_anything();
  void rethrow();

  sim_driver& driver_;
  io_loop& loop_;
  sim_world& world_;
  sim_random& random_;
  std::vector<virtual_runner> runners_;
  unsigned inside_ = 0;
  std::size_t next_ = 0;       // the thread that comes next if the draw is 0
  std::size_t last_ = 0;       // the thread that ran last
  unsigned spins_in_row_ = 0;  // consecutive spins, without any other step of any thread
  // What the entering threads are asked to do.
  std::size_t handlers_ = 0;
  std::int64_t deadline_ = 0;
  bool blocking_ = false;
  bool in_step_ = false;   // run by the scheduler, not by run()
  bool recalled_ = false;  // all threads shall leave
  bool called_ = false;    // woken by a write to the wake descriptor
  std::size_t ran_ = 0;
  std::atomic<const void*> thread_{nullptr};  // the real thread that is inside run()
  std::deque<std::exception_ptr> thrown_;
};

}  // namespace beck::detail
