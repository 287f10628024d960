// SPDX-License-Identifier: BSL-1.0
// beck::op: the base of operations that users write as objects. Such an operation is awaited in the
// frame of its coroutine, without suspension if it is ready, and takes every token. It is a
// template of neither, so its code may be in a .cpp file.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/result_slot.hpp>
#include <beck/run/post.hpp>

namespace beck {

/// An operation of the user. Derive from it, name the class and the signature, and say how it
/// starts:
///
///   class read_line : public beck::op<read_line, void(beck::error_code, std::size_t)> {
///    public:
///     read_line(tcp::socket& socket, std::string& text) : socket_(&socket), text_(&text) {}
///     bool ready() {                       // optional: finishes at once, without suspension
///       const auto at = text_->find('\n');
///       return at != text_->npos && finish(beck::error_code(), at + 1);
///     }
///     void initiate(handler done) {        // else: starts an operation that calls `done`
///       beck::async_read_until(*socket_, beck::dynamic_buffer(*text_), '\n', std::move(done));
///     }
///    ...
///   auto [ec, n] = co_await read_line(socket, text);       read_line(socket, text)(token);
///
/// ready() is called once for each start, before initiate(), by the thread that awaits or starts.
/// An operation that it finishes costs one unit of the runner's budget; without budget, and with a
/// handler that has no immediate executor, its completion goes through the queue. `done` is
/// move-only and has the executor of the waiting coroutine or handler. It may be called on any
/// thread, also inside initiate(), but once; the waiting coroutine or handler continues on its own
/// executor, never inside the call. If `done` is destroyed without a call the operation is
/// abandoned: a handler is destroyed without a call, a coroutine stays suspended until its tree is
/// destroyed. With a handler that has no executor the operation completes on `get_executor()` of
/// the derived class, if there is one, else on the current executor.
///
/// Cancellation: `done` has a cancellation slot, so operations that it is passed to are cancelled
/// when the coroutine's scope is stopped, or when the slot of a handler requests it. Where that is
/// not enough, Derived has `void cancel() noexcept`, and its signature begins with an error_code;
/// then cancel() is called instead, inside the executor of the waiting coroutine or handler. It
/// makes the operation call `done` soon, with operation_aborted if there is no better result (a
/// scope turns that into error::timeout where a time limit was the reason); `done` may be called
/// inside. If `done` has been called already cancel() does nothing. Derived's other values must be
/// default-constructible.
///
/// io_context::dump() names the operation after the class, or as Derived says: `static constexpr
/// const char* waits_for = "read_line";`. So do exceptions: "read_line: ...".
///
/// Requires: Derived is not final, and is moved only before it starts. From then on it stays where
/// it is, so initiate() may pass `this` on, until `done` is called or destroyed. Memory: none when
/// awaited; one recycled block with a handler.
template <class Derived, class Signature>
class op;

/// The only specialisation: an operation that completes with values of the types A.
template <class Derived, class... A>
class op<Derived, void(A...)> : public detail::result_slot<A...> {
 public:
  /// The arguments of the completion.
  using signature = void(A...);
  /// The type of `done`.
  using handler = detail::result_handler<A...>;

  bool await_ready() {
    detail::runner* const where = detail::runner::current();
    if (where == nullptr || !where->spend(detail::runner::memory_weight)) return false;
    asked_ = true;
    if (!self().ready()) return false;
    ++where->counters.inline_completions;
    return true;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    return suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  bool suspend_in(detail::continuation coroutine, detail::scope& environment) {
    const any_io_executor& home = environment.executor();
    coroutine_ = coroutine;
    scope_ = &environment;
    if constexpr (has_cancel()) {
      if (environment.stop_requested()) [[unlikely]] {
        refuse();
        return true;
      }
    }
    if (!asked_ && self().ready()) {  // no budget: it resumes after the queued entries
      this->run = &resume_entry;
      home.post(this);
      return true;
    }
    this->begin(home, &resume_entry, signal_.slot());
    static constexpr detail::wait_kind kind{&cancel_wait, name_of_wait()};
    detail::scope_wait waiting(environment, this, kind);
    return waiting.keep(this->initiate_suspended(
        [this](handler done) { self().initiate(static_cast<handler&&>(done)); }));
  }
  auto await_resume() {
    if constexpr (carries_error && requires { Derived::waits_for; }) {
      auto result = this->take();
      if (result.error_) [[unlikely]]
        result.error_ = result_error(result.error_, Derived::waits_for);
      return result;
    } else {
      return this->take();
    }
  }

  /// Starts the operation. `token` takes the arguments of the signature.
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<Derived&&>(*this), static_cast<Token&&>(token));
  }

