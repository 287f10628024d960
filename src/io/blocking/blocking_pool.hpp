// SPDX-License-Identifier: BSL-1.0
// The threads that make blocking calls for a loop. They are created one by one while operations
// queue up, and live as long as the loop, which makes the pool at the first need. All signals are
// blocked in them: signals are for the program's own threads.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "io/blocking/job_line.hpp"
#include "io/blocking/loop_jobs.hpp"

namespace beck::detail {

class loop_jobs;
class system;

/// The pool of one loop. Thread: as blocking_jobs says; its own threads call serve() only.
class blocking_pool final : public blocking_jobs {
 public:
  blocking_pool(loop_jobs& jobs, system& sys) noexcept : jobs_(jobs), sys_(sys) {}
  /// Requires that nothing is queued or being performed.
  ~blocking_pool() override;

  /// Queues `op`. Returns -EAGAIN if there is no thread and none can be created.
  int submit(io_op& op) noexcept override;
  bool withdraw(io_op& op) noexcept override;
  io_op* withdraw_any() noexcept override;
  bool wait_until_idle(std::int64_t deadline) noexcept override;

  /// In a forked child, which has none of the threads: calls `end(io_op&)` for each operation that
  /// the parent's pool had at the time of the fork. If one of its threads held the lock at that
  /// moment, the state of the operations is unknown, and they are lost. The child must not destroy
  /// the pool.
  template <class End>
  void after_fork_in_child(End&& end) noexcept {
    if (!mutex_.try_lock()) return;
    for (io_op* op : performed_) {
      if (op != nullptr) end(*op);
    }
    while (io_op* const op = line_.remove_any()) end(*op);
  }

 private:
  bool add_thread() noexcept;
  void serve(io_op*& mine) noexcept;

  loop_jobs& jobs_;
  system& sys_;
  std::mutex mutex_;  // protects all members below
  std::condition_variable work_;
  std::condition_variable all_ended_;
  job_line line_;
  unsigned idle_ = 0;  // threads that wait for work, or were woken and have not taken any yet
  bool ending_ = false;
  bool abandoned_ = false;  // the loop stopped waiting, and may be gone
  std::array<io_op*, job_line::at_once_max> performed_{};  // the operation of each thread
  std::array<std::thread, job_line::at_once_max> threads_;
  unsigned threads_made_ = 0;
};

}  // namespace beck::detail
