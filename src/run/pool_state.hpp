// SPDX-License-Identifier: BSL-1.0
// The state of a thread_pool: one queue and a list of sleeping threads, under one lock. Threads are
// woken under that lock, so no code touches the pool after the last handler that could have ended
// it.
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

/// The state behind a thread_pool. Thread: any, except for the constructor, the destructor,
/// add_threads() and join(), which belong to the owner of the pool.
class pool_state {
 public:
  explicit pool_state(thread_pool& owner) noexcept : owner_(owner) {}
  /// Destroys the queued entries and the tasks that still live. Requires that no thread is inside.
  ~pool_state();
  pool_state(const pool_state&) = delete;
  pool_state& operator=(const pool_state&) = delete;

  /// Starts `count` threads, which serve the queue until the pool stops.
  void add_threads(std::size_t count, const any_io_executor& executor);
  /// Serves the queue on the calling thread until the pool stops.
  void attach(const any_io_executor& executor);
  void stop() noexcept;
  void join();

  void post(queue_entry* entry);
  /// Changes the count of outstanding work. At 0 a join() that waits lets the threads end.
  void work(long change) noexcept;
  bool running_here() const noexcept {
    const runner* const where = runner::current();
    return where != nullptr && where->is_inside(this);
  }
  void adopt(owned_tree& tree) noexcept;
  void disown(owned_tree& tree) noexcept;
  void unhandled(std::exception_ptr error, const std::source_location* spawned_at = nullptr);
  thread_pool& owner() const noexcept { return owner_; }
  /// Returns whether this is a copy in a child of fork, which has none of the threads.
  bool is_forked_copy() const noexcept { return forks_ != known_fork_count(); }
  thread_pool::counters stats() const;

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
    worker* below = nullptr;  // the next in the stack of sleepers
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
  mutable std::mutex mutex_;  // guards all members below except `threads_` and the trees
  entry_queue queue_;
  worker* sleepers_ = nullptr;  // a stack: the last to fall asleep has the warmest caches
  unsigned waking_ = 0;         // threads that were woken and do not run yet
  unsigned busy_ = 0;           // threads inside a handler
  unsigned attached_ = 0;
  bool joining_ = false;
  bool stopped_ = false;
  thread_pool::counters stats_;
  std::condition_variable detached_;
  std::vector<std::thread> threads_;  // touched by the owner only

  /// Units of outstanding work. Reaches 0 only under the lock, so the pool cannot be destroyed
  /// before the thread that removes the last unit has left it.
  std::atomic<long> work_{0};

  std::mutex trees_mutex_;
  task_trees trees_;
};

}  // namespace beck::detail
