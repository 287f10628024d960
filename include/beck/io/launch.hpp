// SPDX-License-Identifier: BSL-1.0
// The one door for the library's own operations: an inert operation and a token. Deferred returns the
// operation, use_awaitable one that throws, a callable starts it in a recycled block; every other token
// goes through async_initiate.
#pragma once

#include <beck/io/operation.hpp>
#include <beck/run/associated.hpp>
#include <beck/run/async_result.hpp>
#include <beck/run/deferred.hpp>

namespace beck {

/// Calls a handler with what co_await would have given.
template <class H>
void call_with_result(H&& handler, io_result<>&& r) {
  static_cast<H&&>(handler)(r.error_);
}
template <class H, class T>
void call_with_result(H&& handler, io_result<T>&& r) {
  static_cast<H&&>(handler)(r.error_, static_cast<T&&>(r.value_));
}
template <class H, class T, class U>
void call_with_result(H&& handler, io_result<T, U>&& r) {
  static_cast<H&&>(handler)(r.error_, static_cast<T&&>(r.first_), static_cast<U&&>(r.second_));
}

/// One level of handlers called inside their initiating call.
class immediate_level {
 public:
  explicit immediate_level(runner& where) noexcept : where_(where) {}
  ~immediate_level() { where_.ascend_immediate(); }
  immediate_level(const immediate_level&) = delete;
  immediate_level& operator=(const immediate_level&) = delete;

 private:
  runner& where_;
};

/// Holds the executor during an upcall and ends the outstanding work that the operation counted there.
class outstanding_work {
 public:
  outstanding_work(any_io_executor executor, bool counted) noexcept
      : executor_(static_cast<any_io_executor&&>(executor)), counted_(counted) {}
  ~outstanding_work() {
    if (counted_) executor_.on_work_finished();
  }
  outstanding_work(const outstanding_work&) = delete;
  outstanding_work& operator=(const outstanding_work&) = delete;
  const any_io_executor& executor() const noexcept { return executor_; }

 private:
  any_io_executor executor_;
  bool counted_;
};

/// An operation with a handler: one block from the handler's allocator, free again before the upcall.
template <class Op, class Handler>
class callback_operation final : public Op {
 public:
  template <class H>
  callback_operation(Op&& op, H&& handler)
      : Op(static_cast<Op&&>(op)),
        handler_(static_cast<H&&>(handler)),
        executor_(get_associated_executor(handler_, default_executor(*this))),
        foreign_(!runs_operations_of(executor_, *this)) {
    this->complete = &completed;
  }

  /// Starts it; if it finishes at once and the handler has an immediate executor, calls the handler
  /// inside this call (the runner bounds how deep).
  static void launch(callback_operation* self) {
    if (self->foreign_) self->executor_.on_work_started();
    if constexpr (has_immediate_executor<Handler>) {
      runner* const where = runner::current();
      if (where != nullptr && where->descend_immediate()) {
        const immediate_level ascending(*where);
        if (self->begin_immediate()) self->call_immediate();
        return;
      }
    }
    self->begin();
  }

 private:
  /// On the runner of the operation's context.
  static void completed(queue_entry* entry, runner* where) {
    auto* self = static_cast<callback_operation*>(static_cast<io_op*>(entry));
    if (where == nullptr || !self->foreign_) {
      upcall(entry, where);
    } else {  // the entry itself carries the result on: completing never allocates
      self->run = &upcall;
      any_io_executor(self->executor_).post(self);
    }
  }

  /// On the handler's executor.
  static void upcall(queue_entry* entry, runner* where) {
    auto* self = static_cast<callback_operation*>(static_cast<io_op*>(entry));
    Handler handler(static_cast<Handler&&>(self->handler_));
    const outstanding_work work(static_cast<any_io_executor&&>(self->executor_), self->foreign_);
    auto result = self->await_resume();
    release_for_handler(self, handler);
    if (where == nullptr) return;
    ++where->counters.delivered;
    call_with_result(static_cast<Handler&&>(handler), static_cast<decltype(result)&&>(result));
  }

  void call_immediate() {
    Handler handler(static_cast<Handler&&>(handler_));
    const outstanding_work work(static_cast<any_io_executor&&>(executor_), foreign_);
    auto outcome = this->await_resume();
    const any_io_executor immediate(get_associated_immediate_executor(handler, work.executor()));
    release_for_handler(this, handler);
    immediate.execute([handler = static_cast<Handler&&>(handler),
                       outcome = static_cast<decltype(outcome)&&>(outcome)]() mutable {
      call_with_result(static_cast<Handler&&>(handler), static_cast<decltype(outcome)&&>(outcome));
    });
  }

  Handler handler_;
  any_io_executor executor_;
  bool foreign_;  // the handler runs elsewhere than on the operation's own context
};

/// Inline always, and `op` never escapes: it goes from registers into its block. Through memory it would be
/// stored in pieces and loaded whole, and the load would stall on the stores (30 ns).
template <class Op, class H>
[[gnu::always_inline]] inline void start_callback(Op&& op, H&& handler) {
  using entry = callback_operation<std::decay_t<Op>, std::decay_t<H>>;
  entry::launch(make_for_handler<entry>(handler, static_cast<Op&&>(op), static_cast<H&&>(handler)));
}

/// A built-in operation whose awaited result is the value or an exception; still nothing is allocated.
template <class Op>
class [[nodiscard]] throwing_operation : public Op {
 public:
  explicit throwing_operation(Op&& op) : Op(static_cast<Op&&>(op)) {}
  auto await_resume() { return Op::await_resume().value(); }
};

/// The initiation that async_initiate calls for tokens with a specialised async_result.
template <class Op>
class operation_launcher {
 public:
  using executor_type = any_io_executor;
  explicit operation_launcher(Op&& op) : op_(static_cast<Op&&>(op)) {}
  executor_type get_executor() const { return default_executor(op_); }
  template <class H>
  void operator()(H&& handler) {
    start_callback(static_cast<Op&&>(op_), static_cast<H&&>(handler));
  }
  /// For adapters that map an awaited result without a handler (as_tuple, redirect_error).
  Op&& operation() && { return static_cast<Op&&>(op_); }

 private:
  Op op_;
};

/// Starts or packages `op` as `token` says.
template <class Op, class Token>
[[gnu::always_inline]] inline auto launch(Op&& op, Token&& token) {
  using token_type = std::decay_t<Token>;
  using op_type = std::decay_t<Op>;
  static_assert(completion_token_for<token_type, typename op_type::signature>,
                "the last argument is neither a completion token nor callable with this operation's results");
  if constexpr (std::is_same_v<token_type, deferred_t>) {
    return op_type(static_cast<Op&&>(op));
  } else if constexpr (std::is_same_v<token_type, use_awaitable_t<>>) {
    return throwing_operation<op_type>(static_cast<Op&&>(op));
  } else if constexpr (plain_handler<token_type, typename op_type::signature>) {
    start_callback(static_cast<Op&&>(op), static_cast<Token&&>(token));
  } else {
    return async_initiate<Token, typename op_type::signature>(
        operation_launcher<op_type>(static_cast<Op&&>(op)), token);
  }
}

template <class Token>
auto transfer_operation::operator()(Token&& token) && {
  return launch(static_cast<transfer_operation&&>(*this), static_cast<Token&&>(token));
}
template <class Token>
auto void_operation::operator()(Token&& token) && {
  return launch(static_cast<void_operation&&>(*this), static_cast<Token&&>(token));
}

}  // namespace beck
