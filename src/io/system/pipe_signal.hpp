// SPDX-License-Identifier: BSL-1.0
// Calls that raise SIGPIPE and cannot be told not to: sendfile(2), splice(2), and writev(2) to
// pipes before Linux 6.18. A library must not change what the program does with its signals, so the
// signal is blocked in this thread meanwhile and taken back if it came.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace beck::detail {

/// SIGPIPE of this thread, blocked while this lives.
class pipe_signal_guard {
 public:
  pipe_signal_guard() noexcept;
  /// The mask is as it was before.
  ~pipe_signal_guard();
  pipe_signal_guard(const pipe_signal_guard&) = delete;
  pipe_signal_guard& operator=(const pipe_signal_guard&) = delete;

  /// An errno value: the signal cannot be blocked, so nothing may be called that raises it.
  int error() const noexcept { return error_; }
  /// After a call that may have raised it: takes it back. What others have sent meanwhile, and what
  /// was pending before, stays.
  void take_back() const noexcept;

 private:
  void send_again(siginfo_t& info) const noexcept;

  sigset_t pipe_signal_;
  sigset_t before_;
  int error_;
  bool was_blocked_ = false;
  bool was_pending_ = false;  // then it is not ours to take
};

/// Makes a call that moves up to `bytes` and gives how many, or -errno. The signal mask, signals
/// from elsewhere and every other thread stay as they were.
template <class Call>
std::ptrdiff_t with_pipe_signal_kept_back(std::size_t bytes, Call call) noexcept {
  const pipe_signal_guard kept;
  if (kept.error() != 0) return -kept.error();
  const std::ptrdiff_t result = call();
  // A call that goes on inside the kernel after it has moved something raises the signal and gives
  // the count: only one that moved all, or found no room, is known to have raised none.
  if (result != -EAGAIN && result != static_cast<std::ptrdiff_t>(bytes)) kept.take_back();
  return result;
}

// Writing to pipes without SIGPIPE: the form for kernels that have none, which tests reach here.

struct io_vector;

/// writev(2) to a pipe that may have no readers. Linux before 6.18 cannot be told to send no
/// signal, so SIGPIPE is blocked in this thread meanwhile, and taken back if it came: two more
/// system calls for each write. The signal mask, a signal that was pending before and every other
/// thread stay as they were.
std::ptrdiff_t write_blocking_signal(int fd, const io_vector* parts, std::size_t count) noexcept;

}  // namespace beck::detail
