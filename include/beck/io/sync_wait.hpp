// SPDX-License-Identifier: BSL-1.0
// sync_wait: runs a task to its end from code that is no coroutine: main(), a test, a thread of the
// program.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/detail/functions.hpp>
#include <beck/io/io_context.hpp>

namespace beck {

namespace detail {

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
  /// Throws the task's exception, or std::logic_error if it did not finish. Requires that its
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
/// As above, for a context that the calling thread is to run. Throws std::logic_error if another
/// thread runs an exclusive one.
void check_may_run(io_context& context);

namespace functions {

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

}  // namespace functions

template <class Work>
using task_value_t = typename work_traits<std::decay_t<Work>>::task_type::value_type;

}  // namespace detail

namespace functions {

/// Runs a task (or the one that a callable returns) on a private io_context until it has finished.
/// Returns its value or throws its exception. Other tasks that it has started there end with it.
/// Throws std::logic_error if the task can never finish: it waits, and there is no outstanding
/// work. Thread: any; inside a context's run() it blocks that context.
template <detail::spawnable Work>
detail::task_value_t<Work> sync_wait(Work&& work,
                                     std::source_location at = std::source_location::current()) {
  detail::task_value<detail::task_value_t<Work>> value;
  detail::sync_event event;
  {
    io_context context;
    event.stop_at_end(context);
    beck::co_spawn(context,
                   detail::keep_value(detail::work_traits<std::decay_t<Work>>::make(work), value),
                   detail::sync_event::handler(event), at);
    context.run();
  }  // what is left of the tree is destroyed here
  event.rethrow_if_failed();
  return value.take();
}

}  // namespace functions

namespace detail {

/// How a task ended that sync_wait() ran on a context of the caller's. Held by the call and by the
/// task's handler: if the context is stopped the task is left there, and outlives the call.
struct sync_end {
  virtual ~sync_end() = default;
  ref_count holders;
  std::exception_ptr error;
  io_context* to_stop = nullptr;  // null: the call is over
  bool finished = false;
};
class sync_end_holder {
 public:
  explicit sync_end_holder(sync_end* end) noexcept : end_(end) {}
  sync_end_holder(sync_end_holder&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  sync_end_holder& operator=(sync_end_holder&&) = delete;
  ~sync_end_holder() {
    if (end_ != nullptr && end_->holders.drop()) delete end_;
  }
  /// The task's handler.
  void operator()(std::exception_ptr error) const noexcept;
  /// Runs `context` until the task has finished, and throws its exception.
  void run(io_context& context) const;

 private:
  sync_end* end_;
};
template <class T>
struct sync_end_with_value final : sync_end {
  task_value<T> value;
};

namespace functions {

/// As keep_value(); keeps a callable until its coroutine has ended.
template <class Work>
task<> keep_value_of(Work work, task_value<task_value_t<Work>>& into) {
  task<> kept = functions::keep_value(work_traits<Work>::make(work), into);
  co_await static_cast<task<>&&>(kept);
}

}  // namespace functions

}  // namespace detail

namespace functions {

/// Runs `context` on the calling thread until a task has finished there. Returns its value or
/// throws its exception. Other tasks on the context run meanwhile and stay there, and it may be run
/// again. Clears an earlier stop() of the context. Throws std::logic_error if the context was
/// stopped, or ran out of work, before the task had finished; the task then stays on the context.
/// Requires that neither another thread nor the caller runs `context`: the latter is asserted, the
/// former a std::logic_error. If another thread runs it, pass its executor instead.
template <detail::spawnable Work>
detail::task_value_t<Work> sync_wait(io_context& context, Work&& work,
                                     std::source_location at = std::source_location::current()) {
  detail::check_may_run(context);
  auto* const end = new detail::sync_end_with_value<detail::task_value_t<Work>>;
  const detail::sync_end_holder holder(end);
  end->holders.add();
  detail::sync_end_holder handler(end);
  beck::co_spawn(context,
                 detail::keep_value_of(std::decay_t<Work>(static_cast<Work&&>(work)), end->value),
                 static_cast<detail::sync_end_holder&&>(handler), at);
  holder.run(context);
  return end->value.take();
}

/// Blocks the calling thread until a task has run on `where`, an executor of a context that other
/// threads run, or of a thread_pool. Waits until some thread runs it. Returns the value of the task
/// or throws its exception. Throws std::logic_error if the context was destroyed before the task
/// had finished. Asserts on a thread that is inside `where`: it would wait for itself.
template <detail::execution_place P, detail::spawnable Work>
  requires(!std::is_base_of_v<io_context, std::remove_cvref_t<P>>)
detail::task_value_t<Work> sync_wait(P&& where, Work&& work,
                                     std::source_location at = std::source_location::current()) {
  const any_io_executor executor(detail::executor_at(where));
  detail::check_may_block_on(executor);
  detail::task_value<detail::task_value_t<Work>> value;
  detail::sync_event event;
  beck::co_spawn(executor,
                 detail::keep_value(detail::work_traits<std::decay_t<Work>>::make(work), value),
                 detail::sync_event::handler(event), at);
  event.wait();
  event.rethrow_if_failed();
  return value.take();
}

/// Refuses, at compile time, a `Work` that is neither a task nor a callable that returns one.
template <class Work>
  requires(!detail::spawnable<Work>)
void sync_wait(Work&&) {
  detail::refuse_work<std::decay_t<Work>>();
}
/// As above.
template <detail::execution_place P, class Work>
  requires(!detail::spawnable<Work>)
void sync_wait(P&&, Work&&) {
  detail::refuse_work<std::decay_t<Work>>();
}

}  // namespace functions

}  // namespace beck
