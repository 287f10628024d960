// SPDX-License-Identifier: BSL-1.0
// co_spawn and spawn: starting a task as the root of a tree of its own. One block holds the root:
// the scope that everything below inherits, the callable (so that a lambda's captures live as long
// as its coroutine), and what happens at the end.
#pragma once

#include <exception>
#include <source_location>
#include <type_traits>

#include <beck/coro/task.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/token_scope.hpp>
#include <beck/run/async_result.hpp>
#include <beck/run/post.hpp>

namespace beck {

namespace detail {

/// The part of a root that is no template. It is queued to start, then owned by its context until
/// its coroutine has finished.
class task_root : public queue_entry, private owned_tree {
 public:
  task_root(const task_root&) = delete;
  task_root& operator=(const task_root&) = delete;

 protected:
  /// The functions of the template: `make` returns the frame (it may throw), `done` ends the root
  /// when the frame has finished or could not be made (`error`), `discard` frees everything without
  /// running user code.
  struct behaviour : tree_kind {
    constexpr behaviour(void (*makes)(task_root&),
                        void (*does_at_end)(task_root&, runner&, std::exception_ptr),
                        void (*discards)(task_root&) noexcept) noexcept
        : tree_kind{&destroy_tree}, make(makes), done(does_at_end), discard(discards) {}

    void (*make)(task_root& self);
    void (*done)(task_root& self, runner& where, std::exception_ptr error);
    void (*discard)(task_root& self) noexcept;
  };

  task_root(any_io_executor executor, const behaviour& what,
            const std::source_location& spawned_at) noexcept
      : scope_(static_cast<any_io_executor&&>(executor)), spawned_at_(spawned_at) {
    kind = &what;
  }
  ~task_root() = default;

  void set_frame(std::coroutine_handle<> frame, task_promise_base& promise) noexcept {
    frame_ = frame;
    promise_ = &promise;
  }
  /// With all frames below it that it is suspended in.
  void destroy_frame() noexcept {
    if (!frame_) return;
    promise_->destroy_children();
    detail::destroy_frame(std::exchange(frame_, nullptr));
  }
  std::coroutine_handle<> frame() const noexcept { return frame_; }
  const any_io_executor& executor() const noexcept { return scope_.executor(); }
  scope& environment() noexcept { return scope_; }
  const std::source_location& spawned_at() const noexcept { return spawned_at_; }

 public:
  /// Queues the start. Any thread.
  void start();

 private:
  friend struct dump_access;

  static void begin(queue_entry* entry, runner* where);
  static void end(queue_entry* entry, runner* where);
  static void destroy_tree(owned_tree* tree);
  const behaviour& what() const noexcept { return static_cast<const behaviour&>(*kind); }

  scope scope_;
  std::coroutine_handle<> frame_;
  task_promise_base* promise_ = nullptr;
  std::source_location spawned_at_;
};

/// Passes an exception to the context's handler, by default the end of the program.
void report_unhandled(const any_io_executor& executor, std::exception_ptr error,
                      const std::source_location& spawned_at);

/// `Work` is a task, or a callable that returns one. Both may be of a class derived from task.
template <class Work>
struct work_traits {
  using task_type = std::invoke_result_t<Work&>;
  static task_type make(Work& work) { return work(); }
};
template <is_task Work>
struct work_traits<Work> {
  using task_type = decltype(detail::task_in(static_cast<const Work*>(nullptr)));
  static task_type make(task_type& work) { return static_cast<task_type&&>(work); }
};
template <class Work>
concept spawnable =
    (is_task<std::decay_t<Work>> || std::is_invocable_v<std::decay_t<Work>&>) &&
    requires { requires is_task<typename work_traits<std::decay_t<Work>>::task_type>; };

namespace functions {

/// The one error for work that is no coroutine.
template <class GivenWork>
void refuse_work() {
  static_assert(
      is_possible<GivenWork>,
      "what is spawned must be a beck::task or beck::awaitable, or a callable without "
      "parameters that returns one; a lambda with co_await in it needs `-> beck::task<>`");
}

}  // namespace functions

/// The result for a handler of co_spawn. After an exception the value is a default-constructed one;
/// an exception that is thrown while the value is moved counts as the task's.
template <class T>
class spawn_result {
 public:
  template <class Frame>
  spawn_result(std::exception_ptr error, Frame frame)
      : error_(static_cast<std::exception_ptr&&>(error)) {
    keep([&]() -> T { return frame.promise().take(); });
  }
  spawn_result(spawn_result&& other) noexcept(false)
      : error_(static_cast<std::exception_ptr&&>(other.error_)) {
    keep([&]() -> T { return static_cast<T&&>(*other.value_); });
  }
  spawn_result& operator=(spawn_result&&) = delete;
  template <class Handler>
  void give(Handler&& handler) {
    static_cast<Handler&&>(handler)(static_cast<std::exception_ptr&&>(error_),
                                    static_cast<T&&>(*value_));
  }

