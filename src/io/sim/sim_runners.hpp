// SPDX-License-Identifier: BSL-1.0
// The threads of a simulated shared context. Each is a stack of its own on which the code of real
// threads runs, with its waits and wake-ups played; the seed decides who goes on wherever the
// loop's lock is free: between two handlers, around system calls, in every wait.
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

  // --- the driver, without the loop's lock
  /// Until there is news for it, mail or a call, or until the deadline.
  void wait_in_kernel(std::int64_t deadline) noexcept;
  /// Waits in a handler, until `may_go_on(data)` or the deadline. False: the caller is none of
  /// these threads.
  bool wait_in_call(bool (*may_go_on)(const void* data), const void* data,
                    std::int64_t deadline) noexcept;

  // --- whoever runs all contexts of a world
  /// How many handlers have run since it was last asked.
  std::size_t take_count() noexcept { return std::exchange(ran_, 0); }
  /// Whether any is inside run().
  bool are_inside() const noexcept { return inside_ != 0; }
  /// Whether one of them could go on, or has thrown what nobody has got yet.
  bool is_ready() const noexcept;
  /// Whether any is in the middle of something.
  bool is_busy() const noexcept;
  /// Of those that wait; INT64_MAX: none has one.
  std::int64_t next_deadline() const noexcept;

 private:
  enum class activity : unsigned char {
    away,
    running,
    going,
    spinning,
    paused,  // by a machine that has other things to do
    at_futex,
    in_kernel,
    in_call,  // that blocks
  };

  struct virtual_runner {
    sim_runners* all = nullptr;
    fiber::handle stack;
    activity does = activity::away;
    const void* word = nullptr;                     // at the futex; null: it was woken
    bool (*may_go_on)(const void* data) = nullptr;  // in a call
    const void* data = nullptr;
    std::int64_t deadline = INT64_MAX;
  };

  static void body(void* argument) noexcept;
  void live() noexcept;
  void enter(virtual_runner& one);
  bool is_ready(const virtual_runner& one) const noexcept;
  virtual_runner* mine() noexcept;
  void leave_for_others(activity why) noexcept;
  /// Somebody who is ready goes on for a moment. False: nobody is.
  bool go_on() noexcept;
  void wait_for_anything();
  void rethrow();

  sim_driver& driver_;
  io_loop& loop_;
  sim_world& world_;
  sim_random& random_;
  std::vector<virtual_runner> runners_;
  unsigned inside_ = 0;
  std::size_t next_ = 0;       // whose turn it is if nobody draws
  std::size_t last_ = 0;       // who went on
  unsigned spins_in_row_ = 0;  // of all of them, while nobody did anything else
  // What those who enter are asked to do.
  std::size_t handlers_ = 0;
  std::int64_t deadline_ = 0;
  bool blocking_ = false;
  bool in_step_ = false;   // for a world, not for a run()
  bool recalled_ = false;  // they leave
  bool called_ = false;    // by a write to the wake descriptor
  std::size_t ran_ = 0;
  std::atomic<const void*> thread_{nullptr};  // that is inside run()
  std::deque<std::exception_ptr> thrown_;
};

}  // namespace beck::detail
