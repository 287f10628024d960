// SPDX-License-Identifier: BSL-1.0
// collect_windowed and for_each_limited: many tasks, of which a limited number runs at a time. The
// window slides: when one has ended the next one starts. Everything has ended before the parent
// continues.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>
#include <beck/detail/block.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/join.hpp>

namespace beck {

namespace detail {

/// The values of several tasks, in the order of the tasks. Move-only.
template <class T>
class result_list {
 public:
  using value_type = T;

  result_list() noexcept = default;
  /// Takes over a block that begins with so many values.
  result_list(T* values, std::size_t count) noexcept : values_(values), count_(count) {}
  result_list(result_list&& other) noexcept
      : values_(std::exchange(other.values_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  result_list& operator=(result_list&& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~result_list() {
    for (std::size_t i = 0; i < count_; ++i) values_[i].~T();
    if (values_ != nullptr) detail::free_block(values_);
  }

  /// Returns the number of values.
  std::size_t size() const noexcept { return count_; }
  /// Returns whether there are no values.
  bool empty() const noexcept { return count_ == 0; }
  /// Returns the first value's position.
  T* begin() noexcept { return values_; }
  /// Returns the position behind the last value.
  T* end() noexcept { return values_ + count_; }
  /// Returns the first value's position.
  const T* begin() const noexcept { return values_; }
  /// Returns the position behind the last value.
  const T* end() const noexcept { return values_ + count_; }
  /// Returns value `i`. Requires i < size(), asserted.
  T& operator[](std::size_t i) noexcept {
    BECK_ASSERT(i < count_, "no value has this index");
    return values_[i];
  }
  /// As above.
  const T& operator[](std::size_t i) const noexcept {
    BECK_ASSERT(i < count_, "no value has this index");
    return values_[i];
  }

 private:
  T* values_ = nullptr;
  std::size_t count_ = 0;
};

/// Throws std::invalid_argument.
[[noreturn]] void refuse_empty_window();

/// Where a task of a window runs; used for one after the other.
template <class Task>
class window_slot {
 public:
  struct running : branch {
    running(join_point& join, window_slot& place) noexcept : branch(join), slot(&place) {}
    window_slot* slot;
  };

  deferred_init<running> branch_;  // outlives the frame, whose own scopes know it
  deferred_init<Task> work_;
  std::size_t index_ = 0;
  window_slot* next_ = nullptr;  // that is free
};

/// Slots in memory that the owner provides, and its lifetime.
template <class Task>
class slot_array {
 public:
  slot_array(void* memory, std::size_t count) noexcept
      : slots_(static_cast<window_slot<Task>*>(memory)), count_(count) {
    for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(slots_ + i)) slot();
  }
  slot_array(const slot_array&) = delete;
  slot_array& operator=(const slot_array&) = delete;
  ~slot_array() {
    for (slot& one : *this) one.~slot();
  }
  window_slot<Task>* begin() noexcept { return slots_; }
  window_slot<Task>* end() noexcept { return slots_ + count_; }

 private:
  using slot = window_slot<Task>;
  slot* slots_;
  std::size_t count_;
};

/// The window itself, in the frame of the coroutine that awaits it. Its tasks are made one at a
/// time, by one thread at a time, and never under its lock. Source has
///   bool more();                            whether there is another task
///   Task make();                            the next one; may throw
///   void keep(std::size_t index, Task&);    it has ended with a value; may throw; side by side
///                                           with other indexes
template <class Task, class Source>
class task_window : private join_point {
 public:
  class joining {
   public:
    explicit joining(task_window& window) noexcept : window_(window) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      return window_.begin(coroutine, detail::scope_of(coroutine));
    }
    void await_resume() const { window_.check(); }

   private:
    task_window& window_;
  };

  task_window(slot_array<Task>& slots, Source& source) noexcept
      : join_point(&on_end), slots_(slots), source_(source) {}

 private:
  using slot = window_slot<Task>;

  bool begin(continuation coroutine, scope& environment) {
    open(environment);
    for (slot& free : slots_) put_back(free);
    make_tasks();
    static constexpr wait_kind kind{&join_point::tell_first, "a window of tasks",
                                    wait_kind::leaf::join, &join_point::tell_next};
    return wait(coroutine, kind);
  }

  void check() {
    if (error_) std::rethrow_exception(error_);
    if (cut_) detail::throw_error(detail::make_error(outer().stop_result()), "a window of tasks");
  }

  void put_back(slot& free) noexcept {
    const state_guard guard(lock());
    free.next_ = free_;
    free_ = &free;
  }
  /// Returns a slot for the next task; nullptr if another thread makes tasks, or no more are made.
  slot* take_free() noexcept {
    const state_guard guard(lock());
    making_ = free_ != nullptr && !error_;
    return making_ ? std::exchange(free_, free_->next_) : nullptr;
  }
  bool begin_making() noexcept {
    const state_guard guard(lock());
    return !std::exchange(making_, true);
  }
  void make_tasks() noexcept {
    if (!begin_making()) return;
    while (slot* const free = take_free()) {
      if (!start_next(*free)) return;  // and nobody makes any more
    }
  }
  /// False: there is none to start.
  bool start_next(slot& free) noexcept {
    about_to_call_out();
    try {
      if (!source_.more()) return false;
      cut_ = outer().stop_requested();
      if (cut_) return false;
      free.index_ = started_++;
      free.work_.emplace(source_.make());
    } catch (...) {
      fail(std::current_exception());
      return false;
    }
    const auto frame = free.work_->frame_to_start();
    auto& made = free.branch_.emplace(static_cast<join_point&>(*this), free);
    start_later(made, frame, frame.promise());
    return true;
  }

  void fail(std::exception_ptr error) noexcept {
    {
      const state_guard guard(lock());
      if (error_) return;
      error_ = static_cast<std::exception_ptr&&>(error);
    }
    stop_all();
  }

  static void on_end(join_point& join, branch& ended, state_guard& held, stop_walk&) noexcept {
    auto& self = static_cast<task_window&>(join);
    slot& free = *static_cast<typename slot::running&>(ended).slot;
    held.unlock();
    about_to_call_out();
    std::exception_ptr error = ended.exception();
    if (!error) {
      try {
        self.source_.keep(free.index_, *free.work_);
      } catch (...) {
        error = std::current_exception();
      }
    }
    free.work_.reset();
    free.branch_.reset();
    if (error) self.fail(static_cast<std::exception_ptr&&>(error));
    self.put_back(free);
    self.make_tasks();
  }

  slot_array<Task>& slots_;
  Source& source_;
  slot* free_ = nullptr;
  std::size_t started_ = 0;
  std::exception_ptr error_;
  bool making_ = false;  // a thread makes tasks, or no more are made
  bool cut_ = false;     // stopped before all had started
};

/// A block for the time of a coroutine.
class scratch_block {
 public:
  explicit scratch_block(std::size_t bytes) : memory_(allocate_block(bytes)) {}
  scratch_block(const scratch_block&) = delete;
  scratch_block& operator=(const scratch_block&) = delete;
  ~scratch_block() {
    if (memory_ != nullptr) free_block(memory_);
  }
  void* get(std::size_t offset = 0) const noexcept { return static_cast<char*>(memory_) + offset; }
  void release() noexcept { memory_ = nullptr; }

