// SPDX-License-Identifier: BSL-1.0
// The pool of threads for blocking calls: one queue under one lock, because the calls of these
// threads take far longer than the lock.
#include "io/blocking/blocking_pool.hpp"

#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>

#include "base/signals_blocked.hpp"
#include "io/blocking/loop_jobs.hpp"

namespace beck::detail {
blocking_pool::~blocking_pool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  for (unsigned i = 0; i < threads_made_; ++i) threads_[i].join();
}

/// Starts one more thread. The caller holds the lock.
bool blocking_pool::add_thread() noexcept {
  const signals_blocked for_the_new_one;
  try {
    io_op*& mine = performed_[threads_made_];
    threads_[threads_made_] = std::thread([this, &mine] { serve(mine); });
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  ++threads_made_;
  return true;
}

int blocking_pool::submit(io_op& op) noexcept {
  const std::lock_guard lock(mutex_);
  line_.push(op);
  const bool too_few = line_.may_begin() > idle_ && threads_made_ < job_line::at_once_max;
  if (too_few && !add_thread() && threads_made_ == 0) {
    static_cast<void>(line_.remove(op));
    return -EAGAIN;
  }
  work_.notify_one();
  return 0;
}

bool blocking_pool::withdraw(io_op& op) noexcept {
  const std::lock_guard lock(mutex_);
  return line_.remove(op);  // false: it is being performed, or in the mailbox
}

io_op* blocking_pool::withdraw_any() noexcept {
  const std::lock_guard lock(mutex_);
  return line_.remove_any();
}

bool blocking_pool::wait_until_idle(std::int64_t deadline) noexcept {
  const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline)};
  std::unique_lock lock(mutex_);
  abandoned_ = !all_ended_.wait_until(lock, until, [this] { return line_.performed() == 0; });
  return !abandoned_;
}

/// Body of a thread of the pool. `mine` points to the operation that it performs.
void blocking_pool::serve(io_op*& mine) noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    work_.wait(lock, [this] { return ending_ || line_.may_begin() != 0; });
    --idle_;
    if (line_.may_begin() == 0) return;
    io_op& op = line_.begin();
    mine = &op;
    lock.unlock();
    const std::ptrdiff_t result = perform_blocking(sys_, op);
    lock.lock();
    if (abandoned_) return;
    mine = nullptr;
    line_.end(op);
    // With the lock held: a forked child finds the operation either here or in the mailbox.
    jobs_.performed(op, result);
    if (line_.performed() == 0) all_ended_.notify_all();
  }
}

}  // namespace beck::detail
