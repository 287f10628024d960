// SPDX-License-Identifier: BSL-1.0
// pthread_sigmask(3), rt_sigtimedwait(2), rt_sigqueueinfo(2). The kernel sends SIGPIPE to the
// thread that made the call, in the name of its process: that tells it from one that was sent to
// the program, but for a kill(2) of the program's own.
#include "io/system/pipe_signal.hpp"

#include <ctime>

#include <sys/syscall.h>
#include <unistd.h>

#include "base/fatal_call.hpp"
#include "io/system/posix_retry.hpp"

namespace beck::detail {
namespace {
constexpr std::size_t kernel_sigset_bytes = 8;
}

pipe_signal_guard::pipe_signal_guard() noexcept {
  sigemptyset(&pipe_signal_);
  sigaddset(&pipe_signal_, SIGPIPE);
  error_ = ::pthread_sigmask(SIG_BLOCK, &pipe_signal_, &before_);
  was_blocked_ = error_ == 0 && sigismember(&before_, SIGPIPE) != 0;
  if (!was_blocked_) return;
  sigset_t waiting;
  was_pending_ = ::sigpending(&waiting) == 0 && sigismember(&waiting, SIGPIPE) != 0;
}

pipe_signal_guard::~pipe_signal_guard() {
  if (error_ == 0) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void pipe_signal_guard::take_back() const noexcept {
  if (was_pending_) return;
  const timespec at_once{0, 0};
  siginfo_t info;
  // sigtimedwait(3) takes a raise(3) for a kill(2).
  const long taken = retried([&] {
    return ::syscall(SYS_rt_sigtimedwait, &pipe_signal_, &info, &at_once, kernel_sigset_bytes);
  });
  if (taken == -EAGAIN) return;
  // Refused: it would end the program without a word as soon as it is not blocked any more.
  if (taken < 0) end_without_call("rt_sigtimedwait", static_cast<int>(-taken));
  if (info.si_code != SI_USER || info.si_pid != ::getpid()) send_again(info);
}

/// To the thread or to the process. Where the thread takes it at once that is the same.
void pipe_signal_guard::send_again(siginfo_t& info) const noexcept {
  const pid_t self = ::getpid();
  const bool to_process = was_blocked_ && info.si_code != SI_TKILL;
  if (to_process && ::syscall(SYS_rt_sigqueueinfo, self, SIGPIPE, &info) == 0) return;
  // Only the main thread may send in another's name to the process.
  if (::syscall(SYS_rt_tgsigqueueinfo, self, ::gettid(), SIGPIPE, &info) != 0) ::raise(SIGPIPE);
}

}  // namespace beck::detail
