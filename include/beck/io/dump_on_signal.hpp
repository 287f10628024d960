// SPDX-License-Identifier: BSL-1.0
// dump_on_signal: a look into a program that runs, from outside: `kill -USR1 PID`.
#pragma once

#include <beck/io/signal_set.hpp>

namespace beck {

/// As long as it lives, each signal `number` makes the context print its tasks (io_context::dump)
/// to a file descriptor, by default stderr: between two handlers of the thread that runs it, or as
/// soon as a thread runs it. Signals that arrive before that are printed once. It is no outstanding
/// work: run() returns as if it did not exist.
///   beck::dump_on_signal on_demand(ctx, SIGUSR1);
/// Otherwise as a signal_set: other sets and contexts may hold the same signal, and all get it; in
/// a simulated context sim::host::raise_signal() raises it. Thread: made and destroyed by one
/// thread at a time. Requires: the descriptor stays open as long as the context.
class dump_on_signal {
 public:
  /// Starts to print on signal `number`. Throws as signal_set::add().
  explicit dump_on_signal(io_context& context, int number, int fd = 2);

 private:
  signal_set signals_;
};

}  // namespace beck
