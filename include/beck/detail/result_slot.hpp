// SPDX-License-Identifier: BSL-1.0
// The slot in which a handler leaves its result for a waiter: a coroutine's frame, or the block of
// an operation that a user wrote. The handler may be called on any thread, even inside the
// initiation; delivering never allocates, because the slot is its own queue entry.
#pragma once

#include <beck/base/error.hpp>
#include <beck/detail/awaited_result.hpp>
#include <beck/detail/initiating_call.hpp>
#include <beck/detail/opaque_value.hpp>
#include <beck/detail/scope.hpp>
#include <beck/run/cancellation.hpp>
#include <coroutine>
#include <new>

namespace beck::detail {

/// The part of a slot that does not depend on the result. The derived class sets `run`: it delivers
/// the result (with a runner), or gives up what the slot owns (with nullptr: the handler was
/// dropped, or the queue was destroyed).
class completion_slot : public queue_entry {
 public:
  completion_slot() noexcept = default;
  completion_slot(const completion_slot&) = delete;
  completion_slot& operator=(const completion_slot&) = delete;

  /// Returns the executor on which the result is delivered.
  const any_io_executor& executor() const noexcept { return *executor_; }
  /// Returns the slot through which the operations that were given the handler can be cancelled.
  cancellation_slot cancellation() const noexcept { return cancellation_; }

 protected:
  /// Prepares the slot for an initiation: counts outstanding work on `executor`, which must live as
  /// long as the slot. The initiation runs inside an initiating_call of the slot; if that is still
  /// pending afterwards, the slot belongs to the handler and may be gone already. Otherwise it
  /// belongs to the caller again, and settle() ends the work.
  void begin(const any_io_executor& executor, run_function deliver,
             cancellation_slot cancellation) noexcept {
    run = deliver;
    executor_ = &executor;
    // Where entries run in parallel a request would race with the end of the operation.
    if (!executor.table()->concurrent) cancellation_ = cancellation;
    executor.on_work_started();
  }
  /// Ends the outstanding work that begin() has counted.
  void end_work() noexcept { executor_->on_work_finished(); }

  /// Returns whether a coroutine stays suspended after the initiation. A result that is already
  /// there is used at once if the budget allows it, and queued otherwise.
  bool stay_suspended(const initiating_call& call) {
    return call.result() == initiating_call::outcome::pending || !continue_at_once(call);
  }

  /// Tells the waiter that the result is set. Called by the handler.
  void filled();
  /// Tells the waiter that there will never be a result. Called by the handler.
  void abandoned() noexcept;

 private:
  bool continue_at_once(const initiating_call& call);

  const any_io_executor* executor_ = nullptr;
  cancellation_slot cancellation_;
};

template <class... A>
class result_handler;

/// A slot with room for the arguments of a completion.
template <class... A>
class result_slot : public completion_slot {
 public:
  using result_type = awaited_result_t<A...>;

  result_slot() noexcept : empty_() {}
  ~result_slot() {
    sever();
    if (full_) result_.~result_type();
  }

 protected:
  /// Stores the result, instead of one that was prepared.
  void set(A... a) {
    if (std::exchange(full_, false)) result_.~result_type();
    prepare(static_cast<A&&>(a)...);
  }
  /// Makes the result for an operation that fills it in place, and ends with
  /// result_handler::complete(). Requires that there is none.
  template <class... Start>
  void prepare(Start&&... start) {
    ::new (static_cast<void*>(&result_)) result_type(static_cast<Start&&>(start)...);
    full_ = true;
  }
  /// Returns the result. Requires that it is set or prepared.
  result_type&& get() noexcept { return static_cast<result_type&&>(result_); }
  /// Sets the error of a result that a stop of `environment` has cancelled to the reason of the
  /// stop.
  void explain(scope& environment) noexcept {
    if constexpr (is_io_result<result_type>) {
      if (environment.stop_requested() && result_.error_ == make_error(cancelled_result)) {
        result_.error_ = make_error(environment.stop_result());
      }
    }
  }

  /// Runs the initiation of a coroutine's operation, after begin(). Returns whether the coroutine
  /// stays suspended. Exceptions of the initiation pass through, and the handler then forgets the
  /// slot.
  template <class Initiation>
  bool initiate_suspended(Initiation&& initiation) {
    const initiating_call call(static_cast<completion_slot*>(this));
    try {
      static_cast<Initiation&&>(initiation)(result_handler<A...>(*this));
    } catch (...) {
      sever();
      this->end_work();
      throw;
    }
    return this->stay_suspended(call);
  }

  /// Returns the value of the co_await expression for this slot.
  auto take() {
    if constexpr (is_io_result<result_type>) {
      return get();
    } else {
      return get().value();
    }
  }

  /// Makes the handler forget the slot, which is about to be destroyed.
  void sever() noexcept {
    if (handler_ != nullptr) std::exchange(handler_, nullptr)->slot_ = nullptr;
  }

