// SPDX-License-Identifier: BSL-1.0
//
// Ctrl-C: prints the state of the target, removes a temporary file, and ends the process by the
// signal that it received, as its parent expects.
#pragma once

#include <csignal>
#include <string>

namespace beck_copy {

/// Handles SIGINT, SIGTERM and SIGHUP; ignores SIGPIPE and SIGXFSZ, which write() reports as
/// errors.
void install_interrupt();

/// Makes an interrupt remove the file `temporary`, unless that name is empty, and print `state`.
/// At most one is armed at a time. Main thread.
void arm_interrupt(const std::string& state, const std::string& temporary);
void disarm_interrupt();

/// Blocks interrupts while it lives. Main thread.
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
