// SPDX-License-Identifier: BSL-1.0
// when_all, when_any and race over a range of tasks whose number is known at run time, and a race
// for the first success. Each costs a frame and one block for the branches of all tasks.
#pragma once

#include <beck/coro/collect_windowed.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/detail/awaited_result.hpp>
#include <beck/detail/functions.hpp>

namespace beck {

/// Thrown by first_success() when every task has failed. A light value; copies share the errors.
/// Thread: any.
class all_failed : public std::exception {
 public:
  /// Makes room for `count` errors. Throws std::bad_alloc.
  explicit all_failed(std::size_t count);
  all_failed(const all_failed& other) noexcept;
  all_failed& operator=(const all_failed& other) noexcept;
  ~all_failed() override;

  /// Adds an error. Requires, asserted, that size() is less than the `count` of the constructor.
  void add(std::exception_ptr error) noexcept;

  /// Returns the number of failures and the text of the first.
  const char* what() const noexcept override;
  /// Returns the number of errors.
  std::size_t size() const noexcept;
  /// Returns the error of the task at `index` of the range. Requires index < size(), asserted.
  const std::exception_ptr& operator[](std::size_t index) const noexcept;

 private:
  struct shared;
  shared* shared_;
};

namespace detail {

/// Throws std::invalid_argument.
[[noreturn]] void refuse_empty_range(const char* function);

/// Tasks side by side, in slots of the caller. `Decisive(branch, task)` says whether an end stops
/// the others.
template <class Task, class Decisive>
class range_branches : private join_point {
 public:
  class joining {
   public:
    explicit joining(range_branches& all) noexcept : all_(all) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      return all_.begin(coroutine, detail::scope_of(coroutine));
    }
    void await_resume() const noexcept {}

   private:
    range_branches& all_;
  };

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  explicit range_branches(slot_array<Task>& slots) noexcept : join_point(&on_end), slots_(slots) {}

  /// Which branch decided, or `none`.
  std::size_t decisive() const noexcept { return decisive_; }
  Task& decided() noexcept { return *slots_.begin()[decisive_].work_; }
  using join_point::outer;

 private:
  using slot = window_slot<Task>;

  bool begin(continuation coroutine, scope& environment) {
    open(environment);
    for (slot& one : slots_) {
      const auto frame = one.work_->frame_to_start();
      start(one.branch_.emplace(static_cast<join_point&>(*this), one), frame, frame.promise());
    }
    static constexpr wait_kind kind{&join_point::tell_first, Decisive::waits_for,
                                    wait_kind::leaf::join, &join_point::tell_next};
    return wait(coroutine, kind);
  }
  static void on_end(join_point& join, branch& ended, state_guard&, stop_walk& stops) noexcept {
    auto& self = static_cast<range_branches&>(join);
    slot& own = *static_cast<typename slot::running&>(ended).slot;
    if (self.decisive_ != none || !Decisive()(ended, *own.work_)) return;
    self.decisive_ = own.index_;
    self.stop_branches(stops, stop_reason::stop);
  }

  slot_array<Task>& slots_;
  std::size_t decisive_ = none;
};

/// A block of slots, with the tasks of a range in them.
template <class Task>
class range_slots {
 public:
  template <class Range>
  explicit range_slots(Range& tasks)
      : block_(tasks.size() * sizeof(window_slot<Task>) + 1), slots_(block_.get(), tasks.size()) {
    task_source<Range> source(tasks);
    for (window_slot<Task>& one : slots_) {
      one.index_ = count_++;
      one.work_.emplace(source.make());
    }
  }
  slot_array<Task>& all() noexcept { return slots_; }
  std::size_t size() const noexcept { return count_; }

