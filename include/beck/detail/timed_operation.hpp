// SPDX-License-Identifier: BSL-1.0
// An operation with a handler and a deadline that cancels it:
// cancel_after() makes it of the library's own operations. The deadline is a part of the operation,
// so it shares the handler's block.
#pragma once

#include <beck/coro/timeout.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/timer_entry.hpp>
#include <beck/run/cancellation.hpp>

namespace beck::detail {

/// When an operation is to be cancelled, and as what.
class cancel_limit {
 public:
  cancel_limit(duration after, cancellation_type type) noexcept
      : limit_(after, stop_reason::stop), type_(type) {}
  cancel_limit(time_point at, cancellation_type type) noexcept
      : limit_(at, stop_reason::stop), type_(type) {}

  const time_limit& limit() const noexcept { return limit_; }
  cancellation_type type() const noexcept { return type_; }
  /// Whether it means a composed operation: of that, the bytes so far cannot be undone.
  bool means_composed() const noexcept {
    return !!(type_ & (cancellation_type::terminal | cancellation_type::partial));
  }

 private:
  time_limit limit_;
  cancellation_type type_;
};

/// The part that is no template. Thread: that which starts the operation, then the runner of its
/// context.
class operation_deadline : private timer_entry {
 public:
  /// The start of an operation that came by mail: runs no user code.
  static void start_entry(queue_entry* entry, runner* where);

 protected:
  using begin_function = void (*)(io_op& op) noexcept;

  explicit operation_deadline(const cancel_limit& limit) noexcept : limit_(limit) {}
  /// Of an inert one.
  operation_deadline(operation_deadline&& other) noexcept : timer_entry(), limit_(other.limit_) {}
  operation_deadline& operator=(operation_deadline&&) = delete;
  ~operation_deadline() = default;

  /// Whether the caller may arm it and begin; else the runner is asked by mail.
  static bool on_runner(const io_op& op) noexcept;
  void mail(io_op& op, begin_function begin) noexcept;

  /// From here on `after` is called by way of `before`. False: there is no memory, which the
  /// operation says as its result.
  bool arm(io_op& op) noexcept;
  void disarm() noexcept;

  void call_first(io_op& op, queue_entry::run_function before) noexcept {
    delivery_ = op.complete;
    op.complete = before;
  }
  void leave_to_last(io_op& op) const noexcept { op.complete = delivery_; }

 private:
  struct start_order : queue_entry {
    io_op* op;
    begin_function begin;
  };

  static void on_expired(timer_entry& entry, io_loop& loop, bool shutting_down) noexcept;

  cancel_limit limit_;
  io_op* op_ = nullptr;
  queue_entry::run_function delivery_ = nullptr;
  start_order order_;
};

template <class Op>
class timed_operation : public Op, private operation_deadline {
 public:
  timed_operation(Op&& inert, const cancel_limit& limit)
      : Op(static_cast<Op&&>(inert)), operation_deadline(limit) {}
  timed_operation(timed_operation&& other) = default;
  timed_operation& operator=(timed_operation&&) = delete;

  void begin() noexcept {
    this->call_first(*this, &ended);
    if (on_runner(*this)) {
      begin_here(*this);
    } else {
      this->mail(*this, &begin_here);
    }
  }

  bool begin_immediate() noexcept {
    if (!on_runner(*this)) {
      begin();
      return false;
    }
    this->call_first(*this, &ended);
    if (!this->arm(*this) || !Op::begin_immediate()) return false;
    this->disarm();
    this->leave_to_last(*this);
    return true;
  }

 private:
  static void begin_here(io_op& op) noexcept {
    auto& self = static_cast<timed_operation&>(op);
    if (self.arm(op)) self.Op::begin();
  }
  static void ended(queue_entry* entry, runner* where) {
    auto& self = static_cast<timed_operation&>(*static_cast<io_op*>(entry));
    self.disarm();
    self.leave_to_last(self);
    self.complete(entry, where);
  }
};

}  // namespace beck::detail
