// SPDX-License-Identifier: BSL-1.0
// The state of a thread_pool: one queue and the threads that sleep for it, under one lock. What
// wakes a thread does it under the lock, so nothing touches the pool after the last handler that
// could have ended it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <beck/detail/scope.hpp>
#include <beck/run/thread_pool.hpp>

#include "base/fork_count.hpp"
#include "run/task_trees.hpp"

namespace beck::detail {

class pool_state {
 public:
  explicit pool_state(thread_pool& owner) noexcept : owner_(owner) {}
  /// Requires that nobody is inside. Destroys what is left.
  ~pool_state();
  pool_state(const pool_state&) = delete;
  pool_state& operator=(const pool_state&) = delete;

  void add_threads(std::size_t count, const any_io_executor& executor);
  void attach(const any_io_executor& executor);
  void stop() noexcept;
  void join();

  void post(queue_entry* entry);
  void work(long change) noexcept;
  bool running_here() const noexcept {
    const runner* const where = runner::current();
    return where != nullptr && where->is_inside(this);
  }
  void adopt(owned_tree& tree) noexcept;
  void disown(owned_tree& tree) noexcept;
  void unhandled(std::exception_ptr error, const std::source_location* spawned_at = nullptr);
  thread_pool& owner() const noexcept { return owner_; }
  /// Whether this is a child of fork, which has none of the threads.
  bool is_forked_copy() const noexcept { return forks_ != known_fork_count(); }
  thread_pool_stats stats() const;

  void (*unhandled_handler)(std::exception_ptr, void*) = nullptr;
  void* unhandled_data = nullptr;

 private:
  struct worker {
    explicit worker(const any_io_executor& executor) noexcept : ambient(executor) {
      run.ambient = &ambient;
    }
    runner run;
    scope ambient;
    std::condition_variable woken;
    bool asleep = false;
    worker* below = nullptr;  // among the sleepers
  };

  void serve(worker& me);
  void run_one(worker& me, std::unique_lock<std::mutex>& lock);
  void sleep(worker& me, std::unique_lock<std::mutex>& lock);
  void wake_one() noexcept;
  void wake(worker& next) noexcept;
  bool out_of_work() const noexcept;
  void finish() noexcept;
  void destroy_queued() noexcept;

  thread_pool& owner_;
  const unsigned forks_ = fork_count();
  mutable std::mutex mutex_;  // all below but the trees
  entry_queue queue_;
  worker* sleepers_ = nullptr;  // the last to fall asleep first: its caches are warmest
  unsigned waking_ = 0;         // woken and not yet here
  unsigned busy_ = 0;           // inside a handler
  unsigned attached_ = 0;
  bool joining_ = false;
  bool stopped_ = false;
  thread_pool_stats stats_;
  std::condition_variable detached_;
  std::vector<std::thread> threads_;  // touched by the owner only

  /// Reaches 0 only under the lock: whoever takes it there has not yet left the pool.
  std::atomic<long> work_{0};

  std::mutex trees_mutex_;
  task_trees trees_;
};

}  // namespace beck::detail
