// SPDX-License-Identifier: BSL-1.0
// Calls that raise SIGPIPE and cannot be told not to: sendfile(2), splice(2). A library must not
// change what the program does with its signals, so the signal is blocked in this thread meanwhile
// and taken back if it came.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>

#include "io/posix_retry.hpp"

namespace beck {

/// Makes a call that moves up to `bytes` and gives how many, or -errno. The signal mask, a signal
/// that was pending before and every other thread stay as they were.
template <class Call>
std::ptrdiff_t with_pipe_signal_kept_back(std::size_t bytes, Call call) noexcept {
  sigset_t pipe_signal;
  sigset_t before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  bool pending = false;  // since before: then it is not ours to take
  if (sigismember(&before, SIGPIPE) != 0) {
    sigset_t waiting;
    ::sigpending(&waiting);
    pending = sigismember(&waiting, SIGPIPE) != 0;
  }
  const std::ptrdiff_t result = call();
  // A call that goes on inside the kernel after it has moved something raises the signal and gives
  // the count: only one that moved all, or found no room, is known to have raised none.
  const bool may_have_come =
      result != -EAGAIN && result != static_cast<std::ptrdiff_t>(bytes) && !pending;
  if (may_have_come) {
    const timespec at_once{0, 0};
    static_cast<void>(retried([&] { return ::sigtimedwait(&pipe_signal, nullptr, &at_once); }));
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

}  // namespace beck
