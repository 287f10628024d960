// SPDX-License-Identifier: BSL-1.0
// Stackless coroutines: function objects whose call operator resumes behind the statement at which
// it yielded. The macros make its body a switch statement with a case for each point to resume at;
// <asio/yield.hpp> defines short names for them.
#pragma once

#include <beck/asio/config.hpp>

BECK_ASIO_BEGIN

namespace facade {
class coroutine_run;
}

/// The position of a coroutine, as a base or a member of a copyable function object.
class coroutine {
 public:
  /// Makes the position of a coroutine that has not started.
  constexpr coroutine() noexcept = default;
  /// Returns whether this is a copy that a fork has made, and has not yielded since.
  bool is_child() const noexcept { return coroutine_is_child_; }
  /// Returns the opposite of is_child().
  bool is_parent() const noexcept { return !coroutine_is_child_; }
  /// Returns whether the body has ended.
  bool is_complete() const noexcept { return coroutine_place_ == -1; }

 private:
  friend class facade::coroutine_run;

  // Long names: beside another base of the program's class a short one could be ambiguous.
  int coroutine_place_ = 0;  // the case to resume at; -1 when the body has ended
  bool coroutine_is_child_ = false;
};

namespace facade {

/// One call of a coroutine's body. The coroutine may be moved away or destroyed after it has
/// yielded; then it is not touched any more.
class coroutine_run {
 public:
  explicit coroutine_run(coroutine& of) noexcept : of_(&of) {}
  explicit coroutine_run(coroutine* of) noexcept : of_(of) {}
  coroutine_run(const coroutine_run&) = delete;
  coroutine_run& operator=(const coroutine_run&) = delete;
  /// Completes the coroutine if its body has ended without a yield.
  ~coroutine_run() {
    if (!has_yielded_) of_->coroutine_place_ = -1;
  }

  /// Returns whether the body has ended before.
  bool has_completed() const noexcept { return of_->is_complete(); }
  /// Returns the case to resume at.
  int place() const noexcept { return of_->coroutine_place_; }
  /// Sets the case behind a yield as the one to resume at. The statement of the yield runs next.
  void yield(int place) noexcept {
    of_->coroutine_place_ = place;
    of_->coroutine_is_child_ = false;
    has_yielded_ = true;
    phase_ = phase::fresh;
  }
  void begin() noexcept { phase_ = phase::running; }
  bool is_running() const noexcept { return phase_ == phase::running; }
  void finish() noexcept { phase_ = phase::over; }
  /// Ends the statement of a yield. If a break has left it (`yield break`), the body has ended.
  void settle() noexcept {
    if (phase_ == phase::running) has_yielded_ = false;
    phase_ = phase::over;
  }
  bool is_over() const noexcept { return phase_ == phase::over; }
  /// Sets the case behind a fork as the one to resume at in the copies that its statement makes.
  void begin_fork(int place) noexcept {
    of_->coroutine_place_ = place;
    of_->coroutine_is_child_ = true;
    is_forking_ = true;
  }
  /// Ends the statement of a fork; the parent continues behind it.
  void end_fork() noexcept {
    of_->coroutine_is_child_ = false;
    is_forking_ = false;
  }
  bool is_forking() const noexcept { return is_forking_; }

 private:
  enum class phase : unsigned char { fresh, running, over };

  coroutine* of_;
  phase phase_ = phase::fresh;  // of the statement of a yield
  bool has_yielded_ = false;
  bool is_forking_ = false;
};

}  // namespace facade

BECK_ASIO_END

// The body begins at case 0. A yield jumps back to the label in front of it, behind which the body
// ends; a place behind a yield is a case inside a loop that it leaves.
#define BECK_ASIO_REENTER(c)                                                              \
  if (BECK_ASIO::facade::coroutine_run beck_asio_run(c); beck_asio_run.has_completed()) { \
  [[maybe_unused]] beck_asio_leave:;                                                      \
  } else                                                                                  \
    switch (beck_asio_run.place())                                                        \
    case 0:

#define BECK_ASIO_YIELD_AT(n)                           \
  for (beck_asio_run.yield(n);; beck_asio_run.settle()) \
    if (beck_asio_run.is_over()) {                      \
      goto beck_asio_leave;                             \
      case n:                                           \
        break;                                          \
    } else                                              \
      for (beck_asio_run.begin(); beck_asio_run.is_running(); beck_asio_run.finish())

#define BECK_ASIO_FORK_AT(n)                                   \
  for (beck_asio_run.begin_fork(n);; beck_asio_run.end_fork()) \
    if (!beck_asio_run.is_forking()) {                         \
      case n:                                                  \
        break;                                                 \
    } else

#if defined(BECK_ASIO_BOOST)
#define BOOST_ASIO_CORO_REENTER(c) BECK_ASIO_REENTER(c)
#define BOOST_ASIO_CORO_YIELD BECK_ASIO_YIELD_AT(__COUNTER__ + 1)
#define BOOST_ASIO_CORO_FORK BECK_ASIO_FORK_AT(__COUNTER__ + 1)
#else
#define ASIO_CORO_REENTER(c) BECK_ASIO_REENTER(c)
#define ASIO_CORO_YIELD BECK_ASIO_YIELD_AT(__COUNTER__ + 1)
#define ASIO_CORO_FORK BECK_ASIO_FORK_AT(__COUNTER__ + 1)
#endif
