// SPDX-License-Identifier: BSL-1.0
// thread: Asio's class of its own, which detaches at its end where std::thread ends the program.
#pragma once

#include <thread>

#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

/// A thread of the program.
class thread {
 public:
  /// Runs `function` on a new thread. Throws std::system_error.
  template <class Function>
  explicit thread(Function function) : running_(static_cast<Function&&>(function)) {}
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;
  /// Lets the thread go on alone, if join() was not called.
  ~thread() {
    if (running_.joinable()) running_.detach();
  }
  /// Blocks until the function has returned.
  void join() {
    if (running_.joinable()) running_.join();
  }

 private:
  std::thread running_;
};

BECK_ASIO_END
