// SPDX-License-Identifier: BSL-1.0
// Awaiting an operation or a task inside a scope of its own, in the frame of the coroutine that
// awaits: with_stop, shield, timeout and the like. They differ in the scope and its limit;
// everything else is here, once.
#pragma once

#include <coroutine>
#include <type_traits>

#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/token_scope.hpp>

namespace beck {

namespace detail {

/// An object that can be awaited inside a scope that is not the coroutine's own: the library's
/// operations, those that users derive from beck::op, and tasks.
template <class A>
concept scoped_awaitable = requires(A& a, continuation coroutine, scope& environment) {
  a.suspend_in(coroutine, environment);
};

namespace functions {

/// Starts `awaitable` for a waiter inside `environment`. Returns false if the waiter goes on at
/// once.
template <class A>
bool suspend_inside(A& awaitable, continuation waiting, scope& environment) {
  if constexpr (std::is_void_v<decltype(awaitable.suspend_in(waiting, environment))>) {
    awaitable.suspend_in(waiting, environment);
    return true;
  } else {
    return awaitable.suspend_in(waiting, environment);
  }
}
/// As above, for a suspended coroutine. A task that awaits a task is known to it.
template <class A, class Promise>
bool suspend_inside(A& awaitable, std::coroutine_handle<Promise> coroutine, scope& environment) {
  if constexpr (is_task<A> && std::is_base_of_v<task_promise_base, Promise>) {
    return awaitable.suspend_in(coroutine, environment, &coroutine.promise());
  } else {
    return functions::suspend_inside(awaitable, continuation(coroutine), environment);
  }
}

}  // namespace functions

/// An operation inside a scope of its own, with the operation's own result. `Limit` names the type
/// of the scope and says with set_on(scope) when it is to be stopped. An operation that is ready at
/// once needs no scope.
template <class Op, class Limit>
class [[nodiscard]] scoped_operation {
 public:
  using operation_in_scope = Op;  ///< for throws_error

  scoped_operation(Op&& inert, Limit limit)
      : limit_(static_cast<Limit&&>(limit)), op_(static_cast<Op&&>(inert)) {}
  /// Moves an inert one.
  scoped_operation(scoped_operation&& other) = default;
  scoped_operation& operator=(scoped_operation&&) = delete;

  bool await_ready() { return op_.await_ready(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    return suspend(coroutine, detail::scope_of(coroutine, at));
  }
  bool suspend_in(continuation coroutine, scope& environment) {
    return suspend(coroutine, environment);
  }
  decltype(auto) await_resume() {
    struct ending {
      // NOLINTNEXTLINE(bugprone-unused-return-value): the result of op_ tells the end
      ~ending() { self.end_scope(); }
      scoped_operation& self;
    } const after{*this};
    return op_.await_resume();
  }

 protected:
  /// Ends the scope. Returns its error if a stop of the scope has interrupted the awaited
  /// operation.
  error_code end_scope() noexcept {
    error_code ec;
    if (scope_ && scope_->interrupted()) ec = detail::make_error(scope_->stop_result());
    scope_.reset();
    return ec;
  }

 private:
  // Both outlive the awaited operation: its frames see the limit's value, its own scopes the scope.
  Limit limit_;
  deferred_init<typename Limit::scope_type> scope_;

 protected:
  Op op_;

 private:
  template <class Waiting>
  bool suspend(Waiting waiting, scope& environment) {
    limit_.enter(scope_, environment);
    limit_.set_on(*scope_);
    return detail::suspend_inside(op_, waiting, *scope_);
  }
};

/// The result of a task inside a scope of its own.
template <class T>
struct scoped_result {
  using type = io_result<T>;
};
template <>
struct scoped_result<void> {
  using type = io_result<>;
};
template <class... T>
struct scoped_result<io_result<T...>> {
  using type = io_result<T...>;
};

/// A task inside a scope of its own: returns io_result<T>, or the task's own if that is one. If a
/// stop of the scope interrupted it, the result has that error, beside the value that the task
/// nevertheless returned; if the task ended by throwing that error, the value is a
/// default-constructed one. Other exceptions pass through.
template <class T, bool Throwing, class Limit>
class [[nodiscard]] scoped_task : public scoped_operation<task<T, Throwing>, Limit> {
  using base = scoped_operation<task<T, Throwing>, Limit>;
  using result_type = typename scoped_result<T>::type;

 public:
  using base::base;

  bool await_ready() const noexcept { return false; }
  result_type await_resume() {
    try {
      return ended();
    } catch (...) {
      const error_code failure = caught_code();
      const error_code ec = this->end_scope();
      if (!ec || failure != ec) throw;
      result_type result;
      result.error_ = ec;
      return result;
    }
  }

 private:
  result_type ended() {
    if constexpr (std::is_void_v<T>) {
      this->op_.await_resume();
      return result_type(this->end_scope());
    } else if constexpr (std::is_same_v<T, result_type>) {
      result_type result = this->op_.await_resume();
      const error_code ec = this->end_scope();
      if (!result.error_) result.error_ = ec;
      return result;
    } else {
      T value = this->op_.await_resume();
      return result_type(this->end_scope(), static_cast<T&&>(value));
    }
  }
};

namespace functions {

/// `awaitable` in a scope of the kind that `limit` says.
template <scoped_awaitable Op, class Limit>
  requires(!is_task<Op>)
scoped_operation<Op, Limit> within(Limit limit, Op&& awaitable) {
  return {static_cast<Op&&>(awaitable), static_cast<Limit&&>(limit)};
}
template <class T, bool Throwing, class Limit>
scoped_task<T, Throwing, Limit> within(Limit limit, task<T, Throwing>&& work) {
  return {static_cast<task<T, Throwing>&&>(work), static_cast<Limit&&>(limit)};
}

}  // namespace functions

/// The limit of with_stop().
class token_limit {
 public:
  using scope_type = token_scope;
  explicit token_limit(stop_token token) noexcept : token_(static_cast<stop_token&&>(token)) {}
  static void enter(deferred_init<token_scope>& place, scope& outer) noexcept {
    place.emplace(outer);
  }
  void set_on(token_scope& inner) const { inner.stop_with(token_); }

 private:
  stop_token token_;
};

/// The limit of shield(): a scope that hears of no stop.
class no_limit {
 public:
  using scope_type = shielding_scope;
  static void enter(deferred_init<shielding_scope>& place, scope& outer) noexcept {
    place.emplace(outer);
  }
  static void set_on(scope&) noexcept {}
};

}  // namespace detail

namespace functions {

/// Ends an operation, or a task and everything that it awaits, when a stop is requested through
/// `token`, from any thread: operations end with operation_aborted, results that are there are
/// delivered. A task returns io_result<T>. Memory: one recycled block while it waits.
template <detail::scoped_awaitable A>
auto with_stop(stop_token token, A awaitable) {
  return detail::within(detail::token_limit(static_cast<stop_token&&>(token)),
                        static_cast<A&&>(awaitable));
}

/// Runs an operation or a task to its end although a stop was requested around it: for clean-up
/// that a stopped task still has to do. Combine it with a time limit. A task returns io_result<T>.
template <detail::scoped_awaitable A>
auto shield(A awaitable) {
  return detail::within(detail::no_limit(), static_cast<A&&>(awaitable));
}

}  // namespace functions

}  // namespace beck