 protected:
  op() noexcept = default;
  op(op&&) noexcept {}  // inert: there is nothing to move
  op& operator=(op&&) = delete;
  ~op() = default;

  /// Returns false; hidden by the derived class's own.
  static constexpr bool ready() noexcept { return false; }
  /// Sets the result, inside ready(). Returns true.
  bool finish(A... results) {
    this->set(static_cast<A&&>(results)...);
    return true;
  }

 private:
  static void resume_entry(detail::queue_entry* entry, detail::runner* where) {
    if (where == nullptr) return;  // the frame belongs to its tree, which destroys it
    ++where->counters.delivered;
    auto* self = static_cast<op*>(entry);
    self->explain(*self->scope_);
    self->scope_->resume(self->coroutine_, *where);
  }

  // --- cancellation
  static constexpr bool carries_error = detail::is_io_result<detail::awaited_result_t<A...>>;
  static constexpr bool has_cancel() noexcept {
    constexpr bool declared = requires(Derived& d) { d.cancel(); };
    static_assert(!declared || carries_error,
                  "an operation with cancel() completes with an error_code first");
    return declared;
  }

  /// Returns the name in a dump: Derived's waits_for, else the name of the type.
  static constexpr const char* name_of_wait() noexcept {
    if constexpr (requires { Derived::waits_for; }) {
      return Derived::waits_for;
    } else {
      return __PRETTY_FUNCTION__;
    }
  }
  static detail::scope* cancel_wait(void* leaf, detail::scope&) noexcept {
    static_cast<op*>(leaf)->cancel_this(cancellation_type::all);
    return nullptr;
  }
  /// Ends the operation, after the queued entries: its scope was stopped before it began.
  void refuse() {
    set_refused(detail::make_error(scope_->stop_result()), static_cast<void (*)(A...)>(nullptr));
    this->run = &resume_entry;
    scope_->executor().post(this);
  }
  template <class... Values>
  void set_refused(error_code ec, void (*)(error_code, Values...)) {
    this->set(ec, Values()...);
  }
  Derived& self() noexcept { return static_cast<Derived&>(*this); }

 protected:
  /// Passes a request to cancel(), if there is one, else to the operations that were started with
  /// `done`.
  void cancel_this(cancellation_type type) {
    if constexpr (has_cancel()) {
      if (!!type) self().cancel();
    } else {
      signal_.emit(type);
    }
  }
  /// Returns the slot that cancels operations started with `done`.
  cancellation_slot own_slot() noexcept { return signal_.slot(); }

 private:
  bool asked_ = false;
  detail::continuation coroutine_;
  detail::scope* scope_;
  cancellation_signal signal_;
};

namespace detail {

namespace functions {

template <class Derived, class Signature>
any_io_executor default_executor_of(const op<Derived, Signature>& operation) noexcept {
  if constexpr (requires(const Derived& d) { d.get_executor(); }) {
    return detail::executor_at(static_cast<const Derived&>(operation).get_executor());
  } else {
    return runner::current() != nullptr ? ambient_scope().executor() : any_io_executor();
  }
}

}  // namespace functions

/// An operation of a user with a handler: one block from the handler's allocator, freed before the
/// upcall.
template <class Op, class Handler>
class op_callback final : public Op {
 public:
  template <class H>
  op_callback(Op&& inert, H&& receiver)
      : Op(static_cast<Op&&>(inert)),
        handler_(static_cast<H&&>(receiver)),
        executor_(beck::get_associated_executor(handler_, detail::default_executor_of(*this))) {}

