// SPDX-License-Identifier: BSL-1.0
// signal_set: signals of the process as operations, so that a program handles them where it handles
// everything else, and not inside a signal handler.
#pragma once

#include <cstdint>

#include <beck/detail/callback_operation.hpp>
#include <beck/io/io_context.hpp>

namespace beck {

class dump_on_signal;

namespace detail {
struct signal_state;

}  // namespace detail

/// One signal, as its sender gave it. Source: sigaction(2), siginfo_t.
struct signal_info {
  int number = 0;  ///< SIGINT, ...
  int code = 0;    ///< si_code: 0 from kill(2), negative from sigqueue(3), timers and the like
  int value = 0;   ///< the value that was passed to sigqueue(3), else 0
  int sender = 0;  ///< process id; 0: the kernel, or not known
};

namespace detail {

/// A wait for the next signal of a set; starts when awaited or given a token.
class signal_wait : public operation {
 public:
  explicit signal_wait(signal_state& waits_for) noexcept;
  /// Moves an inert one.
  signal_wait(signal_wait&& other) noexcept
      : operation(static_cast<operation&&>(other)), set(other.set) {}

  /// Not without suspension: a signal is never so urgent, and one wait follows another.
  bool await_ready() const noexcept { return false; }

  signal_state* set;
  signal_wait* sibling_next = nullptr;  ///< waits of the same set, while it is in flight
  signal_wait* sibling_previous = nullptr;
  signal_info info;
};

/// Completes with the signal's number.
class [[nodiscard]] signal_operation : public signal_wait {
 public:
  using signature = void(error_code, int);
  using signal_wait::signal_wait;

  io_result<int> await_resume() const noexcept { return {error(), info.number}; }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<signal_operation&&>(*this), static_cast<Token&&>(token));
  }
};

/// Completes with all that is known of the signal.
class [[nodiscard]] signal_info_operation : public signal_wait {
 public:
  using signature = void(error_code, signal_info);
  using signal_wait::signal_wait;

  io_result<signal_info> await_resume() const noexcept { return {error(), info}; }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<signal_info_operation&&>(*this), static_cast<Token&&>(token));
  }
};

}  // namespace detail

/// Signals that a program waits for, in Asio's style. As long as a set holds a signal, its default
/// action and the program's own handler for it are not in effect; when no set holds it any more,
/// the disposition before the first is restored. A child of fork inherits nothing of this: the
/// first signal that arrives there finds the disposition from before.
///
/// Any number of sets, of any contexts, may hold one signal: each gets it. A signal ends all
/// pending waits of the set; if there are none it is kept for the next wait. Signals keep their
/// order, and the values of queued signals (sigqueue(3)) stay with them. A set keeps 512 signals;
/// further ones are counted and not lost, but their value, code and sender are.
///
/// Simulated: a test raises signals (sim::host::raise_signal), and no real ones arrive.
/// Thread: one object from one thread at a time; waits may be started and cancelled off the runner.
/// Requires that at least one thread of the program does not block the signal (pthread_sigmask(3)).
/// Cancellation: cancel() or destruction ends waits with operation_aborted and loses no signal.
/// Source: sigaction(2), signal-safety(7).
class signal_set {
 public:
  /// The executor's type.
  using executor_type = any_io_executor;
  /// The same type with a default token (interop/default_token.hpp).
  template <class Other>
  struct rebind_executor {
    /// The type.
    using other = detail::rebound<signal_set, Other>;
  };

  /// Makes a set without signals.
  explicit signal_set(io_context& context);
  /// As above. Throws io_error (invalid_argument) unless the context of `executor` is an
  /// io_context.
  explicit signal_set(const any_io_executor& executor);
  /// Makes a set with one signal. Throws io_error, as add().
  signal_set(io_context& context, int first);
  /// As above, with two signals.
  signal_set(io_context& context, int first, int second);
  /// As above, with three signals.
  signal_set(io_context& context, int first, int second, int third);
  /// Makes a set on `executor` with one signal. Throws io_error, as add().
  signal_set(const any_io_executor& executor, int first);
  /// As above, with two signals.
  signal_set(const any_io_executor& executor, int first, int second);
  /// As above, with three signals.
  signal_set(const any_io_executor& executor, int first, int second, int third);
  signal_set(signal_set&& other) noexcept;
  signal_set& operator=(signal_set&& other) noexcept;
  ~signal_set();

  /// Returns the executor that waits complete on.
  any_io_executor get_executor() const noexcept;

  /// Adds a signal to the set. Idempotent. Throws io_error: invalid_argument if `number` is no
  /// signal, or one that cannot be caught (SIGKILL, SIGSTOP).
  void add(int number);
  /// As above, with the error in `ec`.
  error_code add(int number, error_code& ec);
  /// Removes a signal from the set, and drops those of its signals that are kept. Idempotent. Waits
  /// go on. Throws io_error: invalid_argument if `number` is no signal.
  void remove(int number);
  /// As above, with the error in `ec`.
  error_code remove(int number, error_code& ec);
  /// Removes all signals. Waits go on.
  void clear();
  /// As above; never fails.
  error_code clear(error_code& ec);

  /// Ends all waits with operation_aborted; on the thread that runs the context if that is another
  /// one.
  void cancel();
  /// As above; `ec` is never set.
  error_code cancel(error_code& ec);

  /// Completes with the next signal: (error_code, int number).
  detail::signal_operation async_wait() noexcept { return detail::signal_operation(*state_); }
  /// As above. `token` takes (error_code, int number).
  template <class Token>
  auto async_wait(Token&& token) {
    return detail::launch(async_wait(), static_cast<Token&&>(token));
  }

  /// Completes with the next signal and all that is known of it: (error_code, signal_info).
  detail::signal_info_operation async_wait_info() noexcept {
    return detail::signal_info_operation(*state_);
  }
  /// As above. `token` takes (error_code, signal_info).
  template <class Token>
  auto async_wait_info(Token&& token) {
    return detail::launch(async_wait_info(), static_cast<Token&&>(token));
  }

 private:
  friend class dump_on_signal;

  detail::signal_state* state_;
};

}  // namespace beck
