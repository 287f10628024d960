// SPDX-License-Identifier: BSL-1.0
// task<T>: a coroutine that starts when it is awaited, is awaited once and inherits its awaiter's
// scope. awaitable<T> is the same coroutine in Asio's style: inside it, awaiting an operation
// returns its value or throws; inside a task it returns an io_result.
//
// A child is started inside the parent's await_suspend; if it finishes there the parent never
// suspends. That is as fast as symmetric transfer and, unlike it, keeps the stack bounded on every
// compiler and at every optimisation level (runner::depth_max, then the runner's trampoline).
#pragma once

#include <coroutine>
#include <exception>
#include <new>
#include <source_location>
#include <type_traits>

#include <beck/detail/block.hpp>
#include <beck/detail/checked_result.hpp>
#include <beck/detail/frame_end.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/scope.hpp>
#include <beck/detail/throws_error.hpp>

namespace beck {

namespace detail {
class task_promise_base;

/// A task as the frame that awaits it holds it.
class task_base {
 protected:
  task_base() noexcept = default;
  explicit task_base(std::coroutine_handle<> frame) noexcept : frame_(frame) {}

  void require_frame() const noexcept {
    if (!frame_) [[unlikely]]
      refuse_empty();
  }
  [[noreturn, gnu::cold]] static void refuse_empty() noexcept;

  std::coroutine_handle<> frame_;

 private:
  friend class task_promise_base;
  friend struct dump_access;

  task_promise_base* promise_;  // of frame_; set while the parent is suspended in it
};

/// The part that promises of all tasks share; nothing here depends on the result type.
class task_promise_base {
 public:
  struct final_awaiter {
    final_awaiter() noexcept {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) const noexcept {
      coroutine.promise().finish();
    }
    void await_resume() const noexcept {}
  };

  static void* operator new(std::size_t bytes) { return allocate_block(bytes); }
  static void operator delete(void* frame) noexcept { free_block(frame); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  final_awaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }

  scope& current_scope() const noexcept { return *scope_; }
  /// Where this coroutine is being suspended.
  void note_await(const std::source_location& at) noexcept { awaits_at_ = at; }

  /// Runs the task inside the caller's await_suspend. False: it has finished and the caller goes
  /// on.
  bool start_inline(std::coroutine_handle<> self, continuation parent, scope& environment);
  /// The same below a scope whose executor is concurrent: the child may finish on another thread
  /// before this returns. True: from here on the parent may be running, or gone; so wait_for()
  /// comes before.
  bool start_concurrent(std::coroutine_handle<> self, continuation parent, scope& environment);

  /// Ends the program if the task was started before.
  void require_fresh() const noexcept {
    if (phase_ != phase::fresh) [[unlikely]]
      refuse_started();
  }

  /// Starts the task as a root: `after` is queued behind the unwinding when it has finished.
  void start_root(std::coroutine_handle<> self, scope& environment, queue_entry* after,
                  runner& where);

  /// This coroutine is suspended in `child` now, until that has finished. `promise` is the child's.
  void wait_for(task_base& child, task_promise_base& promise) noexcept {
    child.promise_ = &promise;
    promise.parent_promise_ = this;
    child_ = &child;
  }
  void wait_no_more() noexcept { child_ = nullptr; }
  /// Destroys the frames below this one that it is suspended in, innermost first: by a loop,
  /// because a chain of frames that destroy one another would need a stack as deep as the chain is
  /// long.
  void destroy_children() noexcept {
    if (child_ != nullptr) [[unlikely]]
      destroy_chain();
  }

  bool failed() const noexcept { return exception_ != nullptr; }
  std::exception_ptr exception() const noexcept { return exception_; }
  void rethrow_if_failed() const {
    if (exception_) [[unlikely]]
      std::rethrow_exception(exception_);
  }
  std::exception_ptr take_exception() noexcept {
    return static_cast<std::exception_ptr&&>(exception_);
  }

 private:
  friend struct dump_access;

