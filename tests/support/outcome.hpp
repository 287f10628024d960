// SPDX-License-Identifier: BSL-1.0
// The outcome of one asynchronous operation, for cases that look at handlers from outside: the
// number of calls of its handler, its error and its bytes.
#pragma once

#include <beck/base/error.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <cstddef>
#include <ostream>

namespace beck::test {
using namespace detail;

struct outcome {
  int calls = 0;
  error_code ec = error::interrupted;  // no operation ends with it
  std::size_t bytes = 0;

  bool done() const { return calls != 0; }
  bool ok() const { return calls == 1 && !ec; }
  bool ended_with(const error_code& expected) const { return calls == 1 && ec == expected; }
  bool aborted() const { return ended_with(error::operation_aborted); }
};

/// A handler that notes its arguments.
class note {
 public:
  explicit note(outcome& of) : of_(&of) {}
  void operator()(const error_code& ec) const {
    ++of_->calls;
    of_->ec = ec;
  }
  void operator()(const error_code& ec, std::size_t bytes) const {
    (*this)(ec);
    of_->bytes = bytes;
  }

 private:
  outcome* of_;
};

/// Runs handlers one by one until `done()` returns true; returns false if the context ran out of
/// work before.
template <class Done>
bool run_until(io_context& context, Done done) {
  context.restart();
  while (!done()) {
    if (context.run_one() == 0) return done();
  }
  return true;
}
inline bool run_until(io_context& context, const outcome& one) {
  return run_until(context, [&one] { return one.done(); });
}

/// Runs the context until it is out of work.
inline void run_all(io_context& context) {
  context.restart();
  context.run();
}

/// Runs the handlers that are ready; afterwards operations started before are armed, parked or in
/// the kernel.
inline void let_settle(io_context& context) {
  context.restart();
  context.poll();
}

/// Lets `time` pass, virtual or real, by waiting for a timer, and runs the handlers that become
/// ready meanwhile.
inline void tick(io_context& context, duration time = duration(1000)) {
  steady_timer timer(context, time);
  outcome waited;
  timer.async_wait(note(waited));
  run_until(context, waited);
}

}  // namespace beck::test
