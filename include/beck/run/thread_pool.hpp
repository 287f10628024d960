// SPDX-License-Identifier: BSL-1.0
// thread_pool: an executor with threads of its own and no I/O, for what computes or blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/run/post.hpp>

namespace beck {

namespace detail {
class pool_state;

}  // namespace detail

/// What a pool has done since it was made.
struct thread_pool_stats {
  std::uint64_t delivered = 0;  ///< handlers and resumptions of threads that have gone idle since
  std::uint64_t sleeps = 0;     ///< times a thread found nothing to run
  std::uint64_t wakeups = 0;    ///< threads woken; never more than sleeps
};

/// A fixed number of threads that run what is given to get_executor(), in the order in which it
/// came but at the same time. A post wakes a thread only if one sleeps and none is on its way
/// already.
///
/// An exception that leaves a handler goes to on_unhandled(), by default the program ends with a
/// message. Trees of tasks that were spawned here live until the pool is destroyed.
/// Thread: any, except that the destructor, join() and wait() need a thread that is not inside the
/// pool, and one at a time.
class thread_pool : public execution_context {
 public:
  class executor_type {
   public:
    thread_pool& context() const noexcept { return *pool_; }
    bool running_in_this_thread() const noexcept {
      return any_io_executor(*this).running_in_this_thread();
    }
    void on_work_started() const noexcept { any_io_executor(*this).on_work_started(); }
    void on_work_finished() const noexcept { any_io_executor(*this).on_work_finished(); }
    template <class F>
    void execute(F&& function) const {
      any_io_executor(*this).execute(static_cast<F&&>(function));
    }

    const detail::executor_table* table() const noexcept { return &pool_table; }
    void* target() const noexcept { return pool_->state_; }
    friend bool operator==(const executor_type&, const executor_type&) noexcept = default;

   private:
    friend class thread_pool;
    explicit executor_type(thread_pool& pool) noexcept : pool_(&pool) {}

    thread_pool* pool_;
  };

  /// Twice as many threads as the machine runs at once.
  thread_pool();
  /// Throws std::system_error if a thread cannot be made. 0: only attach() gives it threads.
  explicit thread_pool(std::size_t threads);
  /// stop(), then waits for the threads, also the attached ones; what is left is destroyed un-run,
  /// then the tasks that live here, newest first. Requires: no task of it waits for an operation of
  /// an object that still lives.
  ~thread_pool() override;

  executor_type get_executor() noexcept { return executor_type(*this); }
  executor_type executor() noexcept { return executor_type(*this); }

  /// Makes every thread leave after what it runs now. Idempotent.
  void stop() noexcept;
  /// The calling thread runs handlers too, until stop(), or join() and the end of the work.
  void attach();
  /// Waits until nothing is queued, nothing runs and there is no outstanding work, or stop(); then
  /// the pool has no threads any more.
  void join();
  void wait() { join(); }

  /// Takes exceptions of handlers and of detached tasks, on several threads at once. Before the
  /// first post.
  void on_unhandled(void (*handler)(std::exception_ptr, void* data), void* data = nullptr) noexcept;
  thread_pool_stats stats() const;

 private:
  static const detail::executor_table pool_table;

  detail::pool_state* state_;
};

using system_context = thread_pool;

namespace detail {

/// The pool of the process, with as many threads as a default one. It is made when it is first
/// asked for, stopped and destroyed at the end of the program.
system_context& system_pool();

}  // namespace detail

/// The executor of the process-wide pool; all objects are equal. Unlike Asio's, dispatch() runs a
/// function at once only on a thread of that pool.
class system_executor {
 public:
  system_executor() noexcept = default;
  system_context& context() const { return detail::system_pool(); }
  bool running_in_this_thread() const { return inner().running_in_this_thread(); }
  void on_work_started() const { inner().on_work_started(); }
  void on_work_finished() const { inner().on_work_finished(); }
  template <class F>
  void execute(F&& function) const {
    inner().execute(static_cast<F&&>(function));
  }

  const detail::executor_table* table() const { return inner().table(); }
  void* target() const { return inner().target(); }
  friend bool operator==(const system_executor&, const system_executor&) noexcept = default;

 private:
  static thread_pool::executor_type inner() { return detail::system_pool().get_executor(); }
};

}  // namespace beck