  enum class phase : unsigned char {
    fresh,      // not started
    inlined,    // running inside start_inline
    racing,     // inside start_concurrent, or elsewhere already: the first to say so decides
    suspended,  // at least once, or started by the trampoline: finishing resumes the parent
    finished,   // ended inside the start: the parent sees it when the call returns
    root,       // it is not awaited: finishing queues after_
  };

  /// The runner on which the task may start inside the caller; nullptr: it starts later.
  runner* begin_inside(std::coroutine_handle<> self, continuation parent, scope& environment);
  void finish() noexcept;
  void destroy_chain() noexcept;
  [[noreturn, gnu::cold]] static void refuse_started() noexcept;

  scope* scope_ = nullptr;
  union {
    continuation parent_;
    queue_entry* after_;
  };
  std::exception_ptr exception_;
  task_base* child_ = nullptr;
  task_promise_base* parent_promise_ = nullptr;  // if the parent is a task and waits for this one
  std::source_location awaits_at_;               // the last co_await that suspended it
  phase phase_ = phase::fresh;

 protected:
  task_promise_base() noexcept : parent_(nullptr) {}
  /// For coroutines that are awaited again after they have finished a step.
  void start_again() noexcept { phase_ = phase::fresh; }
};

/// The place of a task's value.
template <class T>
class task_value {
 public:
  task_value() noexcept : empty_() {}
  ~task_value() {
    if (full_) value_.~T();
  }
  template <class U>
  void return_value(U&& value) {
    ::new (static_cast<void*>(&value_)) T(static_cast<U&&>(value));
    full_ = true;
  }
  T take() { return static_cast<T&&>(value_); }
  /// Requires that the task has ended without an exception.
  const T& peek() const noexcept { return value_; }

 private:
  union {
    char empty_;
    T value_;
  };
  bool full_ = false;
};
template <>
class task_value<void> {
 public:
  void return_void() noexcept {}
  void take() noexcept {}
};
template <class T>
class task_value<T&> {
 public:
  void return_value(T& value) noexcept { value_ = &value; }
  T& take() noexcept { return *value_; }

 private:
  T* value_ = nullptr;
};

/// Awaits an operation that is elsewhere: the meaning of co_await inside an awaitable<T>.
template <class Op>
class throwing_awaiter {
 public:
  explicit throwing_awaiter(Op& op) noexcept : op_(op) {}
  bool await_ready() { return op_.await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    if constexpr (requires { op_.await_suspend(coroutine, at); }) {
      return op_.await_suspend(coroutine, at);
    } else {
      return op_.await_suspend(coroutine);
    }
  }
  auto await_resume()
    requires throws_error<Op>
  {
    return op_.await_resume().value();
  }
  decltype(auto) await_resume() { return op_.await_resume(); }

 private:
  Op& op_;
};

/// By value or throwing is a property of the coroutine.
template <bool Throwing>
struct result_policy : result_watch {};
template <>
struct result_policy<true> {
  template <class A>
  decltype(auto) await_transform(A&& a) {
    using awaited = std::remove_reference_t<A>;
    // Also a named operation of the library: g++ 12 would copy it.
    constexpr bool is_named =
        std::is_lvalue_reference_v<A> && requires(scope& s) { a.suspend_in({}, s); };
    if constexpr (throws_error<awaited> || is_named) {
      return throwing_awaiter<awaited>(a);
    } else {
      return static_cast<A&&>(a);
    }
  }
};

}  // namespace detail

/// A lazy coroutine. Move-only; awaited or spawned once: awaiting one that was moved from, or
/// awaited before, ends the program with a message. Destroying one that never ran, or that is
/// suspended, destroys its frame and everything in it.
/// Thread: runs on the executor of its scope. Cancellation: through its scope.
/// Not guaranteed: anything about the order of frames in memory, or that awaiting suspends.
template <class T = void, bool Throwing = false>
class [[nodiscard]] task : private detail::task_base {
 public:
  /// The type of the value.
  using value_type = T;

