// SPDX-License-Identifier: BSL-1.0
// thread_pool: an executor with its own threads and without I/O, for functions that compute or
// block.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/run/post.hpp>

namespace beck {

namespace detail {
class pool_state;

}  // namespace detail

/// A fixed number of threads that run the handlers passed to get_executor(). Handlers start in the
/// order in which they were queued, and run concurrently. A post wakes a thread only if one sleeps
/// and none is being woken already.
///
/// An exception that leaves a handler is passed to on_unhandled(); by default the program ends with
/// a message. Trees of tasks that were spawned here live until the pool is destroyed.
/// Thread: any; the destructor, join() and wait() only a thread that is not inside the pool, and
/// one at a time.
class thread_pool : public execution_context {
 public:
  /// Counters of a pool since it was made.
  struct counters {
    std::uint64_t delivered = 0;  ///< handlers and resumptions, counted when their thread goes idle
    std::uint64_t sleeps = 0;     ///< times a thread found nothing to run
    std::uint64_t wakeups = 0;    ///< threads woken; never more than sleeps
  };

  /// The executor of a pool: one pointer, valid as long as the pool. Thread: any.
  class executor_type : public detail::queueing_members<executor_type> {
   public:
    /// Returns the pool.
    thread_pool& context() const noexcept { return *pool_; }
    /// Returns whether the calling thread is one that runs the pool's handlers.
    bool running_in_this_thread() const noexcept {
      return any_io_executor(*this).running_in_this_thread();
    }
    /// Adds one unit of outstanding work: join() waits until it is removed.
    void on_work_started() const noexcept { any_io_executor(*this).on_work_started(); }
    /// Removes one unit of outstanding work.
    void on_work_finished() const noexcept { any_io_executor(*this).on_work_finished(); }
    /// Runs `function` inside this call if the caller is inside the pool, else queues it. Throws
    /// std::bad_alloc.
    template <class F>
    void execute(F&& function) const {
      any_io_executor(*this).execute(static_cast<F&&>(function));
    }

    /// Returns the functions of the executor, for any_io_executor.
    const detail::executor_table* table() const noexcept { return &pool_table; }
    /// Returns the object of table()'s functions.
    void* target() const noexcept { return pool_->state_; }
    friend bool operator==(const executor_type&, const executor_type&) noexcept = default;

   private:
    friend class thread_pool;
    explicit executor_type(thread_pool& pool) noexcept : pool_(&pool) {}

    thread_pool* pool_;
  };

  /// Makes a pool with twice as many threads as the machine can run at once. Throws as below.
  thread_pool();
  /// Makes a pool of `threads` threads; with 0 only attach() adds threads. Throws std::system_error
  /// if a thread cannot be made.
  explicit thread_pool(std::size_t threads);
  /// Calls stop() and waits for the threads, also the attached ones. Then destroys queued handlers
  /// without running them, and the pool's tasks, newest first. Requires: none of its tasks waits
  /// for an operation of an object that still exists.
  ~thread_pool() override;

  /// Returns the executor.
  executor_type get_executor() noexcept { return executor_type(*this); }
  /// Returns the executor.
  executor_type executor() noexcept { return executor_type(*this); }

  /// Makes every thread leave after its present handler. Idempotent.
  void stop() noexcept;
  /// Runs handlers on the calling thread, too, until stop(), or until the work has ended after
  /// join().
  void attach();
  /// Blocks until no handler is queued or runs and there is no outstanding work, or until stop().
  /// Afterwards the pool has no threads.
  void join();
  /// As join().
  void wait() { join(); }

  /// Sets the function that takes exceptions of handlers and of detached tasks; it may be called on
  /// several threads at once. Requires that no work was posted yet.
  void on_unhandled(void (*handler)(std::exception_ptr, void* data), void* data = nullptr) noexcept;
  /// Returns the counters. Thread: any.
  counters stats() const;

 private:
  static const detail::executor_table pool_table;

  detail::pool_state* state_;
};

/// Asio's other name for a pool.
using static_thread_pool = thread_pool;
/// Asio's name for the pool of system_executor.
using system_context = thread_pool;

namespace detail {

/// Returns the pool of the process, with as many threads as a default one. The first call makes it;
/// it is stopped and destroyed at the end of the program.
system_context& system_pool();

}  // namespace detail

/// The executor of the process-wide pool; all objects are equal. Unlike Asio's, dispatch() runs a
/// function at once only on a thread of that pool. The pool is made at first use, which may throw
/// std::system_error.
class system_executor {
 public:
  /// Makes an executor, which has no state.
  system_executor() noexcept = default;
  /// Returns the pool.
  system_context& context() const { return detail::system_pool(); }
  /// Returns whether the calling thread is one of the pool's.
  bool running_in_this_thread() const { return inner().running_in_this_thread(); }
  /// Adds one unit of outstanding work.
  void on_work_started() const { inner().on_work_started(); }
  /// Removes one unit of outstanding work.
  void on_work_finished() const { inner().on_work_finished(); }
  /// Runs `function` inside this call if the caller is inside the pool, else queues it.
  template <class F>
  void execute(F&& function) const {
    inner().execute(static_cast<F&&>(function));
  }

  /// Returns the functions of the executor, for any_io_executor.
  const detail::executor_table* table() const { return inner().table(); }
  /// Returns the object of table()'s functions.
  void* target() const { return inner().target(); }
  friend bool operator==(const system_executor&, const system_executor&) noexcept = default;

 private:
  static thread_pool::executor_type inner() { return detail::system_pool().get_executor(); }
};

}  // namespace beck
