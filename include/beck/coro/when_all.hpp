// SPDX-License-Identifier: BSL-1.0
// when_all and when_any: a fixed number of tasks side by side, in the frame of the coroutine that
// awaits them. Nothing is allocated but the tasks' own frames, and nothing is left running: every
// branch has ended before the parent goes on.
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include <beck/coro/within.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/join.hpp>

namespace beck {

namespace detail {

/// Stands for the result of a task<void>.
struct void_result {
  friend bool operator==(void_result, void_result) noexcept { return true; }
};
template <class T>
using value_or_void_result = std::conditional_t<std::is_void_v<T>, void_result, T>;

/// Several values of several types: a light tuple, for structured bindings and get<I>().
template <class... T>
class result_pack;
template <>
class result_pack<> {};
template <class First, class... Rest>
class result_pack<First, Rest...> {
 public:
  result_pack(First&& first, result_pack<Rest...>&& rest)
      : first_(static_cast<First&&>(first)), rest_(static_cast<result_pack<Rest...>&&>(rest)) {}

  template <std::size_t I>
  auto& get() & noexcept {
    if constexpr (I == 0) {
      return first_;
    } else {
      return rest_.template get<I - 1>();
    }
  }
  template <std::size_t I>
  const auto& get() const& noexcept {
    return const_cast<result_pack&>(*this).template get<I>();
  }
  template <std::size_t I>
  auto&& get() && noexcept {
    return std::move(this->template get<I>());
  }
  result_pack<Rest...>& rest() noexcept { return rest_; }