 private:
  template <class Take>
  void keep(Take&& take) {
    if (!error_) {
      try {
        value_.emplace(take());
        return;
      } catch (...) {
        error_ = std::current_exception();
      }
    }
    value_.emplace();
  }

  std::exception_ptr error_;
  deferred_init<T> value_;
};
template <>
class spawn_result<void> {
 public:
  template <class Frame>
  spawn_result(std::exception_ptr error, Frame)
      : error_(static_cast<std::exception_ptr&&>(error)) {}
  template <class Handler>
  void give(Handler&& handler) {
    static_cast<Handler&&>(handler)(static_cast<std::exception_ptr&&>(error_));
  }

 private:
  std::exception_ptr error_;
};

/// The state of a root whose handler has an executor of its own: work that is counted there from
/// the start, and a place for the result on the way, because completing never allocates.
template <class T>
struct travelling_handler {
  explicit travelling_handler(any_io_executor executor) noexcept
      : target(static_cast<any_io_executor&&>(executor), true) {
    target.executor().on_work_started();
  }
  outstanding_work target;
  deferred_init<spawn_result<T>> result;
};
struct settled_handler {
  explicit settled_handler(const any_io_executor&) noexcept {}
};

[[noreturn, gnu::cold]] void throw_not_started();

/// The state of a root whose handler has a cancellation slot.
class slot_stop {
 public:
  template <class Handler>
  void start(scope& root, const Handler& handler) {
    const cancellation_slot slot = beck::get_associated_cancellation_slot(handler);
    if (!slot.is_connected()) return;
    const stop_source source;
    asked_ = source.get_token();
    link_.connect(root, asked_);
    slot.assign([source](cancellation_type type) {
      if (!!(type & cancellation_type::terminal)) source.request_stop();
    });
    listening_ = true;
  }
  /// A coroutine that is ended before it has started does not start.
  void throw_if_asked() const {
    if (asked_.stop_requested()) throw_not_started();
  }
  /// The root ends: requests are heard, but have nothing to stop.
  void leave_root() noexcept { link_.disconnect(); }
  /// Before the handler is called, moved or destroyed.
  template <class Handler>
  void stop(const Handler& handler) noexcept {
    if (std::exchange(listening_, false)) beck::get_associated_cancellation_slot(handler).clear();
  }

 private:
  stop_link link_;
  stop_token asked_;
  bool listening_ = false;
};
class no_slot_stop {
 public:
  template <class Handler>
  static void start(scope&, const Handler&) noexcept {}
  static void throw_if_asked() noexcept {}
  static void leave_root() noexcept {}
  template <class Handler>
  static void stop(const Handler&) noexcept {}
};

template <class Work, class Handler>
class spawned_root final : public task_root {
  using task_type = typename work_traits<Work>::task_type;
  using value_type = typename task_type::value_type;
  using result_type = spawn_result<value_type>;
  static constexpr bool travels = has_associated_executor<Handler>;

 public:
  template <class W, class H>
  spawned_root(any_io_executor executor, W&& work, H&& handler, const std::source_location& at)
      : task_root(static_cast<any_io_executor&&>(executor), table, at),
        work_(static_cast<W&&>(work)),
        handler_(static_cast<H&&>(handler)),
        travel_(beck::get_associated_executor(handler_, this->executor())) {
    stop_.start(this->environment(), handler_);
  }

 private:
  static void make(task_root& base) {
    auto& self = static_cast<spawned_root&>(base);
    self.stop_.throw_if_asked();
    const auto frame = work_traits<Work>::make(self.work_).release();
    self.set_frame(frame, frame.promise());
  }

