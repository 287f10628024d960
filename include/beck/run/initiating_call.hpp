// SPDX-License-Identifier: BSL-1.0
// Knows which initiating functions are on this thread's stack, so that a completion that comes up inside its
// own initiating function can be queued: a callback never runs inside the function that started it.
#pragma once

namespace beck {

/// Marks an initiating function for as long as it is on the stack. Others keep only its address.
class initiating_call {
 public:
  initiating_call() noexcept : outer_(innermost_) { innermost_ = this; }
  ~initiating_call() { innermost_ = outer_; }
  initiating_call(const initiating_call&) = delete;
  initiating_call& operator=(const initiating_call&) = delete;

  /// Whether the caller is inside `call`, which may be gone. A later one at the same address is taken for it;
  /// then a completion is queued that could have been called.
  static bool encloses(const initiating_call* call) noexcept {
    const initiating_call* at = innermost_;
    while (at != nullptr && at != call) at = at->outer_;
    return at != nullptr;
  }

 private:
  static thread_local constinit initiating_call* innermost_ [[gnu::tls_model("initial-exec")]];

  initiating_call* outer_;
};

}  // namespace beck
