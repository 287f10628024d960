// SPDX-License-Identifier: BSL-1.0
//
// Ctrl-C: says what has become of the target, removes a temporary, and ends the process by the
// signal that it got, as its parent expects.
#pragma once

#include <csignal>
#include <string>

namespace beck_copy {

/// Takes SIGINT, SIGTERM and SIGHUP; ignores SIGPIPE and SIGXFSZ, which write() tells of.
void install_interrupt();

/// From now on an interrupt removes the file `temporary`, if it is not empty, and says `state`.
/// One at a time. Main thread.
void arm_interrupt(const std::string& state, const std::string& temporary);
void disarm_interrupt();

/// No interrupt while it lives. Main thread.
class interrupt_pause {
 public:
  interrupt_pause();
  ~interrupt_pause();
  interrupt_pause(const interrupt_pause&) = delete;
  interrupt_pause& operator=(const interrupt_pause&) = delete;

 private:
  sigset_t before_;
};

}  // namespace beck_copy