 private:
  scratch_block block_;
  slot_array<Task> slots_;
  std::size_t count_ = 0;
};

/// Values that are made one by one.
template <class T>
class growing_list {
 public:
  explicit growing_list(std::size_t count) : block_(count * sizeof(T) + 1) {}
  growing_list(const growing_list&) = delete;
  growing_list& operator=(const growing_list&) = delete;
  ~growing_list() {
    while (count_ != 0) place(--count_)->~T();
  }
  template <class... Args>
  void add(Args&&... args) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    ::new (static_cast<void*>(place(count_))) T(static_cast<Args&&>(args)...);
    ++count_;
  }
  result_list<T> release() noexcept {
    T* const values = place(0);
    block_.release();
    return result_list<T>(values, std::exchange(count_, 0));
  }

 private:
  T* place(std::size_t i) const noexcept { return static_cast<T*>(block_.get()) + i; }

  scratch_block block_;
  std::size_t count_ = 0;
};

/// The result of when_any of a range: the index of the first, and the outcome of each, in their
/// order.
template <class T>
class when_any_list : public result_list<branch_outcome<T>> {
 public:
  when_any_list(std::size_t index, result_list<branch_outcome<T>>&& outcomes) noexcept
      : result_list<branch_outcome<T>>(static_cast<result_list<branch_outcome<T>>&&>(outcomes)),
        index_(index) {}
  /// Returns the index of the task that ended first.
  std::size_t index() const noexcept { return index_; }

 private:
  std::size_t index_;
};

struct range_failure_decides : failure_decides {
  template <class Task>
  bool operator()(const branch& ended, const Task&) const noexcept {
    return ended.failed();
  }
};
struct range_end_decides : any_end_decides {
  template <class Task>
  bool operator()(const branch&, const Task&) const noexcept {
    return true;
  }
};
/// A task succeeds if it does not throw, and if its value is no io_result with an error.
struct success_decides {
  static constexpr const char* waits_for = "first_success";
  template <class Task>
  bool operator()(const branch& ended, const Task& work) const noexcept {
    if (ended.failed()) return false;
    if constexpr (is_io_result<typename Task::value_type>) {
      return !work.frame().promise().peek().error();
    } else {
      return true;
    }
  }
};

}  // namespace detail

