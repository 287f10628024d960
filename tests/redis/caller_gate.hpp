// SPDX-License-Identifier: BSL-1.0
// Stops the callers of a test between two of their calls, so that counters and outcomes can be
// compared.
#pragma once

#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>

namespace beck::redis::test {

/// A gate that each caller passes before a call. Thread: that of the context.
class caller_gate {
 public:
  void close() { opened_.reset(); }
  void open() { opened_.set(); }
  /// Opens the gate, and lets the callers end.
  void end() {
    is_over_ = true;
    open();
  }
  /// Returns how many callers wait.
  int waiting() const { return waiting_; }

  /// Waits while the gate is closed. Returns false if the caller is to end.
  task<bool> pass() {
    while (!opened_.is_set()) {
      ++waiting_;
      beck::ignore(co_await opened_.wait());
      --waiting_;
    }
    co_return !is_over_;
  }

 private:
  manual_reset_event opened_{true};
  int waiting_ = 0;
  bool is_over_ = false;
};

}  // namespace beck::redis::test
