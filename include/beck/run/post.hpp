// SPDX-License-Identifier: BSL-1.0
// post, dispatch and defer: passing a callable to an executor, or waiting for a turn there. A
// callable and its queue entry share one recycled block, which is free again before the callable
// runs.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/schedule_operation.hpp>

namespace beck {

namespace detail {

/// A posted callable: one block, moved out and freed before it is called.
template <class F>
class posted_function : public queue_entry {
 public:
  template <class G>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): stays where it was made
  explicit posted_function(G&& function) : function_(static_cast<G&&>(function)) {
    run = &call;
  }

 private:
  static void call(queue_entry* entry, runner* where) {
    auto* self = static_cast<posted_function*>(entry);
    F function(static_cast<F&&>(self->function_));
    detail::release_for_handler(self, function);
    if (where == nullptr) return;
    ++where->counters.delivered;
    static_cast<F&&>(function)();
  }

  F function_;
};

namespace functions {

/// Queues `function` on `executor` without looking at its associated properties.
template <native_executor E, class F>
[[gnu::always_inline]] inline void post_function(const E& executor, F&& function) {
  using entry = posted_function<std::decay_t<F>>;
  executor.table()->post(executor.target(),
                         detail::make_for_handler<entry>(function, static_cast<F&&>(function)));
}

/// Calls `function` now if that may be inside `executor`, else queues it there.
template <native_executor E, class F>
void call_or_post(const E& executor, F&& function) {
  const executor_entry inside(executor.table(), executor.target());
  if (inside) {
    static_cast<void>(static_cast<F&&>(function)());
  } else {
    functions::post_function(executor, static_cast<F&&>(function));
  }
}

}  // namespace functions

/// The functions of an executor in Asio's older form, as members with an allocator, which is not
/// used.
template <class Executor>
class queueing_members {
  friend Executor;
  constexpr queueing_members() noexcept = default;

 public:
  /// Queues `function`.
  template <class F, class Allocator>
  void post(F&& function, const Allocator&) const {
    functions::post_function(self(), static_cast<F&&>(function));
  }
  /// As post().
  template <class F, class Allocator>
  void defer(F&& function, const Allocator&) const {
    functions::post_function(self(), static_cast<F&&>(function));
  }
  /// Calls `function` in this call if the caller is inside the executor, else queues it.
  template <class F, class Allocator>
  void dispatch(F&& function, const Allocator&) const {
    self().execute(static_cast<F&&>(function));
  }
  friend bool operator==(const queueing_members&, const queueing_members&) noexcept = default;

 private:
  const Executor& self() const noexcept { return static_cast<const Executor&>(*this); }
};

/// A callable that has to run on its associated executor in the end, wherever it was queued first.
/// Until it has been called it counts as outstanding work there.
template <class F>
class to_associated {
 public:
  explicit to_associated(F function)
      : function_(static_cast<F&&>(function)), target_(beck::get_associated_executor(function_)) {
    if (target_) target_.on_work_started();
  }
  to_associated(to_associated&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
      : function_(static_cast<F&&>(other.function_)),
        target_(static_cast<any_io_executor&&>(other.target_)) {}
  to_associated& operator=(to_associated&&) = delete;
  ~to_associated() {
    if (target_) target_.on_work_finished();
  }

  const F& wrapped_handler() const noexcept { return function_; }

  void operator()() {
    if (target_) {
      detail::call_or_post(target_, static_cast<F&&>(function_));
    } else {
      static_cast<F&&>(function_)();
    }
  }

 private:
  F function_;
  any_io_executor target_;
};

inline constexpr char no_executor_for_function[] =
    "post, dispatch, defer or execute outside of every context, or with an empty executor, and the "
    "function has no executor either";

/// Starts a reschedule with a handler instead of a coroutine.
template <>
struct callback_start<schedule_operation> {
  template <class F>
  static void start(schedule_operation&& op, F&& function) {
    using callable = std::decay_t<F>;
    if constexpr (has_associated_executor<callable>) {
      const any_io_executor through =
          op.through() ? op.through() : any_io_executor(beck::get_associated_executor(function));
      go(through, op.may_skip(), to_associated<callable>(static_cast<F&&>(function)));
    } else {
      go(op.through(), op.may_skip(), static_cast<F&&>(function));
    }
  }
  static const any_io_executor& executor(const schedule_operation& op) noexcept {
    return op.through();
  }

