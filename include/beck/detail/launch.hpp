// SPDX-License-Identifier: BSL-1.0
// The only way in for operations that are objects (the library's own, and those that derive from
// beck::op): an operation that was not started, and a token. Deferred returns the operation,
// use_awaitable one that throws, a callable starts it in a recycled block; every other token goes
// through async_initiate.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/detail/throws_error.hpp>
#include <beck/run/async_result.hpp>

namespace beck::detail {

/// An operation whose awaited result is the value or an exception; it allocates nothing either.
template <class Op>
class [[nodiscard]] throwing_operation : public Op {
 public:
  static constexpr bool has_thrown = true;  ///< for throws_error

  explicit throwing_operation(Op&& inert) : Op(static_cast<Op&&>(inert)) {}
  auto await_resume() {
    if constexpr (throws_error<Op>) {
      return Op::await_resume().value();
    } else {
      return Op::await_resume();
    }
  }
};

/// Starts an operation with a handler. Specialised for each kind of operation:
///   static void start(Op&&, Handler&&)              starts it in a block of its own
///   static any_io_executor executor(const Op&)      returns the executor of its completion if the
///                                                   handler names none
template <class Op>
struct callback_start;

namespace functions {

template <class Op, class H>
[[gnu::always_inline]] inline void start_callback(Op&& op, H&& handler) {
  callback_start<std::decay_t<Op>>::start(static_cast<Op&&>(op), static_cast<H&&>(handler));
}

}  // namespace functions

/// The initiation that async_initiate receives for an operation that is an object.
template <class Op>
class operation_launcher {
 public:
  using executor_type = any_io_executor;
  explicit operation_launcher(Op&& op) : op_(static_cast<Op&&>(op)) {}
  executor_type get_executor() const { return callback_start<Op>::executor(op_); }
  template <class H>
  void operator()(H&& handler) {
    detail::start_callback(static_cast<Op&&>(op_), static_cast<H&&>(handler));
  }
  /// Returns the operation. For tokens that map an awaited result without a handler (as_tuple,
  /// redirect_error).
  Op&& operation() && { return static_cast<Op&&>(op_); }

 private:
  Op op_;
};

/// The result of launch() after refuse_token() has reported an error: uses of the operation shall
/// not cause a second error.
template <class Op>
class refused_operation : public Op {
 public:
  explicit refused_operation(Op&& op) : Op(static_cast<Op&&>(op)) {}
};

namespace functions {

/// Starts or packages `op` as `token` says. Always inline, so that `op` goes from registers into
/// its block or frame; see callback_start in detail/callback_operation.hpp.
template <class Op, class Token>
[[gnu::always_inline]] inline auto launch(Op&& op, Token&& token) {
  using token_type = std::decay_t<Token>;
  using op_type = std::decay_t<Op>;
  if constexpr (!completion_token_for<token_type, typename op_type::signature>) {
    detail::refuse_token<typename op_type::signature, token_type>();
    return refused_operation<op_type>(static_cast<Op&&>(op));
  } else if constexpr (std::is_same_v<token_type, deferred_t>) {
    return op_type(static_cast<Op&&>(op));
  } else if constexpr (std::is_same_v<token_type, use_awaitable_t<>>) {
    return throwing_operation<op_type>(static_cast<Op&&>(op));
  } else if constexpr (plain_handler<token_type, typename op_type::signature>) {
    functions::start_callback(static_cast<Op&&>(op), static_cast<Token&&>(token));
  } else {
    return beck::async_initiate<Token, typename op_type::signature>(
        operation_launcher<op_type>(static_cast<Op&&>(op)), token);
  }
}

}  // namespace functions

}  // namespace beck::detail
