// SPDX-License-Identifier: BSL-1.0
// The common part of the synchronisation primitives: operations that wait in first-in, first-out
// lists, which link them through themselves. Waking an operation posts it to its executor; no
// waiter continues inside the call that wakes it, so neither the number of waiters nor a chain of
// them uses the stack.
#pragma once

#include <beck/detail/intrusive_list.hpp>
#include <beck/run/concurrency.hpp>
#include <beck/run/op.hpp>
#include <cstdint>

namespace beck::detail {

/// An operation in the list of a primitive.
class waiter {
 public:
  /// Ends the wait with a result: 0 (the waiter has got its access), a negative result (see
  /// make_error()), or `dropped`: the primitive is gone, and the waiter is given up.
  using wake_function = void (*)(waiter& self, int result) noexcept;
  static constexpr int dropped = 1;
  static constexpr int cancelled = -error::operation_aborted;

  waiter& operator=(const waiter&) = delete;

  /// Returns whether shared access is wanted, for primitives with two kinds of access.
  bool wants_to_share() const noexcept { return shares_; }
  /// Sets whether shared access is wanted.
  void want_to_share(bool shares) noexcept { shares_ = shares; }

  /// Ends the wait. Requires that the waiter was taken out of its list. It may be gone afterwards.
  void wake(int result) noexcept { wake_(*this, result); }

 protected:
  waiter() noexcept = default;
  waiter(waiter&&) noexcept {}  // inert: it is in no list
  ~waiter() = default;

  /// Sets the function that ends the wait.
  void on_wake(wake_function function) noexcept { wake_ = function; }
  /// Returns whether the waiter is in a list. Called by the thread on which it waits.
  bool is_listed() const noexcept { return hook_.is_linked(); }

 private:
  friend class waiter_chain;
  friend class waiter_list;

  list_hook hook_;
  wake_function wake_;
  bool shares_;
  std::uint64_t ticket_ = 0;  // counts the waiters of a list; 0: it never was in one

  using list = intrusive_list<waiter, &waiter::hook_>;
};

/// Waiters that were taken out of a list, to be woken when the primitive's state is unlocked. They
/// are woken one by one, and each is unlinked before it is woken; the primitive is not accessed any
/// more.
class waiter_chain {
 public:
  waiter_chain() noexcept = default;

  void push(waiter& one) noexcept { waiters_.push_back(one); }
  /// Wakes all waiters with `result`, in their order.
  void wake_all(int result) noexcept {
    while (waiter* const next = waiters_.pop_front()) next->wake(result);
  }

 private:
  friend class waiter_list;
  waiter::list waiters_;
};

/// The waiters of one primitive, in the order of their arrival. Used under its state_lock.
class waiter_list {
 public:
  waiter_list() noexcept = default;
  /// Gives up the operations that still wait: handlers are destroyed un-run.
  ~waiter_list();

  bool empty() const noexcept { return waiters_.empty(); }
  /// Returns the first waiter, or nullptr.
  waiter* front() noexcept { return waiters_.front(); }

  /// Appends a waiter.
  void join(waiter& one) noexcept {
    one.ticket_ = next_ticket_++;
    waiters_.push_back(one);
  }
  /// Takes the first waiter out and returns it; nullptr if there is none.
  waiter* pop() noexcept {
    waiter* const first = waiters_.pop_front();
    if (first != nullptr) woken_below_ = first->ticket_ + 1;
    return first;
  }
  /// Takes all waiters out and appends them to `into`.
  void take_all(waiter_chain& into) noexcept {
    into.waiters_.splice_back(waiters_);
    woken_below_ = next_ticket_;
  }
  /// Takes a waiter out whose wait was cancelled. Returns false if it was taken out before or never
  /// was in the list; it then keeps the result that it has.
  bool leave(waiter& one) noexcept {
    if (one.ticket_ < woken_below_) return false;
    waiters_.erase(one);
    one.ticket_ = 0;
    return true;
  }

 private:
  waiter::list waiters_;
  // Waiters with a lower ticket were taken out; those in a chain stay linked until they are woken.
  std::uint64_t woken_below_ = 1;
  std::uint64_t next_ticket_ = 1;
};

/// The operation that waits for a primitive; it completes with (error_code), or (error_code,
/// Guard). Access defines the kind of access:
///   using primitive = ...
///   static bool try_take(primitive&) noexcept          takes it at once, unless others wait
///   static bool join(primitive&, waiter&) noexcept     returns true if it took it at once, without
///                                                      joining the list
///   static bool leave(primitive&, waiter&) noexcept    as waiter_list::leave()
///   static constexpr const char* waits_for = ...       its name in a dump
/// Cancellation: the operation leaves the list and ends with operation_aborted. If the primitive
/// was handed over before the cancellation, the wait succeeds.
template <class Access, class... Guard>
class [[nodiscard]] wait_operation
    : public op<wait_operation<Access, Guard...>, void(error_code, Guard...)>,
      private waiter {
  using base = op<wait_operation, void(error_code, Guard...)>;
  using primitive_type = typename Access::primitive;

 public:
  using typename base::handler;
  static constexpr const char* waits_for = Access::waits_for;

  explicit wait_operation(primitive_type& primitive) noexcept : primitive_(&primitive) {}
  /// Moves an operation that was not started.
  wait_operation(wait_operation&& other) noexcept
      : base(static_cast<base&&>(other)),
        waiter(static_cast<waiter&&>(other)),
        primitive_(other.primitive_) {}
  wait_operation& operator=(wait_operation&&) = delete;
  ~wait_operation() {
    if (is_listed()) [[unlikely]]
      Access::leave(*primitive_, *this);
  }

  /// Completes at once if the primitive is free. Returns whether it did.
  bool ready() {
    return Access::try_take(*primitive_) && this->finish(error_code(), Guard(*primitive_)...);
  }
  /// Waits for the primitive, and calls `done` in the end.
  void initiate(handler done) {
    on_wake(&end_wait);
    done_ = static_cast<handler&&>(done);
    if (Access::join(*primitive_, *this)) end_wait(*this, 0);
  }
  /// Ends the wait with operation_aborted, unless the primitive was handed over before.
  void cancel() noexcept {
    primitive_type* const primitive = __atomic_load_n(&primitive_, __ATOMIC_RELAXED);
    if (primitive != nullptr && Access::leave(*primitive, *this)) end_wait(*this, cancelled);
  }

 private:
  static void end_wait(waiter& one, int result) noexcept {
    auto& self = static_cast<wait_operation&>(one);
    handler done(static_cast<handler&&>(self.done_));
    // The woken waiter is out of its list, and the primitive may go before the coroutine
    // continues.
    [[maybe_unused]] primitive_type* const primitive =
        __atomic_exchange_n(&self.primitive_, nullptr, __ATOMIC_RELAXED);
    if (result == dropped) return;
    if (result == 0) {
      done(error_code(), Guard(*primitive)...);
    } else {
      done(make_error(result), Guard()...);
    }
  }

  primitive_type* primitive_;
  handler done_;
};

}  // namespace beck::detail
