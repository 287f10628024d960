// SPDX-License-Identifier: BSL-1.0
// dump_on_signal: a look into a program that runs, from outside: `kill -USR1 PID`.
#pragma once

#include <beck/io/signal_set.hpp>

namespace beck {

/// While it lives, each signal `number` makes the context print its tasks (io_context::dump) to a
/// file descriptor, by default stderr: between two handlers of the thread that runs it, or as soon
/// as one does. Signals that come meanwhile are one. It is no outstanding work: run() returns as if
/// it were not there.
///   beck::dump_on_signal on_demand(ctx, SIGUSR1);
/// As a signal_set otherwise: other sets and contexts may hold the same signal, and all get it; in
/// a simulated context it is sim::host::raise_signal() that makes it print. Throws what
/// signal_set::add() throws. Thread: made and destroyed by one thread at a time. The descriptor
/// stays open as long as the context.
class dump_on_signal {
 public:
  explicit dump_on_signal(io_context& context, int number, int fd = 2);

 private:
  signal_set signals_;
};

}  // namespace beck
