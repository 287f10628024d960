// SPDX-License-Identifier: BSL-1.0
// Records which initiating functions are on this thread's stack, so that a completion inside its
// own initiating function can be told from others: a callback never runs inside the function that
// started it, and a coroutine need not suspend at all.
#pragma once

namespace beck::detail {

/// Marks an initiating function while it is on the stack. Once such a function has passed its
/// handler on, this is the only object that it may still access: the operation may have ended and
/// been destroyed, on another thread.
class initiating_call {
 public:
  /// The outcome of the operation, as far as it came about inside the call.
  enum class outcome : unsigned char { pending, completed, dropped };

  /// Marks the calling function. `owner`: the slot that the operation will fill, if it has one.
  explicit initiating_call(const void* owner = nullptr) noexcept
      : outer_(innermost_), owner_(owner) {
    innermost_ = this;
  }
  ~initiating_call() { innermost_ = outer_; }
  initiating_call(const initiating_call&) = delete;
  initiating_call& operator=(const initiating_call&) = delete;

  /// Returns the call on this thread's stack that initiates for `owner`, or nullptr.
  static initiating_call* of(const void* owner) noexcept {
    initiating_call* at = innermost_;
    while (at != nullptr && at->owner_ != owner) at = at->outer_;
    return at;
  }

  /// Returns whether the caller is inside `call`, which may be gone. A later call at the same
  /// address is mistaken for it; then a completion is queued that could have been called.
  static bool encloses(const initiating_call* call) noexcept {
    const initiating_call* at = innermost_;
    while (at != nullptr && at != call) at = at->outer_;
    return at != nullptr;
  }

  outcome result() const noexcept { return result_; }
  void end_with(outcome result) noexcept { result_ = result; }

 private:
  friend struct fiber_state;  // the simulator's threads have one each

  static thread_local constinit initiating_call* innermost_ [[gnu::tls_model("initial-exec")]];

  initiating_call* outer_;
  const void* owner_;
  outcome result_ = outcome::pending;
};

}  // namespace beck::detail