 private:
  First first_;
  [[no_unique_address]] result_pack<Rest...> rest_;
};

/// How one of several tasks ended.
template <class T>
class branch_outcome {
 public:
  template <class Task>
  branch_outcome(Task& work, bool interrupted) : interrupted_(interrupted) {
    try {
      if constexpr (std::is_void_v<T>) {
        work.await_resume();
      } else {
        value_.emplace(work.await_resume());
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  branch_outcome(branch_outcome&& other) noexcept(
      std::is_nothrow_move_constructible_v<value_or_void_result<T>>)
      : error_(static_cast<std::exception_ptr&&>(other.error_)), interrupted_(other.interrupted_) {
    if (other.value_) value_.emplace(static_cast<value_or_void_result<T>&&>(*other.value_));
  }
  branch_outcome& operator=(branch_outcome&&) = delete;

  /// Returns whether a stop has ended an operation in it. If not, it finished by itself, although
  /// it may not have been the first.
  bool interrupted() const noexcept { return interrupted_; }
  /// Returns whether the task ended with an exception.
  bool failed() const noexcept { return error_ != nullptr; }
  /// Returns the exception, or nullptr.
  std::exception_ptr exception() const noexcept { return error_; }

  /// Returns the value of the task, or throws its exception.
  T value() && {
    if (error_) std::rethrow_exception(error_);
    if constexpr (!std::is_void_v<T>) return static_cast<T&&>(*value_);
  }

 private:
  deferred_init<value_or_void_result<T>> value_;
  std::exception_ptr error_;
  bool interrupted_;
};

/// Tasks and their branches, in the frame of the parent.
template <class... Tasks>
class branch_list;
template <>
class branch_list<> {
 public:
  static void start(join_point&) noexcept {}
  static std::size_t index_of(const branch&, std::size_t at) noexcept { return at; }
  static void rethrow_from(std::size_t) noexcept {}
  static result_pack<> values() noexcept { return {}; }
  static result_pack<> outcomes() noexcept { return {}; }
};
template <class T, bool Throwing, class... Rest>
class branch_list<task<T, Throwing>, Rest...> {
 public:
  explicit branch_list(task<T, Throwing>&& work, Rest&&... rest)
      : work_(static_cast<task<T, Throwing>&&>(work)), rest_(static_cast<Rest&&>(rest)...) {}

  void start(join_point& join) {
    const auto frame = work_.frame_to_start();
    join.start(branch_.emplace(join), frame, frame.promise());
    rest_.start(join);
  }
  std::size_t index_of(const branch& which, std::size_t at = 0) const noexcept {
    return branch_ && &*branch_ == &which ? at : rest_.index_of(which, at + 1);
  }
  void rethrow_from(std::size_t index) {
    if (index == 0) {
      work_.frame().promise().rethrow_if_failed();
    } else {
      rest_.rethrow_from(index - 1);
    }
  }
  auto values() {
    using value_type = value_or_void_result<T>;
    if constexpr (std::is_void_v<T>) {
      work_.await_resume();
      return pack(void_result(), rest_.values());
    } else {
      value_type value(work_.await_resume());
      return pack(static_cast<value_type&&>(value), rest_.values());
    }
  }
  auto outcomes() {
    branch_outcome<T> outcome(work_, branch_->interrupted());
    return pack(static_cast<branch_outcome<T>&&>(outcome), rest_.outcomes());
  }

 private:
  template <class First, class... More>
  static result_pack<First, More...> pack(First&& first, result_pack<More...>&& more) {
    return {static_cast<First&&>(first), static_cast<result_pack<More...>&&>(more)};
  }

  deferred_init<branch> branch_;  // outlives the frame, whose own scopes know it
  task<T, Throwing> work_;
  [[no_unique_address]] branch_list<Rest...> rest_;
};

/// The awaitable part that when_all, when_any and race share: a Decisive object, called with a
/// branch, says whether the end of that branch stops the others. The first of those is remembered.
template <class Decisive, class... Tasks>
class [[nodiscard]] branches_operation : private join_point {
 public:
  explicit branches_operation(Tasks&&... tasks)
      : join_point(&on_end), branches_(static_cast<Tasks&&>(tasks)...) {}
  /// Moves an inert one.
  branches_operation(branches_operation&& other) noexcept(false)
      : join_point(&on_end), branches_(static_cast<branch_list<Tasks...>&&>(other.branches_)) {}
  branches_operation& operator=(branches_operation&&) = delete;
  ~branches_operation() = default;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    return suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  bool suspend_in(continuation coroutine, scope& environment) {
    open(environment);
    branches_.start(*this);
    static constexpr wait_kind kind{&join_point::tell_first, Decisive::waits_for,
                                    wait_kind::leaf::join, &join_point::tell_next};
    return wait(coroutine, kind);
  }

 protected:
  static constexpr std::size_t none = sizeof...(Tasks);

  /// Which branch decided; `none`: no one did.
  std::size_t decisive() const noexcept { return decisive_; }

  branch_list<Tasks...> branches_;
  [[no_unique_address]] Decisive decides_;

 private:
  static void on_end(join_point& join, branch& ended, state_guard&, stop_walk& stops) noexcept {
    auto& self = static_cast<branches_operation&>(join);
    if (self.decisive_ != none || !self.decides_(ended)) return;
    self.decisive_ = self.branches_.index_of(ended);
    self.stop_branches(stops, stop_reason::stop);
  }

  std::size_t decisive_ = none;
};

struct failure_decides {
  static constexpr const char* waits_for = "when_all";
  bool operator()(const branch& ended) const noexcept { return ended.failed(); }
};
struct any_end_decides {
  static constexpr const char* waits_for = "when_any";
  bool operator()(const branch&) const noexcept { return true; }
};

template <class... Tasks>
class [[nodiscard]] when_all_operation : public branches_operation<failure_decides, Tasks...> {
 public:
  using branches_operation<failure_decides, Tasks...>::branches_operation;
  auto await_resume() {
    this->branches_.rethrow_from(this->decisive());
    return this->branches_.values();
  }
};

/// The result of when_any: the index of the first, and the outcome of each, for structured bindings
/// and get<I>().
template <class... Outcomes>
class when_any_result : public result_pack<Outcomes...> {
 public:
  /// For the library.
  when_any_result(std::size_t index, result_pack<Outcomes...>&& outcomes)
      : result_pack<Outcomes...>(static_cast<result_pack<Outcomes...>&&>(outcomes)),
        index_(index) {}
  /// Returns the index of the awaitable that ended first.
  std::size_t index() const noexcept { return index_; }

 private:
  std::size_t index_;
};

template <class... Tasks>
class [[nodiscard]] when_any_operation : public branches_operation<any_end_decides, Tasks...> {
 public:
  using branches_operation<any_end_decides, Tasks...>::branches_operation;
  auto await_resume() { return with_index(this->branches_.outcomes()); }

 private:
  template <class... Outcomes>
  when_any_result<Outcomes...> with_index(result_pack<Outcomes...>&& outcomes) {
    return {this->decisive(), static_cast<result_pack<Outcomes...>&&>(outcomes)};
  }
};

namespace functions {

/// The value of the outcome at `index`; all have the same type.
template <class Outcome, class... More>
auto value_at(result_pack<Outcome, More...>& outcomes, std::size_t index)
    -> decltype(static_cast<Outcome&&>(outcomes.template get<0>()).value()) {
  if (index == 0) return static_cast<Outcome&&>(outcomes.template get<0>()).value();
  if constexpr (sizeof...(More) != 0) return functions::value_at(outcomes.rest(), index - 1);
  std::terminate();  // the index is that of one of them
}

/// A task as it is, and any other awaitable as the task that awaits it.
template <class T, bool Throwing>
task<T, Throwing> as_task(task<T, Throwing>&& work) noexcept {
  return static_cast<task<T, Throwing>&&>(work);
}
template <scoped_awaitable A>
  requires(!is_task<A>)
auto as_task(A awaitable) -> task<std::decay_t<decltype(awaitable.await_resume())>> {
  co_return co_await static_cast<A&&>(awaitable);
}

}  // namespace functions

}  // namespace detail

namespace functions {

/// Runs all awaitables side by side and returns their values, void_result for void: `auto [a, b] =
/// co_await when_all(first(), second());`. If one throws, the others are stopped; when all have
/// ended the first exception is thrown. Takes tasks, and operations (each of those costs a frame).
/// A stop of the awaiting coroutine's scope stops all of them.
template <detail::scoped_awaitable... A>
  requires(sizeof...(A) > 0)
auto when_all(A... awaitables) {
  return detail::when_all_operation<decltype(detail::as_task(static_cast<A&&>(awaitables)))...>(
      detail::as_task(static_cast<A&&>(awaitables))...);
}

/// Runs all awaitables until the first has ended, stops the others, and continues when those have
/// ended too: `auto r = co_await when_any(a(), b()); if (r.index() == 0) use(r.get<0>());`. Each
/// outcome says whether it was interrupted; one that finished nevertheless has its value, so
/// nothing that was read or accepted is dropped. Exceptions are kept in the outcomes.
template <detail::scoped_awaitable... A>
  requires(sizeof...(A) > 0)
auto when_any(A... awaitables) {
  return detail::when_any_operation<decltype(detail::as_task(static_cast<A&&>(awaitables)))...>(
      detail::as_task(static_cast<A&&>(awaitables))...);
}

/// Runs all awaitables until the first has ended, stops the others, and, when those have ended too,
/// returns the value of the first or throws its exception. Values of the others are dropped: if
/// they must not be lost, use when_any. Requires that all have the same type of value.
template <detail::scoped_awaitable A, detail::scoped_awaitable... More>
auto race(A first, More... others)
    -> task<decltype(detail::as_task(static_cast<A&&>(first)).await_resume())> {
  auto all = beck::when_any(static_cast<A&&>(first), static_cast<More&&>(others)...);
  auto ended = co_await static_cast<decltype(all)&&>(all);
  co_return detail::value_at(ended, ended.index());
}

}  // namespace functions

}  // namespace beck

/// Makes structured bindings of results work.
template <class... T>
struct std::tuple_size<beck::detail::result_pack<T...>>
    : std::integral_constant<std::size_t, sizeof...(T)> {};
/// As above.
template <std::size_t I, class First, class... Rest>
struct std::tuple_element<I, beck::detail::result_pack<First, Rest...>>
    : std::tuple_element<I - 1, beck::detail::result_pack<Rest...>> {};
/// As above.
template <class First, class... Rest>
struct std::tuple_element<0, beck::detail::result_pack<First, Rest...>> {
  using type = First;
};
