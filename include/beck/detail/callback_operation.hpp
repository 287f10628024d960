// SPDX-License-Identifier: BSL-1.0
// The library's own operations with a handler: the block that holds both, and how it is started and
// delivered. Operations reach it through detail/launch.hpp.
#pragma once

#include <beck/detail/launch.hpp>
#include <beck/detail/operation.hpp>
#include <beck/run/associated.hpp>
#include <beck/run/async_result.hpp>
#include <beck/run/deferred.hpp>

namespace beck::detail {

/// An operation with a handler: one block from the handler's allocator, which is freed before the
/// handler is called.
template <class Op, class Handler>
class callback_operation final : public Op {
 public:
  template <class H>
  callback_operation(Op&& op, H&& handler)
      : Op(static_cast<Op&&>(op)),
        handler_(static_cast<H&&>(handler)),
        executor_(beck::get_associated_executor(handler_, detail::default_executor(*this))),
        foreign_(!detail::runs_operations_of(executor_, *this)) {
    this->complete = &completed;
  }

  /// Starts the operation. If it finishes at once and the handler has an immediate executor, calls
  /// the handler inside this call (the runner bounds the depth).
  static void launch(callback_operation* self) {
    if (self->foreign_) self->executor_.on_work_started();
    self->listening_.start(self->handler_);
    if constexpr (has_immediate_executor<Handler>) {
      if (const immediate_level level; level) {
        const auto begin = [](io_op& op) noexcept {
          return static_cast<callback_operation&>(op).begin_immediate();
        };
        if (detail::begin_immediate_anywhere(*self, begin)) self->call_immediate();
        return;
      }
    }
    self->begin();
  }

 private:
  /// Passes the result on to the handler's executor. Called on the runner of the operation's
  /// context.
  static void completed(queue_entry* entry, runner* where) {
    auto* self = static_cast<callback_operation*>(static_cast<io_op*>(entry));
    if (where == nullptr || !self->foreign_) {
      upcall(entry, where);
    } else {  // the entry itself carries the result on: completing never allocates
      self->run = &upcall;
      any_io_executor(self->executor_).post(self);
    }
  }

  /// Frees the block and calls the handler. Called on the handler's executor.
  static void upcall(queue_entry* entry, runner* where) {
    auto* self = static_cast<callback_operation*>(static_cast<io_op*>(entry));
    if (self->listening_.keep_back(entry)) return;
    self->listening_.stop(self->handler_);
    Handler handler(static_cast<Handler&&>(self->handler_));
    const outstanding_work work(static_cast<any_io_executor&&>(self->executor_), self->foreign_);
    auto result = self->await_resume();
    detail::release_for_handler(self, handler);
    if (where == nullptr) return;
    ++where->counters.delivered;
    detail::call_with_result(static_cast<Handler&&>(handler),
                             static_cast<decltype(result)&&>(result));
  }

  void call_immediate() {
    listening_.stop(handler_);
    Handler handler(static_cast<Handler&&>(handler_));
    const outstanding_work work(static_cast<any_io_executor&&>(executor_), foreign_);
    auto outcome = this->await_resume();
    const any_io_executor immediate(
        beck::get_associated_immediate_executor(handler, work.executor()));
    detail::release_for_handler(this, handler);
    immediate.execute([handler = static_cast<Handler&&>(handler),
                       outcome = static_cast<decltype(outcome)&&>(outcome)]() mutable {
      detail::call_with_result(static_cast<Handler&&>(handler),
                               static_cast<decltype(outcome)&&>(outcome));
    });
  }

  /// Requests cancellation when the handler's slot is signalled. A composed operation ignores a
  /// request for cancellation_type::total alone: the bytes that it has moved cannot be undone.
  class cancel_hook : public cancellation_hook {
   public:
    cancel_hook() noexcept
        : cancellation_hook([](cancellation_hook& base, cancellation_type type) {
            auto& self = static_cast<cancel_hook&>(base);
            auto& op = *static_cast<callback_operation*>(self.owner);
            const bool composed = (op.flags & (io_op::flag_steps | io_op::flag_all)) != 0;
            if (!composed || type != cancellation_type::total)
              self.remote_.request(op, op.executor_);
          }) {}
    bool keep_back(queue_entry* delivery) noexcept { return remote_.keep_back(delivery); }
    void* owner = nullptr;

   private:
    remote_cancel remote_;
  };

  Handler handler_;
  any_io_executor executor_;
  bool foreign_;  // the handler's executor is not that of the operation's own context
  [[no_unique_address]] handler_listening<Handler, cancel_hook> listening_{this};
};

template <class Op>
  requires std::is_base_of_v<io_op, Op>
struct callback_start<Op> {
  /// Starts `op` in a block of its own. Always inline: the operation goes from registers into its
  /// block (see detail/opaque_value.hpp).
  template <class H>
  [[gnu::always_inline]] static inline void start(Op&& op, H&& handler) {
    using entry = callback_operation<Op, std::decay_t<H>>;
    entry::launch(
        detail::make_for_handler<entry>(handler, static_cast<Op&&>(op), static_cast<H&&>(handler)));
  }
  static const any_io_executor& executor(const Op& op) noexcept {
    return detail::default_executor(op);
  }
};

template <class Token>
auto transfer_operation::operator()(Token&& token) && {
  return detail::launch(static_cast<transfer_operation&&>(*this), static_cast<Token&&>(token));
}
template <class Token>
auto void_operation::operator()(Token&& token) && {
  return detail::launch(static_cast<void_operation&&>(*this), static_cast<Token&&>(token));
}

}  // namespace beck::detail