namespace functions {

/// Runs the tasks of a range side by side and returns their values in the order of the range: `auto
/// lengths = co_await when_all(std::move(work));`. If one throws the others are stopped; when all
/// have ended the first exception is thrown. A stop of the awaiting coroutine's scope stops all of
/// them. An empty range ends at once.
template <detail::task_range Range>
  requires(!std::is_void_v<detail::task_range_value<Range>>)
task<detail::result_list<detail::task_range_value<Range>>> when_all(Range tasks) {
  using branches = detail::range_branches<detail::range_task<Range>, detail::range_failure_decides>;
  detail::range_slots<detail::range_task<Range>> slots(tasks);
  branches all(slots.all());
  co_await typename branches::joining(all);
  if (all.decisive() != branches::none) all.decided().frame().promise().rethrow_if_failed();
  detail::growing_list<detail::task_range_value<Range>> values(slots.size());
  for (auto& one : slots.all()) values.add(one.work_->await_resume());
  co_return values.release();
}
/// As above, for tasks without values.
template <detail::task_range Range>
  requires std::is_void_v<detail::task_range_value<Range>>
task<> when_all(Range tasks) {
  using branches = detail::range_branches<detail::range_task<Range>, detail::range_failure_decides>;
  detail::range_slots<detail::range_task<Range>> slots(tasks);
  branches all(slots.all());
  co_await typename branches::joining(all);
  if (all.decisive() != branches::none) all.decided().await_resume();
}

/// Runs the tasks of a range until the first has ended, stops the others, and continues when those
/// have ended too: `auto r = co_await when_any(std::move(work));
/// use(std::move(r[r.index()]).value())`. Outcomes are those of when_any(a, b). Throws
/// std::invalid_argument for an empty range.
template <detail::task_range Range>
task<detail::when_any_list<detail::task_range_value<Range>>> when_any(Range tasks) {
  using value_type = detail::task_range_value<Range>;
  using branches = detail::range_branches<detail::range_task<Range>, detail::range_end_decides>;
  if (tasks.size() == 0) detail::refuse_empty_range("when_any");
  detail::range_slots<detail::range_task<Range>> slots(tasks);
  branches all(slots.all());
  co_await typename branches::joining(all);
  detail::growing_list<detail::branch_outcome<value_type>> outcomes(slots.size());
  for (auto& one : slots.all()) outcomes.add(*one.work_, one.branch_->interrupted());
  co_return detail::when_any_list<value_type>(all.decisive(), outcomes.release());
}

/// Runs the tasks of a range until the first has ended, stops the others, and, when those have
/// ended too, returns the value of the first or throws its exception. Values of the others are
/// dropped. Throws std::invalid_argument for an empty range.
template <detail::task_range Range>
task<detail::task_range_value<Range>> race(Range tasks) {
  using branches = detail::range_branches<detail::range_task<Range>, detail::range_end_decides>;
  if (tasks.size() == 0) detail::refuse_empty_range("race");
  detail::range_slots<detail::range_task<Range>> slots(tasks);
  branches all(slots.all());
  co_await typename branches::joining(all);
  co_return all.decided().await_resume();
}

/// Runs the tasks of a range until the first succeeds, stops the others, and returns its value when
/// those have ended too: `auto socket = co_await first_success(std::move(attempts));`. A task fails
/// if it throws or returns an io_result with an error. If all have failed, throws all_failed, with
/// all errors; after a stop of the awaiting coroutine's scope io_error (operation_aborted,
/// timeout). Values of the others are dropped. Throws std::invalid_argument for an empty range.
template <detail::task_range Range>
task<detail::task_range_value<Range>> first_success(Range tasks) {
  using branches = detail::range_branches<detail::range_task<Range>, detail::success_decides>;
  if (tasks.size() == 0) detail::refuse_empty_range("first_success");
  detail::range_slots<detail::range_task<Range>> slots(tasks);
  branches all(slots.all());
  co_await typename branches::joining(all);
  if (all.decisive() == branches::none) {
    if (all.outer().stop_requested())
      detail::throw_error(detail::make_error(all.outer().stop_result()), "first_success");
    all_failed failures(slots.size());
    for (auto& one : slots.all()) {
      auto& promise = one.work_->frame().promise();
      if constexpr (detail::is_io_result<detail::task_range_value<Range>>) {
        failures.add(promise.failed() ? promise.exception()
                                      : detail::exception_of(promise.peek().error()));
      } else {
        failures.add(promise.exception());
      }
    }
    throw failures;
  }
  co_return all.decided().await_resume();
}

}  // namespace functions

namespace detail {

/// A fixed number of tasks, as a range.
template <class T, std::size_t Count>
class task_array {
 public:
  template <class... Tasks>
  explicit task_array(Tasks&&... tasks) noexcept : tasks_{static_cast<Tasks&&>(tasks)...} {}
  task<T>* begin() noexcept { return tasks_; }
  task<T>* end() noexcept { return tasks_ + Count; }
  std::size_t size() const noexcept { return Count; }

 private:
  task<T> tasks_[Count];
};

namespace functions {

/// A task, whatever it was.
template <class T>
task<T> as_plain_task(task<T>&& work) noexcept {
  return static_cast<task<T>&&>(work);
}
template <class T>
task<T> as_plain_task(task<T, true> work) {
  co_return co_await static_cast<task<T, true>&&>(work);
}

}  // namespace functions

}  // namespace detail

namespace functions {

/// As above, for a fixed number of tasks and operations, which all have the same type of value.
template <detail::scoped_awaitable A, detail::scoped_awaitable... More>
auto first_success(A first, More... others) {
  auto head = detail::as_plain_task(detail::as_task(static_cast<A&&>(first)));
  using tasks = detail::task_array<typename decltype(head)::value_type, 1 + sizeof...(More)>;
  return beck::first_success(
      tasks(static_cast<decltype(head)&&>(head),
            detail::as_plain_task(detail::as_task(static_cast<More&&>(others)))...));
}

}  // namespace functions

}  // namespace beck