 private:
  void* memory_;
};

/// Tasks of a range.
template <class Range>
class task_source {
 public:
  using task_type = std::decay_t<decltype(*std::declval<Range&>().begin())>;
  using value_type = typename task_type::value_type;

  explicit task_source(Range& tasks) : at_(tasks.begin()), end_(tasks.end()) {}
  bool more() { return at_ != end_; }
  task_type make() {
    task_type next(static_cast<task_type&&>(*at_));
    ++at_;
    return next;
  }

 private:
  decltype(std::declval<Range&>().begin()) at_;
  decltype(std::declval<Range&>().end()) end_;
};

/// A source for void tasks.
template <class Base>
class valueless_source : public Base {
 public:
  using Base::Base;
  void keep(std::size_t, typename Base::task_type& ended) { ended.await_resume(); }
};

/// A source whose values go to a list; those that are there, until then, are destroyed with it.
template <class Base>
class keeping_source : public Base {
 public:
  using value_type = typename Base::value_type;

  template <class Range>
  keeping_source(Range& tasks, void* values, bool* done, std::size_t count)
      : Base(tasks), values_(static_cast<value_type*>(values)), done_(done), count_(count) {
    for (std::size_t i = 0; i < count; ++i) done[i] = false;
  }
  keeping_source(const keeping_source&) = delete;
  keeping_source& operator=(const keeping_source&) = delete;
  ~keeping_source() {
    for (std::size_t i = 0; i < count_; ++i) {
      if (done_[i]) values_[i].~value_type();
    }
  }

  void keep(std::size_t index, typename Base::task_type& ended) {
    ::new (static_cast<void*>(values_ + index)) value_type(ended.await_resume());
    done_[index] = true;
  }
  /// All are there, in a block that begins with them.
  result_list<value_type> release() noexcept {
    return result_list<value_type>(values_, std::exchange(count_, 0));
  }

