// SPDX-License-Identifier: BSL-1.0
// cancel_after and cancel_at: Asio's tokens for an operation that is cancelled when its time is
// over. Awaited, the limit is a scope in the awaiting frame; with a handler it is a timer in the
// handler's block. There is no timer object, and nothing races.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/detail/timed_operation.hpp>
#include <beck/run/op.hpp>

namespace beck {

namespace detail {
class composed_transfer;
class read_until_operation;

}  // namespace detail

/// A completion token with a time limit: see cancel_after().
template <class Token>
class cancel_after_t {
 public:
  /// Puts `limit` around `token`.
  template <class T>
  constexpr cancel_after_t(const detail::cancel_limit& limit, T&& token)
      : limit_(limit), token_(static_cast<T&&>(token)) {}
  /// Returns the limit.
  const detail::cancel_limit& limit() const noexcept { return limit_; }
  /// Returns the inner token.
  Token& get() & noexcept { return token_; }
  /// As above, to move from.
  Token&& get() && noexcept { return static_cast<Token&&>(token_); }
  /// As above, only to read.
  const Token& get() const& noexcept { return token_; }

 private:
  detail::cancel_limit limit_;
  [[no_unique_address]] Token token_;
};

namespace detail {

namespace functions {

/// Returns the time limit for an awaited operation; none if the operation cannot honour the
/// cancellation type.
template <class Op>
time_limit limit_of_awaited(const Op& op, const cancel_limit& limit) noexcept {
  bool composed = false;
  if constexpr (std::is_base_of_v<composed_transfer, Op> ||
                std::is_base_of_v<read_until_operation, Op>) {
    composed = true;
  } else if constexpr (std::is_base_of_v<io_op, Op>) {
    composed = (op.flags & io_op::flag_all) != 0;
  }
  if (composed ? limit.means_composed() : !!limit.type()) return limit.limit();
  return time_limit(time_point::max(), stop_reason::stop);
}

}  // namespace functions

/// An inert operation with a limit: awaited, or called with another token.
template <class Op>
class [[nodiscard]] limited_operation : public scoped_operation<Op, time_limit> {
  using base = scoped_operation<Op, time_limit>;

 public:
  using signature = typename Op::signature;

  limited_operation(Op&& inert, const cancel_limit& limit)
      : base(static_cast<Op&&>(inert), detail::limit_of_awaited(inert, limit)), limit_(limit) {}
  template <class Token>
  auto operator()(Token&& token) && {
    return static_cast<Op&&>(this->op_)(
        cancel_after_t<std::decay_t<Token>>(limit_, static_cast<Token&&>(token)));
  }

 private:
  cancel_limit limit_;
};

/// Any initiation with a limit, as an operation whose block contains the deadline_timer.
template <class Signature, class Launch>
class limited_start;
template <class... A, class Launch>
class limited_start<void(A...), Launch> : public op<limited_start<void(A...), Launch>, void(A...)> {
  using base = op<limited_start, void(A...)>;

 public:
  using typename base::handler;

  limited_start(Launch&& launch, const cancel_limit& limit, const any_io_executor& where)
      : launch_(static_cast<Launch&&>(launch)), limit_(limit), where_(where) {}
  limited_start(limited_start&& other) noexcept(false)
      : base(static_cast<base&&>(other)),
        launch_(static_cast<Launch&&>(other.launch_)),
        limit_(other.limit_),
        where_(other.where_) {}

  const any_io_executor& get_executor() const noexcept { return where_; }

  void initiate(handler done) {
    limit_.limit().arm(timer_, where_, &on_expired, this);
    static_cast<Launch&&>(launch_)(static_cast<handler&&>(done));
  }

 private:
  static void on_expired(void* self, stop_walk&) noexcept {
    auto& late = *static_cast<limited_start*>(self);
    late.cancel_this(late.limit_.type());
  }