  /// Starts the operation. Throws the exceptions of ready() and initiate(), after freeing the
  /// block.
  static void launch(op_callback* self) {
    BECK_ASSERT(self->executor_,
                "an operation was started outside of every context, without executor");
    bool counted = false;
    initiating_call call(static_cast<completion_slot*>(self));
    try {
      if (self->ready()) {
        call.end_with(initiating_call::outcome::completed);
      } else {
        self->begin(self->executor_, &upcall, self->own_slot());
        self->listening_.start(self->handler_);
        counted = true;
        self->initiate(typename Op::handler(*self));
      }
    } catch (...) {
      self->sever();
      if (counted) self->end_work();
      discard(self);
      throw;
    }
    if (call.result() == initiating_call::outcome::pending) return;
    const outstanding_work ending(self->executor_, counted);
    if (call.result() == initiating_call::outcome::completed) {
      deliver_at_once(self, ending.executor());
    } else {
      discard(self);
    }
  }

 private:
  static void deliver_at_once(op_callback* self, const any_io_executor& executor) {
    if constexpr (has_immediate_executor<Handler>) {
      if (const immediate_level level; level) {
        level.charge(runner::memory_weight);
        const any_io_executor immediate(
            beck::get_associated_immediate_executor(self->handler_, executor));
        auto result = static_cast<typename Op::result_type&&>(self->get());
        Handler handler(static_cast<Handler&&>(self->handler_));
        detail::release_for_handler(self, handler);
        immediate.execute([handler = static_cast<Handler&&>(handler),
                           result = static_cast<decltype(result)&&>(result)]() mutable {
          detail::call_with_result(static_cast<Handler&&>(handler),
                                   static_cast<decltype(result)&&>(result));
        });
        return;
      }
    }
    self->run = &upcall;
    executor.post(self);
  }

  static void discard(op_callback* self) noexcept {
    self->listening_.stop(self->handler_);
    Handler handler(static_cast<Handler&&>(self->handler_));
    detail::release_for_handler(self, handler);
  }

  static void upcall(queue_entry* entry, runner* where) {
    auto* self = static_cast<op_callback*>(entry);
    if (where == nullptr) return discard(self);
    self->listening_.stop(self->handler_);
    auto result = static_cast<typename Op::result_type&&>(self->get());
    Handler handler(static_cast<Handler&&>(self->handler_));
    detail::release_for_handler(self, handler);
    ++where->counters.delivered;
    detail::call_with_result(static_cast<Handler&&>(handler),
                             static_cast<decltype(result)&&>(result));
  }

  /// Requests cancellation through the handler's slot.
  class cancel_hook : public cancellation_hook {
   public:
    cancel_hook() noexcept
        : cancellation_hook([](cancellation_hook& self, cancellation_type type) {
            static_cast<op_callback*>(static_cast<cancel_hook&>(self).owner)->cancel_this(type);
          }) {}
    void* owner = nullptr;
  };

  Handler handler_;
  any_io_executor executor_;
  [[no_unique_address]] handler_listening<Handler, cancel_hook> listening_{this};
};

/// True for classes that derive from op.
template <class Op>
concept user_operation =
    std::is_base_of_v<completion_slot, Op> && requires { typename Op::handler; };

template <user_operation Op>
struct callback_start<Op> {
  template <class H>
  static void start(Op&& operation, H&& handler) {
    using entry = op_callback<Op, std::decay_t<H>>;
    entry::launch(detail::make_for_handler<entry>(handler, static_cast<Op&&>(operation),
                                                  static_cast<H&&>(handler)));
  }
  static any_io_executor executor(const Op& operation) {
    return detail::default_executor_of(operation);
  }
};

}  // namespace detail

}  // namespace beck