  static void done(task_root& base, runner& where, std::exception_ptr error) {
    auto& self = static_cast<spawned_root&>(base);
    if constexpr (std::is_same_v<Handler, detached_t>) {
      const any_io_executor executor = self.executor();
      const std::source_location at = self.spawned_at();
      discard(self);
      if (error) [[unlikely]]
        report_unhandled(executor, static_cast<std::exception_ptr&&>(error), at);
    } else {
      ending root{&self};
      if constexpr (travels) {
        if (self.travel_.target.executor() != self.executor()) {
          self.travel_.result.emplace(static_cast<std::exception_ptr&&>(error), self.typed_frame());
          root.self = nullptr;
          self.send_away();
          return;
        }
      }
      result_type result(static_cast<std::exception_ptr&&>(error), self.typed_frame());
      self.stop_.stop(self.handler_);
      Handler handler(static_cast<Handler&&>(self.handler_));
      root.end();  // it is freed before the handler is called
      ++where.counters.delivered;
      result.give(static_cast<Handler&&>(handler));
    }
  }

  /// Frees a root at the latest when what ends it throws (a move, a default constructor).
  struct ending {
    spawned_root* self;
    ~ending() { end(); }
    void end() noexcept {
      if (self != nullptr) discard(*std::exchange(self, nullptr));
    }
  };

  /// The root carries handler and result to the handler's executor; everything else of it ends
  /// here.
  void send_away() {
    destroy_frame();
    stop_.leave_root();
    try {
      static_cast<void>(Work(static_cast<Work&&>(work_)));  // the callable's captures go with it
    } catch (...) {  // NOLINT(bugprone-empty-catch): then they go with the root
    }
    this->run = &arrive;
    const any_io_executor target = travel_.target.executor();
    target.post(this);
  }

  static void arrive(queue_entry* entry, runner* where) {
    auto& self = *static_cast<spawned_root*>(entry);
    ending root{&self};
    if (where == nullptr) return;
    self.stop_.stop(self.handler_);
    Handler handler(static_cast<Handler&&>(self.handler_));
    result_type result(static_cast<result_type&&>(*self.travel_.result));
    root.end();
    ++where->counters.delivered;
    result.give(static_cast<Handler&&>(handler));
  }

  auto typed_frame() const noexcept {
    return std::coroutine_handle<typename task_type::promise_type>::from_address(
        this->frame().address());
  }

  static void discard(task_root& base) noexcept {
    auto& self = static_cast<spawned_root&>(base);
    self.stop_.stop(self.handler_);
    self.destroy_frame();  // before the callable, whose captures the frame may use
    self.~spawned_root();
    detail::free_block(&self);
  }

  static constexpr behaviour table{&make, &done, &discard};

  [[no_unique_address]] Work work_;
  [[no_unique_address]] Handler handler_;
  [[no_unique_address]] std::conditional_t<travels, travelling_handler<value_type>, settled_handler>
      travel_;
  [[no_unique_address]] std::conditional_t<has_cancellation_slot<Handler>, slot_stop, no_slot_stop>
      stop_;
};

namespace functions {

template <class Work, class Handler>
void spawn_root(const any_io_executor& executor, Work&& work, Handler&& handler,
                const std::source_location& at = std::source_location::current()) {
  using root = spawned_root<std::decay_t<Work>, std::decay_t<Handler>>;
  struct block_guard {
    void* block;
    ~block_guard() {
      if (block != nullptr) free_block(block);
    }
  } guard{allocate_block(sizeof(root))};
  if constexpr (is_task<std::decay_t<Work>>) static_cast<void>(work.frame_to_start());
  auto* made = ::new (guard.block)
      root(executor, static_cast<Work&&>(work), static_cast<Handler&&>(handler), at);
  guard.block = nullptr;
  made->start();
}

}  // namespace functions

/// The initiation of co_spawn for tokens.
class spawn_initiation {
 public:
  using executor_type = any_io_executor;
  spawn_initiation(const any_io_executor& executor, const std::source_location& at) noexcept
      : executor_(executor), at_(at) {}
  executor_type get_executor() const noexcept { return executor_; }
  template <class Handler, class Work>
  void operator()(Handler&& handler, Work&& work) const {
    detail::spawn_root(executor_, static_cast<Work&&>(work), static_cast<Handler&&>(handler), at_);
  }