 private:
  template <class F>
  static void go(const any_io_executor& through, bool may_skip, F&& function) {
    BECK_ASSERT(through, no_executor_for_function);
    if (may_skip) {
      detail::call_or_post(through, static_cast<F&&>(function));
    } else {
      detail::post_function(through, static_cast<F&&>(function));
    }
  }
};

/// An argument of post besides an executor or a context: a callable without parameters, or a token.
template <class T>
concept nullary_token = completion_token_for<T, void()>;
/// An executor or a context. A handler is neither, although it may have an executor.
template <class P>
concept execution_place = executor_like<P> || (has_executor<P> && !detail::nullary_token<P>);
/// The only argument of post, a callable or a token.
template <class T>
concept token_without_place = nullary_token<T> && !execution_place<T>;

namespace functions {

inline const any_io_executor& executor_at(const any_io_executor& executor) noexcept {
  return executor;
}
template <executor_like E>
any_io_executor executor_at(const E& executor) {
  return any_io_executor(executor);
}
template <has_executor C>
any_io_executor executor_at(C& context) {
  return any_io_executor(context.get_executor());
}

/// As executor_at(), but does not copy executors of this library: copying a counted one would cost
/// more than the rest of a post.
template <detail::execution_place P>
decltype(auto) native_executor_at(P& where) {
  if constexpr (native_executor<P>) {
    if constexpr (std::is_base_of_v<any_io_executor, P>) {
      BECK_ASSERT(where, no_executor_for_function);
    }
    return static_cast<const P&>(where);
  } else {
    return functions::executor_at(where);
  }
}

}  // namespace functions

}  // namespace detail

/// Queues a callable on `where` (an executor, or an object that has one); it never runs inside this
/// call. Posts from one thread to one context run in order. A callable with an associated executor
/// runs there, after its turn on `where`. With another token the completion has no arguments.
/// Throws std::bad_alloc for a callable; nothing is queued then. Thread: any.
template <detail::execution_place P, detail::nullary_token T>
[[gnu::always_inline]] inline auto post(P&& where, T&& token) {
  if constexpr (detail::plain_handler<std::decay_t<T>, void()>) {
    detail::post_function(detail::native_executor_at(where), static_cast<T&&>(token));
  } else {
    return detail::launch(detail::schedule_operation(detail::executor_at(where), false),
                          static_cast<T&&>(token));
  }
}
/// Waits for a turn after the entries that are queued on `where`: `co_await post(where)`.
/// Afterwards the coroutine continues on its own executor. If its scope was already stopped, the
/// await throws io_error (operation_aborted, timeout).
template <detail::execution_place P>
detail::schedule_operation post(P&& where) {
  return detail::schedule_operation(detail::executor_at(where), false);
}

/// Refuses, at compile time, an argument that is no token.
template <detail::execution_place P, class T>
void post(P&&, T&&) {
  detail::refuse_token<void(), std::decay_t<T>>();
}

/// As post(), with the hint that the callable continues the present one.
template <detail::execution_place P, detail::nullary_token T>
auto defer(P&& where, T&& token) {
  return beck::post(static_cast<P&&>(where), static_cast<T&&>(token));
}
/// As post(where).
template <detail::execution_place P>
detail::schedule_operation defer(P&& where) {
  return detail::schedule_operation(detail::executor_at(where), false);
}

/// Runs the callable inside this call if the caller already is inside `where`, or `where` is an
/// idle strand over the executor that the caller is inside; else as post().
template <detail::execution_place P, detail::nullary_token T>
auto dispatch(P&& where, T&& token) {
  if constexpr (detail::plain_handler<std::decay_t<T>, void()>) {
    detail::call_or_post(detail::native_executor_at(where), static_cast<T&&>(token));
  } else {
    return detail::launch(detail::schedule_operation(detail::executor_at(where), true),
                          static_cast<T&&>(token));
  }
}
/// Waits as post(where), unless the caller already is inside `where` and has budget left.
template <detail::execution_place P>
detail::schedule_operation dispatch(P&& where) {
  return detail::schedule_operation(detail::executor_at(where), true);
}

namespace detail {

/// Returns the executor of the task or handler that runs on this thread; outside of tasks that of
/// the context. Asserts that the caller is inside a run().
inline const any_io_executor& current_executor() noexcept { return ambient_scope().executor(); }

namespace functions {

/// Returns the executor of a callable without a place: its associated executor, else the current
/// one. Empty for tokens outside of every run(): their handlers name one later.
template <class T>
any_io_executor own_executor(const T& token) {
  if constexpr (has_associated_executor<T>) {
    return any_io_executor(beck::get_associated_executor(token));
  } else if (!plain_handler<T, void()> && runner::current() == nullptr) {
    return any_io_executor();
  } else {
    return current_executor();
  }
}

}  // namespace functions

}  // namespace detail

/// Queues a callable on its associated executor, by default on the current one.
template <detail::token_without_place T>
auto post(T&& token) {
  return beck::post(detail::own_executor(token), static_cast<T&&>(token));
}
/// Defers a callable on its associated executor, by default on the current one.
template <detail::token_without_place T>
auto defer(T&& token) {
  return beck::defer(detail::own_executor(token), static_cast<T&&>(token));
}
/// Dispatches a callable on its associated executor, by default on the current one.
template <detail::token_without_place T>
auto dispatch(T&& token) {
  return beck::dispatch(detail::own_executor(token), static_cast<T&&>(token));
}

/// Runs `function` as dispatch().
template <class F>
void any_io_executor::execute(F&& function) const {
  detail::start_callback(detail::schedule_operation(*this, true), static_cast<F&&>(function));
}

}  // namespace beck