 private:
  friend class result_handler<A...>;

  union {
    char empty_;
    result_type result_;
  };
  result_handler<A...>* handler_ = nullptr;
  bool full_ = false;
};

/// The handler that fills a slot: move-only, one pointer; called at most once, from any thread,
/// also inside the initiation. When it is called or destroyed, the waiter is told through its own
/// executor, never inside the call.
template <class... A>
class result_handler {
 public:
  using executor_type = any_io_executor;
  static constexpr bool only_keeps_result = true;

  /// Makes an empty handler, which does nothing when it is called. For operations that keep the
  /// handler that they are started with.
  result_handler() noexcept : slot_(nullptr) {}
  explicit result_handler(result_slot<A...>& slot) noexcept : slot_(&slot) {
    // Behind opaque_value(): g++ 12 takes the back link, which the destructor clears, for a
    // dangling one.
    slot_->handler_ = detail::opaque_value(this);
  }
  result_handler(result_handler&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {
    if (slot_ != nullptr) slot_->handler_ = detail::opaque_value(this);
  }
  result_handler& operator=(result_handler&& other) noexcept {
    result_handler previous(static_cast<result_handler&&>(*this));
    slot_ = std::exchange(other.slot_, nullptr);
    if (slot_ != nullptr) slot_->handler_ = detail::opaque_value(this);
    return *this;
  }
  ~result_handler() {
    if (slot_ != nullptr) take()->abandoned();
  }

  /// Returns whether a waiter has not been told yet.
  explicit operator bool() const noexcept { return slot_ != nullptr; }
  /// Returns the executor on which the result is delivered: operations below use it for their own
  /// completions.
  executor_type get_executor() const noexcept {
    return slot_ != nullptr ? slot_->executor() : executor_type();
  }
  /// Returns the slot through which the operations below can be cancelled.
  cancellation_slot get_cancellation_slot() const noexcept {
    return slot_ != nullptr ? slot_->cancellation() : cancellation_slot();
  }

  /// Fills the slot. Does nothing if the waiter is gone (its context was destroyed).
  void operator()(A... a) {
    if (slot_ != nullptr) slot_->set(static_cast<A&&>(a)...);
    complete();
  }
  /// As above, with the result that the slot has prepared.
  void complete() {
    if (slot_ != nullptr) take()->filled();
  }

 private:
  friend class result_slot<A...>;

  result_slot<A...>* take() noexcept {
    slot_->handler_ = nullptr;
    return std::exchange(slot_, nullptr);
  }

  result_slot<A...>* slot_;
};

/// Registers `leaf` with the scope while an operation is being initiated; the destructor
/// unregisters it again unless the operation has begun and suspends the coroutine. If the scope was
/// stopped before, the operation is cancelled as soon as it has begun.
class scope_wait {
 public:
  scope_wait(scope& environment, void* leaf, const wait_kind& kind) noexcept
      : environment_(&environment) {
    environment.wait_at_start(leaf, kind);
  }
  ~scope_wait() {
    if (environment_ != nullptr) environment_->stop_waiting();
  }
  scope_wait(const scope_wait&) = delete;
  scope_wait& operator=(const scope_wait&) = delete;

  /// Ends the initiation: keeps the wait if the coroutine is suspended. Returns `suspended`.
  bool keep(bool suspended) noexcept {
    if (suspended) std::exchange(environment_, nullptr)->started();
    return suspended;
  }

 private:
  scope* environment_;
};

/// The slot in the frame of an awaiting coroutine.
template <class... A>
class awaiting_slot : public result_slot<A...> {
 public:
  /// Awaits the operation that `initiation` starts. Returns whether the coroutine stays suspended.
  template <class Initiation>
  bool suspend(continuation coroutine, scope& environment, Initiation&& initiation) {
    coroutine_ = coroutine;
    scope_ = &environment;
    this->begin(environment.executor(), &resume_entry, signal_.slot());
    static constexpr wait_kind kind{&cancel_wait, "an operation with a handler"};
    scope_wait waiting(environment, this, kind);
    return waiting.keep(this->initiate_suspended(static_cast<Initiation&&>(initiation)));
  }
  using result_slot<A...>::take;

 private:
  static void resume_entry(queue_entry* entry, runner* where) {
    if (where == nullptr) return;  // the frame belongs to its tree, which destroys it
    ++where->counters.delivered;
    auto* self = static_cast<awaiting_slot*>(entry);
    self->explain(*self->scope_);
    self->scope_->resume(self->coroutine_, *where);
  }
  static scope* cancel_wait(void* leaf, scope&) noexcept {
    static_cast<awaiting_slot*>(leaf)->signal_.emit(cancellation_type::all);
    return nullptr;
  }

  continuation coroutine_;
  scope* scope_;
  cancellation_signal signal_;
};

}  // namespace beck::detail
