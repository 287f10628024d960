// SPDX-License-Identifier: BSL-1.0
// For threads of the library: a signal of the program is never delivered to one of them.
#pragma once

#include <csignal>

namespace beck::detail {

/// Blocks all signals of the calling thread while it lives; threads that are created meanwhile
/// inherit that.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace beck::detail