  Launch launch_;
  cancel_limit limit_;
  any_io_executor where_;
  deadline_timer timer_;  // before the executor it goes
};

/// A start that has to go to where the deadline_timer is.
template <class Start, class Handler>
class travelling_start {
 public:
  travelling_start(Start&& start, Handler&& handler)
      : start_(static_cast<Start&&>(start)), handler_(static_cast<Handler&&>(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  void operator()() {
    detail::start_callback(static_cast<Start&&>(start_), static_cast<Handler&&>(handler_));
  }

 private:
  Start start_;
  Handler handler_;
};

template <class Launch>
inline constexpr bool launches_io = false;
template <class Op>
inline constexpr bool launches_io<operation_launcher<Op>> = std::is_base_of_v<io_op, Op>;

/// The initiation that the inner token gets.
template <class Signature, class Launch>
class limited_initiation {
 public:
  limited_initiation(Launch&& launch, const cancel_limit& limit, any_io_executor home)
      : launch_(static_cast<Launch&&>(launch)),
        limit_(limit),
        home_(static_cast<any_io_executor&&>(home)) {}

  /// Returns the operation's executor; empty if the operation names none.
  any_io_executor get_executor() const noexcept { return home_; }

  template <class H>
  void operator()(H&& handler) {
    if constexpr (launches_io<Launch>) {
      using op = std::decay_t<decltype(static_cast<Launch&&>(launch_).operation())>;
      detail::start_callback(
          timed_operation<op>(static_cast<Launch&&>(launch_).operation(), limit_),
          static_cast<H&&>(handler));
    } else {
      using handler_type = std::decay_t<H>;
      using start = limited_start<Signature, Launch>;
      any_io_executor where(beck::get_associated_executor(handler, home_));
      if (!where && runner::current() != nullptr) where = current_executor();
      BECK_ASSERT(where, "cancel_after outside of every context, without executor");
      check_clock(where);
      start begin(static_cast<Launch&&>(launch_), limit_, where);
      if (where.running_in_this_thread()) {
        detail::start_callback(static_cast<start&&>(begin), static_cast<H&&>(handler));
      } else {
        detail::post_function(
            where, travelling_start<start, handler_type>(static_cast<start&&>(begin),
                                                         handler_type(static_cast<H&&>(handler))));
      }
    }
  }

  auto operation() && {
    if constexpr (gives_operation<Launch>) {
      using op = std::decay_t<decltype(static_cast<Launch&&>(launch_).operation())>;
      return limited_operation<op>(static_cast<Launch&&>(launch_).operation(), limit_);
    } else {
      using op = deferred_operation<Signature, Launch>;
      return limited_operation<op>(op(static_cast<Launch&&>(launch_)), limit_);
    }
  }

 private:
  Launch launch_;
  cancel_limit limit_;
  any_io_executor home_;
};

}  // namespace detail

template <class Token, class Signature>
  requires completion_token_for<Token, Signature>
class async_result<cancel_after_t<Token>, Signature> {
 public:
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&& token, Args&&... args) {
    any_io_executor home;
    if constexpr (requires { initiation.get_executor(); }) home = initiation.get_executor();
    if constexpr (sizeof...(Args) == 0) {
      return start(std::decay_t<Initiation>(static_cast<Initiation&&>(initiation)),
                   static_cast<any_io_executor&&>(home), static_cast<Tok&&>(token));
    } else {
      auto launch = [begin = std::decay_t<Initiation>(static_cast<Initiation&&>(initiation)),
                     ... kept =
                         std::decay_t<Args>(static_cast<Args&&>(args))](auto&& handler) mutable {
        return static_cast<std::decay_t<Initiation>&&>(begin)(
            static_cast<decltype(handler)&&>(handler), static_cast<std::decay_t<Args>&&>(kept)...);
      };
      return start(static_cast<decltype(launch)&&>(launch), static_cast<any_io_executor&&>(home),
                   static_cast<Tok&&>(token));
    }
  }

 private:
  template <class Launch, class Tok>
  static auto start(Launch launch, any_io_executor home, Tok&& token) {
    const detail::cancel_limit limit = token.limit();
    return async_result<Token, Signature>::initiate(
        detail::limited_initiation<Signature, Launch>(static_cast<Launch&&>(launch), limit,
                                                      static_cast<any_io_executor&&>(home)),
        static_cast<Tok&&>(token).get());
  }
};

/// Returns a token that cancels its operation when `after` has passed since the start; the
/// operation then ends with operation_aborted, unless it has finished before: the completion tells
/// which. `type` says what the cancellation may leave behind, as for a cancellation_signal:
/// composed operations ignore `total`. Goes around every token. A cancellation slot of the handler
/// stays connected.
/// Thread: any that may start the operation. Memory: none beyond the operation's; operations that
/// are not of the library's objects are started in a block with the timer, and, if that is called
/// off their executor, on it.
/// Errors: the start throws std::logic_error if the executor of the operation has no clock (only
/// io_contexts and strands over them have one). Not guaranteed: how late.
template <class Token>
cancel_after_t<std::decay_t<Token>> cancel_after(duration after, cancellation_type type,
                                                 Token&& token) {
  return {detail::cancel_limit(after, type), static_cast<Token&&>(token)};
}
/// As above, with cancellation_type::terminal.
template <class Token>
  requires(!std::is_same_v<std::decay_t<Token>, cancellation_type>)
cancel_after_t<std::decay_t<Token>> cancel_after(duration after, Token&& token) {
  return {detail::cancel_limit(after, cancellation_type::terminal), static_cast<Token&&>(token)};
}
/// As above, around the default token, to be awaited.
inline cancel_after_t<deferred_t> cancel_after(
    duration after, cancellation_type type = cancellation_type::terminal) noexcept {
  return {detail::cancel_limit(after, type), deferred};
}

/// Returns a token that cancels its operation at the point in time `at`; else as cancel_after().
template <class Token>
cancel_after_t<std::decay_t<Token>> cancel_at(time_point at, cancellation_type type,
                                              Token&& token) {
  return {detail::cancel_limit(at, type), static_cast<Token&&>(token)};
}
/// As above, with cancellation_type::terminal.
template <class Token>
  requires(!std::is_same_v<std::decay_t<Token>, cancellation_type>)
cancel_after_t<std::decay_t<Token>> cancel_at(time_point at, Token&& token) {
  return {detail::cancel_limit(at, cancellation_type::terminal), static_cast<Token&&>(token)};
}
/// As above, around the default token, to be awaited.
inline cancel_after_t<deferred_t> cancel_at(
    time_point at, cancellation_type type = cancellation_type::terminal) noexcept {
  return {detail::cancel_limit(at, type), deferred};
}

}  // namespace beck