  /// The promise of the coroutine, for the compiler.
  class promise_type : public detail::task_promise_base,
                       public detail::task_value<T>,
                       public detail::result_policy<Throwing> {
   public:
    task get_return_object() noexcept {
      return task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  /// Takes over the coroutine; `other` is empty then.
  task(task&& other) noexcept : detail::task_base(std::exchange(other.frame_, nullptr)) {}
  /// Exchanges the coroutines.
  task& operator=(task&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  /// Destroys the coroutine, if it is not empty.
  ~task() {
    if (!frame_) return;
    promise().destroy_children();
    detail::destroy_frame(frame_);
  }

  // The task is its own awaiter: one object less in every frame that awaits one.
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent,
                     std::source_location at = std::source_location::current()) {
    if constexpr (std::is_base_of_v<detail::task_promise_base, Promise>) {
      return suspend_in(parent, detail::scope_of(parent, at), &parent.promise());
    } else {
      return suspend_in(parent, detail::scope_of(parent));
    }
  }
  /// `parent_promise`: of `parent`, if that is a task.
  bool suspend_in(detail::continuation parent, detail::scope& environment,
                  detail::task_promise_base* parent_promise = nullptr) {
    require_frame();
    if (environment.executor().table()->concurrent) [[unlikely]]
      return suspend_concurrent(parent, environment, parent_promise);
    if (!promise().start_inline(frame_, parent, environment)) return false;
    if (parent_promise != nullptr) parent_promise->wait_for(*this, promise());
    return true;
  }
  T await_resume() {
    promise().rethrow_if_failed();
    return promise().take();
  }

  /// Runs the task on another executor: `co_await std::move(work).via(executor)`; see coro/via.hpp.
  template <class Where>
  auto via(Where&& where, std::source_location at = std::source_location::current()) &&;
  /// Starts the task as the root of a tree of its own on `where`, with a callback; see
  /// coro/co_spawn.hpp.
  template <class Where, class Handler>
  void start(Where&& where, Handler&& handler,
             std::source_location at = std::source_location::current()) &&;
  /// As above, on the current executor.
  template <class Handler>
  void start(Handler&& handler, std::source_location at = std::source_location::current()) &&;

  /// Returns the frame, which the caller owns from then on. For functions that run tasks
  /// (co_spawn).
  std::coroutine_handle<promise_type> release() noexcept {
    const auto frame = frame_to_start();
    frame_ = nullptr;
    return frame;
  }

  /// Returns the frame, which the task keeps. For functions that start a task otherwise than by
  /// awaiting it. Ends the program with a message if there is none or it was started.
  std::coroutine_handle<promise_type> frame_to_start() const noexcept {
    require_frame();
    promise().require_fresh();
    return typed_frame();
  }
  /// Returns the frame. Requires that there is one.
  std::coroutine_handle<promise_type> frame() const noexcept { return typed_frame(); }

  /// Returns whether there is a coroutine: false after a move or release().
  bool valid() const noexcept { return static_cast<bool>(frame_); }

 private:
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : detail::task_base(frame) {}

  bool suspend_concurrent(detail::continuation parent, detail::scope& environment,
                          detail::task_promise_base* parent_promise) {
    if (parent_promise != nullptr) parent_promise->wait_for(*this, promise());
    if (promise().start_concurrent(frame_, parent, environment)) return true;
    if (parent_promise != nullptr) parent_promise->wait_no_more();
    return false;
  }

  std::coroutine_handle<promise_type> typed_frame() const noexcept {
    return std::coroutine_handle<promise_type>::from_address(frame_.address());
  }
  promise_type& promise() const noexcept { return typed_frame().promise(); }
};

/// A task in Asio's style: co_await in it returns the value or throws beck::io_error.
template <class T = void>
using awaitable = task<T, true>;

namespace detail {

namespace functions {

/// Deduces the task that a class is or derives from; never called.
template <class T, bool Throwing>
task<T, Throwing> task_in(const task<T, Throwing>*);

}  // namespace functions

/// A task, or a class derived from one: the type of an own coroutine.
template <class T>
concept is_task = requires(const T* t) { detail::task_in(t); };

}  // namespace detail

}  // namespace beck