 private:
  any_io_executor executor_;
  std::source_location at_;
};

template <class Work>
struct spawn_signature {
  using value = typename work_traits<Work>::task_type::value_type;
  using type = void(std::exception_ptr, value);
};
template <class Work>
  requires std::is_void_v<typename work_traits<Work>::task_type::value_type>
struct spawn_signature<Work> {
  using type = void(std::exception_ptr);
};

}  // namespace detail

/// Starts a task (or the one that a callable returns; it is kept until the coroutine has ended) on
/// an executor, as the root of a new tree. It never runs inside this call. With `detached` an
/// exception that escapes goes to the context's handler, by default std::terminate with a message.
/// Other tokens complete with (std::exception_ptr[, value]); the value must be
/// default-constructible, and an exception that moving it throws is treated as the task's. If the
/// token's cancellation slot requests the end before the start, the task does not start, and ends
/// with operation_aborted. Throws std::bad_alloc; nothing has started then. Thread: any. Lifetime:
/// the context owns the tree; if it is destroyed first, so are the frames, newest tree first.
/// `at`, here and below, is the place that io_context::dump() names: leave it to the compiler.
template <detail::executor_like E, class Work, class Token>
auto co_spawn(const E& executor, Work&& work, Token&& token,
              std::source_location at = std::source_location::current()) {
  const any_io_executor& target = executor;  // converted, or as it is
  if constexpr (!detail::spawnable<Work>) {
    detail::refuse_work<std::decay_t<Work>>();
  } else if constexpr (std::is_same_v<std::decay_t<Token>, detached_t>) {
    detail::spawn_root(target, static_cast<Work&&>(work), detached, at);
  } else {
    return beck::async_initiate<Token, typename detail::spawn_signature<std::decay_t<Work>>::type>(
        detail::spawn_initiation(target, at), token, static_cast<Work&&>(work));
  }
}
/// As above, on the executor of `context`.
template <detail::has_executor C, class Work, class Token>
auto co_spawn(C& context, Work&& work, Token&& token,
              std::source_location at = std::source_location::current()) {
  return beck::co_spawn(any_io_executor(context.get_executor()), static_cast<Work&&>(work),
                        static_cast<Token&&>(token), at);
}
/// Refuses, at compile time, a call without a third argument, which says where exceptions go.
template <class Where, class Work>
void co_spawn(Where&&, Work&&) {
  static_assert(detail::is_possible<Work>,
                "co_spawn needs a third argument: beck::detached (an exception then goes to the "
                "context's on_unhandled), or a handler of (std::exception_ptr[, value])");
}

namespace detail {

/// A handler that takes only the value of a task.
template <class Handler>
class value_handler {
 public:
  template <class H>
  value_handler(H&& handler, const std::source_location& spawned_at)
      : handler_(static_cast<H&&>(handler)), spawned_at_(spawned_at) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... T>
  void operator()(std::exception_ptr error, T&&... value) {
    if (error) [[unlikely]] {
      detail::report_unhandled(detail::own_executor(handler_),
                               static_cast<std::exception_ptr&&>(error), spawned_at_);
    } else {
      static_cast<Handler&&>(handler_)(static_cast<T&&>(value)...);
    }
  }

 private:
  Handler handler_;
  std::source_location spawned_at_;
};

}  // namespace detail

/// Starts the task as the root of a tree of its own on an executor. Calls
/// `handler(std::exception_ptr[, value])` when it has ended; or `handler([value])`, then an
/// exception goes to the context's handler, as with `detached`. As co_spawn(), without tokens.
template <class T, bool Throwing>
template <class Where, class Handler>
void task<T, Throwing>::start(Where&& where, Handler&& handler, std::source_location at) && {
  using handler_type = std::decay_t<Handler>;
  const any_io_executor target = detail::executor_at(where);
  if constexpr (detail::accepts_signature<handler_type,
                                          typename detail::spawn_signature<task>::type>) {
    detail::spawn_root(target, static_cast<task&&>(*this), static_cast<Handler&&>(handler), at);
  } else {
    detail::spawn_root(target, static_cast<task&&>(*this),
                       detail::value_handler<handler_type>(static_cast<Handler&&>(handler), at),
                       at);
  }
}
/// As above, on the current executor.
template <class T, bool Throwing>
template <class Handler>
void task<T, Throwing>::start(Handler&& handler, std::source_location at) && {
  static_cast<task&&>(*this).start(detail::current_executor(), static_cast<Handler&&>(handler), at);
}

namespace functions {

/// Starts a task detached on the current context; asserts outside of every run(). Unlike
/// co_spawn(co_await this_coro::executor, ...) there is no co_await among its arguments, which g++
/// 12 miscompiles. Throws std::bad_alloc.
template <class Work>
void spawn(Work&& work, std::source_location at = std::source_location::current()) {
  if constexpr (detail::spawnable<Work>) {
    detail::spawn_root(detail::current_executor(), static_cast<Work&&>(work), detached, at);
  } else {
    detail::refuse_work<std::decay_t<Work>>();
  }
}

}  // namespace functions

}  // namespace beck
