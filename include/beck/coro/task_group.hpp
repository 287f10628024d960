// SPDX-License-Identifier: BSL-1.0
// task_group: children whose number is not known beforehand, and a place where all of them have
// ended. run() joins on every path: when its body returns, throws, or is stopped.
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>

#include <beck/coro/co_spawn.hpp>
#include <beck/detail/deadline_scope.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/join.hpp>
#include <beck/detail/waiter.hpp>

namespace beck {

/// The options of a group.
struct group_options {
  /// The most children at a time. Default: no limit.
  std::size_t limit = static_cast<std::size_t>(-1);
  /// The grace period for children after the body has returned or been stopped; when it expires
  /// they are stopped. The default: no limit after a return, and no time after a stop.
  duration drain_timeout = duration::min();
};
static_assert(std::is_trivially_destructible_v<group_options>);

class task_group;

namespace detail {

/// A child of a group: a block of its own, freed when it has ended.
class group_child : public branch {
 public:
  group_child(join_point& join, const std::source_location& spawned_at) noexcept
      : branch(join, spawned_at) {}

 protected:
  ~group_child() = default;

 private:
  friend class beck::task_group;

  void (*destroy_)(group_child& self) noexcept = nullptr;
  group_child* older_ = nullptr;
  group_child* newer_ = nullptr;
};

}  // namespace detail

/// Children whose number is not known beforehand; run() ends when all have ended.
/// Thread: callers inside the executor of the coroutine that awaits run(); all children run there.
/// On a thread_pool that is several threads at once: then limits are not exact, and a full group
/// cannot be waited for (async_spawn() ends with operation_not_supported).
class task_group : private detail::join_point {
  /// Awaits the end of body and children.
  class joining {
   public:
    explicit joining(task_group& group) noexcept : group_(group) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      return group_.wait(coroutine);
    }
    void await_resume() const noexcept {}

   private:
    task_group& group_;
  };

 public:
  /// Awaits `body(group)` and all children that it spawned, directly or not. The first exception,
  /// of the body or a child, stops the others at once and is thrown when all have ended. A stop of
  /// the awaiting coroutine's scope stops the body; then the children, after the grace period (at
  /// once if a deadline is the reason). The callable is kept until the end; with captures that have
  /// destructors give it a name first (docs/coroutines.md).
  template <class Body>
  static task<> run(Body body, group_options how = group_options()) {
    detail::scope& here = co_await detail::current_scope();
    task_group group(here, how);
    group.work_.emplace(body(group));
    co_await joining(group);
    group.rethrow_if_failed();
  }

  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  /// Destroys children that still live, and then the body: their context is being destroyed.
  ~task_group();

  /// Starts a task, or the one that a callable returns, as a child, behind the entries that are
  /// queued. Its value is dropped. If the group or the scope of run() has been stopped, the child
  /// starts stopped, also in the grace period. Throws std::bad_alloc, the exceptions of the
  /// callable, and std::length_error if the group is full; nothing has started then.
  template <detail::spawnable Work>
  void spawn(Work&& work, std::source_location at = std::source_location::current()) {
    check_room();
    add_child(static_cast<Work&&>(work), at);
  }
  /// As spawn(); returns false if the group is full.
  template <detail::spawnable Work>
  bool try_spawn(Work&& work, std::source_location at = std::source_location::current()) {
    if (is_full()) return false;
    add_child(static_cast<Work&&>(work), at);
    return true;
  }
  /// As spawn(), but waits for a place, in the order of the waits. Completes with (error_code);
  /// errors: operation_not_supported on a concurrent executor, no_memory. Cancellation: the task is
  /// not started.
  template <class T, bool Throwing>
  auto async_spawn(task<T, Throwing> work,
                   std::source_location at = std::source_location::current());

  /// Stops the body and all children.
  void stop() noexcept { stop_all(); }

  /// Returns the number of children that have not ended.
  std::size_t size() const noexcept { return __atomic_load_n(&children_, __ATOMIC_RELAXED); }
  /// Returns whether size() has reached the limit.
  bool is_full() const noexcept { return size() >= how_.limit; }

 private:
  template <class Task>
  class spawn_operation;
  template <class Work>
  class child;

  task_group(detail::scope& outer, const group_options& how) noexcept
      : detail::join_point(&on_end), how_(how) {
    open(outer);
  }

