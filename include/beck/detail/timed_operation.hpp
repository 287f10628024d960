// SPDX-License-Identifier: BSL-1.0
// An operation with a handler and a timer that cancels it: cancel_after() makes one of the
// library's own operations. The timer is a part of the operation, so it shares the handler's block.
#pragma once

#include <beck/coro/timeout.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/timer_entry.hpp>
#include <beck/run/cancellation.hpp>

namespace beck::detail {

/// The time at which an operation is cancelled, and the type of the cancellation.
class cancel_limit {
 public:
  cancel_limit(duration after, cancellation_type type) noexcept
      : limit_(after, stop_reason::stop), type_(type) {}
  cancel_limit(time_point at, cancellation_type type) noexcept
      : limit_(at, stop_reason::stop), type_(type) {}

  /// Returns the time.
  const time_limit& limit() const noexcept { return limit_; }
  /// Returns the type of the cancellation.
  cancellation_type type() const noexcept { return type_; }
  /// Returns whether the limit cancels a composed operation, of which the bytes that it has moved
  /// cannot be undone.
  bool means_composed() const noexcept {
    return !!(type_ & (cancellation_type::terminal | cancellation_type::partial));
  }

 private:
  time_limit limit_;
  cancellation_type type_;
};

/// The part that is no template. Thread: the thread that starts the operation, then the runner of
/// its context.
class operation_deadline : private timer_entry {
 public:
  /// Starts an operation that came through the inbox. Runs no user code.
  static void start_entry(queue_entry* entry, runner* where);

 protected:
  using begin_function = void (*)(io_op& op) noexcept;

  explicit operation_deadline(const cancel_limit& limit) noexcept : limit_(limit) {}
  /// Moves the timer of an operation that was not started.
  operation_deadline(operation_deadline&& other) noexcept : timer_entry(), limit_(other.limit_) {}
  operation_deadline& operator=(operation_deadline&&) = delete;
  ~operation_deadline() = default;

  /// Returns whether the caller may arm the timer and begin the operation; otherwise mail() asks
  /// the runner to do so.
  static bool on_runner(const io_op& op) noexcept;
  /// Sends `op` to the runner of its context, which calls `begin(op)`.
  void mail(io_op& op, begin_function begin) noexcept;

  /// Arms the timer, which cancels `op` when it expires. Returns false if there is no memory: `op`
  /// then completes with no_memory.
  bool arm(io_op& op) noexcept;
  /// Disarms the timer. Does nothing if it is not armed.
  void disarm() noexcept;

  /// Makes the completion of `op` call `before` instead of the function that was set.
  void call_first(io_op& op, queue_entry::run_function before) noexcept {
    delivery_ = op.complete;
    op.complete = before;
  }
  /// Restores the completion that call_first() has replaced.
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

/// An operation of type Op with a timer that cancels it.
template <class Op>
class timed_operation : public Op, private operation_deadline {
 public:
  timed_operation(Op&& inert, const cancel_limit& limit)
      : Op(static_cast<Op&&>(inert)), operation_deadline(limit) {}
  timed_operation(timed_operation&& other) = default;
  timed_operation& operator=(timed_operation&&) = delete;

  /// Arms the timer and starts the operation, on the runner.
  void begin() noexcept {
    this->call_first(*this, &ended);
    if (on_runner(*this)) {
      begin_here(*this);
    } else {
      this->mail(*this, &begin_here);
    }
  }

  /// Arms the timer and starts the operation. Returns true if it finished within the call and
  /// nothing was queued.
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
