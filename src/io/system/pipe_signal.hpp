// SPDX-License-Identifier: BSL-1.0
// Support for calls that raise SIGPIPE and have no flag against it: sendfile(2), splice(2), and
// writev(2) to pipes before Linux 6.18. A library must not change what the program does with its
// signals, so the signal is blocked in this thread during the call and removed if it was raised.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace beck::detail {

/// Blocks SIGPIPE in this thread for its lifetime.
class pipe_signal_guard {
 public:
  pipe_signal_guard() noexcept;
  /// Restores the signal mask.
  ~pipe_signal_guard();
  pipe_signal_guard(const pipe_signal_guard&) = delete;
  pipe_signal_guard& operator=(const pipe_signal_guard&) = delete;

  /// Returns 0, or an errno value if the signal cannot be blocked: then no call may be made that
  /// raises it.
  int error() const noexcept { return error_; }
  /// Removes the signal after a call that may have raised it. A SIGPIPE from another source, and
  /// one that was pending before, stays.
  void take_back() const noexcept;

 private:
  void send_again(siginfo_t& info) const noexcept;

  sigset_t pipe_signal_;
  sigset_t before_;
  int error_;
  bool was_blocked_ = false;
  bool was_pending_ = false;  // then it is not removed
};

/// Makes a call that moves up to `bytes`. Returns the number of bytes, or -errno. The signal mask,
/// signals from other sources and all other threads stay as they were.
template <class Call>
std::ptrdiff_t with_pipe_signal_kept_back(std::size_t bytes, Call call) noexcept {
  const pipe_signal_guard kept;
  if (kept.error() != 0) return -kept.error();
  const std::ptrdiff_t result = call();
  // A call that continues inside the kernel after it has moved some bytes raises the signal and
  // returns their count. Only a call that moved all bytes, or found no room, is known to have
  // raised none.
  if (result != -EAGAIN && result != static_cast<std::ptrdiff_t>(bytes)) kept.take_back();
  return result;
}

// Writing to pipes without SIGPIPE, for kernels without RWF_NOSIGNAL; declared here for the tests.

struct io_vector;

/// Calls writev(2) on a pipe that may have no readers. Linux before 6.18 cannot be told to send no
/// signal, so SIGPIPE is blocked in this thread during the call, and removed if it was raised: two
/// more system calls for each write. The signal mask, a signal that was pending before and all
/// other threads stay as they were.
std::ptrdiff_t write_blocking_signal(int fd, const io_vector* parts, std::size_t count) noexcept;

}  // namespace beck::detail