  template <class Work>
  void add_child(Work&& work, const std::source_location& at) {
    using kind = child<std::decay_t<Work>>;
    struct block_guard {
      void* block;
      ~block_guard() {
        if (block != nullptr) detail::free_block(block);
      }
    } guard{detail::allocate_block(sizeof(kind))};
    auto* made = ::new (guard.block) kind(*this, static_cast<Work&&>(work), at);
    guard.block = nullptr;
    const auto frame = made->frame();
    adopt(*made, frame, frame.promise());
  }
  void check_room() const;
  void adopt(detail::group_child& made, std::coroutine_handle<> frame,
             detail::task_promise_base& promise);
  bool wait(detail::continuation coroutine);
  void rethrow_if_failed() const {
    if (error_) std::rethrow_exception(error_);
  }
  /// Returns whether the group has a grace period of its own.
  bool drains() const noexcept { return how_.drain_timeout != duration::min(); }
  bool start_draining() noexcept;
  void unlink(detail::group_child& gone) noexcept;
  void give_place() noexcept;
  static void on_end(detail::join_point& join, detail::branch& ended, detail::state_guard& held,
                     detail::stop_walk& stops) noexcept;
  static const detail::wait_kind waits_for_children;
  static detail::scope* tell_first(void* join, detail::scope& from) noexcept;
  static detail::scope* tell_next(void* join, detail::scope& told) noexcept;

  group_options how_;
  detail::deferred_init<detail::branch> body_;  // outlives the frame, whose own scopes know it
  detail::deferred_init<task<>> work_;
  detail::group_child* newest_ = nullptr;
  std::size_t children_ = 0;  // atomic; changes under the lock
  std::exception_ptr error_;
  detail::waiter_list waiters_;
  detail::deadline_timer drained_;
};

/// A child and the objects that keep its coroutine alive.
template <class Work>
class task_group::child final : public detail::group_child {
 public:
  template <class W>
  child(task_group& group, W&& work, const std::source_location& at)
      : detail::group_child(group, at),
        work_(static_cast<W&&>(work)),
        task_(detail::work_traits<Work>::make(work_)) {
    this->destroy_ = [](detail::group_child& self) noexcept {
      static_cast<child&>(self).~child();
      detail::free_block(&self);
    };
  }
  auto frame() const noexcept { return task_.frame_to_start(); }

 private:
  Work work_;
  typename detail::work_traits<Work>::task_type task_;
};

/// Waits for a place in a full group.
template <class Task>
class task_group::spawn_operation : public op<spawn_operation<Task>, void(error_code)>,
                                    private detail::waiter {
  using base = op<spawn_operation<Task>, void(error_code)>;

 public:
  static constexpr const char* waits_for = "a place in a task_group";

  spawn_operation(task_group& group, Task&& work, const std::source_location& at)
      : group_(&group), work_(static_cast<Task&&>(work)), at_(at) {}
  spawn_operation(spawn_operation&& other) noexcept(false)
      : base(static_cast<base&&>(other)),
        detail::waiter(static_cast<detail::waiter&&>(other)),
        group_(other.group_),
        work_(static_cast<Task&&>(other.work_)),
        at_(other.at_) {}
  ~spawn_operation() {
    if (is_listed()) [[unlikely]]
      group_->waiters_.leave(*this);
  }

  bool ready() {
    if (group_->is_full() || !group_->waiters_.empty()) return false;
    group_->add_child(static_cast<Task&&>(work_), at_);
    return this->finish(error_code());
  }
  void initiate(typename base::handler done) {
    done_ = static_cast<typename base::handler&&>(done);
    if (group_->outer().executor().table()->concurrent)
      return end(error::make_error_code(error::operation_not_supported));
    on_wake(&woken);
    group_->waiters_.join(*this);
  }
  void cancel() noexcept {
    if (group_->waiters_.leave(*this)) end(error::make_error_code(error::operation_aborted));
  }

 private:
  static void woken(detail::waiter& one, int result) noexcept {
    auto& self = static_cast<spawn_operation&>(one);
    if (result == dropped) {
      const typename base::handler gone(static_cast<typename base::handler&&>(self.done_));
    } else {
      self.take_place();
    }
  }
  void take_place() noexcept {
    try {
      group_->add_child(static_cast<Task&&>(work_), at_);
    } catch (const std::bad_alloc&) {
      return end(error::make_error_code(error::no_memory));
    }
    end(error_code());
  }
  void end(error_code ec) noexcept {
    typename base::handler done(static_cast<typename base::handler&&>(done_));
    done(ec);
  }

  task_group* group_;
  Task work_;
  std::source_location at_;
  typename base::handler done_;
};

/// Returns the operation that waits for a place.
template <class T, bool Throwing>
auto task_group::async_spawn(task<T, Throwing> work, std::source_location at) {
  return spawn_operation<task<T, Throwing>>(*this, static_cast<task<T, Throwing>&&>(work), at);
}

}  // namespace beck
