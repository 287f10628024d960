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
  int value = 0;   ///< what sigqueue(3) gave along; 0 where nothing was
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

/// Gives the signal's number.
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

/// Gives all that is known of the signal.
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

/// Signals that a program waits for, in Asio's style. While a set holds a signal, its default
/// action and the program's own handler for it are out of force; when no set holds it any more,
/// what was there before the first is back. In a child of fork nothing of this holds: the first
/// signal that arrives there meets what was there before.
///
/// Any number of sets, of any contexts, may hold one signal: each gets it. A signal ends all waits
/// of the set that are pending; if there is none it is kept for the next one. Each keeps its order,
/// and the values of queued signals (sigqueue(3)) stay with them. A set keeps 512 signals; what
/// comes on top of that is counted and not lost, but its value, code and sender are.
///
/// Simulated: signals are what a test raises (sim::host::raise_signal), and no real ones arrive.
/// Thread: one object from one thread at a time; waits may be started and cancelled off the runner.
/// No thread may block the signal that it wants to arrive in all of them (pthread_sigmask(3)).
/// Cancellation: cancel() or destruction ends waits with operation_aborted and loses no signal.
/// Source: sigaction(2), signal-safety(7).
class signal_set {
 public:
  using executor_type = any_io_executor;

  explicit signal_set(io_context& context);
  /// Requires an executor whose context is an io_context; throws io_error (invalid_argument) else.
  explicit signal_set(const any_io_executor& executor);
  /// With one, two or three signals. Throws io_error, as add() does.
  signal_set(io_context& context, int first);
  signal_set(io_context& context, int first, int second);
  signal_set(io_context& context, int first, int second, int third);
  signal_set(const any_io_executor& executor, int first);
  signal_set(const any_io_executor& executor, int first, int second);
  signal_set(const any_io_executor& executor, int first, int second, int third);
  signal_set(signal_set&& other) noexcept;
  signal_set& operator=(signal_set&& other) noexcept;
  ~signal_set();

  any_io_executor get_executor() const noexcept;

  /// From now on the set holds this signal. error::invalid_argument for a number that is none, or
  /// whose signal cannot be caught (SIGKILL, SIGSTOP). Idempotent.
  void add(int number);
  void add(int number, error_code& ec);
  /// It holds it no longer, and forgets those that it has kept. Idempotent. Waits go on.
  void remove(int number);
  void remove(int number, error_code& ec);
  void clear();
  void clear(error_code& ec);

  /// Ends all waits with operation_aborted.
  void cancel();
  void cancel(error_code& ec);

  detail::signal_operation async_wait() noexcept { return detail::signal_operation(*state_); }
  /// `token` takes (error_code, int number).
  template <class Token>
  auto async_wait(Token&& token) {
    return detail::launch(async_wait(), static_cast<Token&&>(token));
  }

  detail::signal_info_operation async_wait_info() noexcept {
    return detail::signal_info_operation(*state_);
  }
  /// `token` takes (error_code, signal_info).
  template <class Token>
  auto async_wait_info(Token&& token) {
    return detail::launch(async_wait_info(), static_cast<Token&&>(token));
  }

 private:
  friend class dump_on_signal;

  detail::signal_state* state_;
};

}  // namespace beck
