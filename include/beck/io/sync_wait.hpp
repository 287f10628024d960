// SPDX-License-Identifier: BSL-1.0
// sync_wait: runs a task to its end from code that is no coroutine: main(), a test, a thread of
// one's own.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>

namespace beck {

/// Where a thread waits for the end of a task.
class sync_event {
 public:
  sync_event();
  ~sync_event();
  sync_event(const sync_event&) = delete;
  sync_event& operator=(const sync_event&) = delete;

  /// The task's handler: told once how the task ended, or destroyed un-run if it never will.
  class handler {
   public:
    explicit handler(sync_event& event) noexcept : event_(&event) {}
    handler(handler&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    handler& operator=(handler&&) = delete;
    ~handler() {
      if (event_ != nullptr) event_->end(false, nullptr);
    }
    void operator()(std::exception_ptr error) {
      std::exchange(event_, nullptr)->end(true, static_cast<std::exception_ptr&&>(error));
    }

   private:
    sync_event* event_;
  };

  /// Makes the end of the task stop `context`.
  void stop_at_end(io_context& context) noexcept { context_ = &context; }
  /// Blocks until the handler was called or destroyed.
  void wait() noexcept;
  /// Throws what the task threw, or std::logic_error if it did not finish. Requires that its
  /// handler is gone.
  void rethrow_if_failed() const;

 private:
  struct state;

  void end(bool finished, std::exception_ptr error) noexcept;

  state* state_;
  io_context* context_ = nullptr;
};

/// Asserts that the calling thread is not inside `executor`, whose work it would wait for.
void check_may_block_on(const any_io_executor& executor);

/// Awaits `work` and leaves its value in `into`.
template <class T, bool Throwing>
task<> keep_value(task<T, Throwing> work, task_value<T>& into) {
  if constexpr (std::is_void_v<T>) {
    (void)into;
    co_await static_cast<task<T, Throwing>&&>(work);
  } else {
    into.return_value(co_await static_cast<task<T, Throwing>&&>(work));
  }
}

template <class Work>
using task_value_t = typename work_traits<std::decay_t<Work>>::task_type::value_type;

/// Runs a task (or what a callable returns) on a private io_context until it has finished; gives
/// its value or throws what it threw. Whatever else it has started there ends with it. Throws
/// std::logic_error if it can never finish: it waits, and nothing is left that could wake it.
/// Thread: any; inside a context's run() it blocks that context.
template <spawnable Work>
task_value_t<Work> sync_wait(Work&& work,
                             std::source_location at = std::source_location::current()) {
  task_value<task_value_t<Work>> value;
  sync_event event;
  {
    io_context context;
    event.stop_at_end(context);
    co_spawn(context, keep_value(work_traits<std::decay_t<Work>>::make(work), value),
             sync_event::handler(event), at);
    context.run();
  }  // what is left of the tree is destroyed here
  event.rethrow_if_failed();
  return value.take();
}

/// Blocks the calling thread until a task has run on `where` (an executor, or a context that
/// another thread runs). Throws std::logic_error if that context was destroyed before. Asserts on a
/// thread that is inside `where`: it would wait for itself.
template <execution_place P, spawnable Work>
task_value_t<Work> sync_wait(P&& where, Work&& work,
                             std::source_location at = std::source_location::current()) {
  const any_io_executor executor(executor_at(where));
  check_may_block_on(executor);
  task_value<task_value_t<Work>> value;
  sync_event event;
  co_spawn(executor, keep_value(work_traits<std::decay_t<Work>>::make(work), value),
           sync_event::handler(event), at);
  event.wait();
  event.rethrow_if_failed();
  return value.take();
}

}  // namespace beck