 private:
  value_type* values_;
  bool* done_;
  std::size_t count_;
};

constexpr std::size_t aligned_end(std::size_t bytes) noexcept {
  return (bytes + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) *
         alignof(std::max_align_t);
}

/// A range of tasks: vectors, arrays, spans of them.
template <class R>
concept task_range = requires(R& range) {
  range.end();
  range.size();
  requires is_task<std::decay_t<decltype(*range.begin())>>;
};
// Not through task_source: the compiler may look at these before it has asked whether R is a range.
template <class R>
using range_task = std::decay_t<decltype(*std::declval<R&>().begin())>;
template <class R>
using task_range_value = typename range_task<R>::value_type;

}  // namespace detail

namespace functions {

/// Runs the tasks of a range, at most `window` at a time and in their order: the next one starts
/// when any has ended. Returns their values in the order of the range. If one throws, those that
/// run are stopped and no other starts; when all have ended the first exception is thrown. A stop
/// of the awaiting coroutine's scope does the same; if tasks were left over, io_error is thrown
/// with the reason (operation_aborted, timeout). Tasks that never started are destroyed with the
/// range.
/// Throws std::invalid_argument for a window of 0. Memory: one block for the values and the state
/// of running tasks, besides frames.
template <detail::task_range Range>
  requires(!std::is_void_v<detail::task_range_value<Range>>)
task<detail::result_list<detail::task_range_value<Range>>> collect_windowed(std::size_t window,
                                                                            Range tasks) {
  using source_type = detail::keeping_source<detail::task_source<Range>>;
  using task_type = typename source_type::task_type;
  using value_type = typename source_type::value_type;
  static_assert(alignof(value_type) <= alignof(std::max_align_t));
  if (window == 0) detail::refuse_empty_window();
  const std::size_t count = tasks.size();
  const std::size_t running_max = window < count ? window : count;
  const std::size_t slots_at = detail::aligned_end(count * sizeof(value_type));
  const std::size_t done_at = slots_at + running_max * sizeof(detail::window_slot<task_type>);
  detail::scratch_block block(done_at + count + 1);
  source_type source(tasks, block.get(), static_cast<bool*>(block.get(done_at)), count);
  {
    detail::slot_array<task_type> slots(block.get(slots_at), running_max);
    detail::task_window<task_type, source_type> all(slots, source);
    co_await typename detail::task_window<task_type, source_type>::joining(all);
  }
  block.release();
  co_return source.release();
}

/// As above, for tasks without values.
template <detail::task_range Range>
  requires std::is_void_v<detail::task_range_value<Range>>
task<> collect_windowed(std::size_t window, Range tasks) {
  using source_type = detail::valueless_source<detail::task_source<Range>>;
  using task_type = typename source_type::task_type;
  if (window == 0) detail::refuse_empty_window();
  const std::size_t count = tasks.size();
  const std::size_t running_max = window < count ? window : count;
  const detail::scratch_block block(running_max * sizeof(detail::window_slot<task_type>) + 1);
  source_type source(tasks);
  detail::slot_array<task_type> slots(block.get(), running_max);
  detail::task_window<task_type, source_type> all(slots, source);
  co_await typename detail::task_window<task_type, source_type>::joining(all);
}

}  // namespace functions

namespace detail {

/// Elements of a range, and the function that makes a task of each.
template <class Range, class F>
class element_source {
 public:
  using task_type = std::decay_t<decltype(std::declval<F&>()(*std::declval<Range&>().begin()))>;
  static_assert(is_task<task_type> && std::is_void_v<typename task_type::value_type>,
                "for_each_limited needs a function that returns a task<> for each element");

  element_source(Range& elements, F& function)
      : at_(elements.begin()), end_(elements.end()), function_(function) {}
  bool more() { return at_ != end_; }
  task_type make() {
    task_type next(function_(*at_));
    ++at_;
    return next;
  }

 private:
  decltype(std::declval<Range&>().begin()) at_;
  decltype(std::declval<Range&>().end()) end_;
  F& function_;
};

namespace functions {

/// The coroutine of for_each_limited(): `Range` is a reference for a range of the caller's.
template <class Range, class F>
task<> run_limited(std::size_t limit, Range elements, F function) {
  using source_type = valueless_source<element_source<Range, F>>;
  using task_type = typename source_type::task_type;
  if (limit == 0) refuse_empty_window();
  if constexpr (requires { elements.size(); }) {
    if (const std::size_t count = elements.size(); count < limit) limit = count;
  }
  const scratch_block block(limit * sizeof(window_slot<task_type>) + 1);
  source_type source(elements, function);
  slot_array<task_type> slots(block.get(), limit);
  task_window<task_type, source_type> all(slots, source);
  co_await typename task_window<task_type, source_type>::joining(all);
}

}  // namespace functions

}  // namespace detail

namespace functions {

/// Calls `function(element)` for each element of a range (any with begin() and end(), a generator
/// too) and runs the tasks that it returns, at most `limit` at a time; the next one is made when
/// any has ended. A range that is an lvalue is referred to, must outlive the task, and its own
/// elements are passed; a temporary or moved one is kept until the end. So is the function. Errors,
/// stops and memory: as collect_windowed().
/// Requires that `function` returns a task<>, which, if the range makes its elements one by one (a
/// generator), does not refer to its element.
template <class Range, class F>
task<> for_each_limited(std::size_t limit, Range&& elements, F function) {
  return detail::run_limited<Range>(limit, static_cast<Range&&>(elements),
                                    static_cast<F&&>(function));
}

}  // namespace functions

}  // namespace beck
