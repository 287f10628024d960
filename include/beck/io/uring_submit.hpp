// SPDX-License-Identifier: BSL-1.0
// The escape hatch: a ring entry that the program fills by itself, for features of the kernel that
// this library does not offer.
#pragma once

#include <beck/detail/callback_operation.hpp>
#include <beck/io/io_context.hpp>

struct io_uring_sqe;

namespace beck {

namespace detail {

/// An operation whose entry the user fills; the result is the kernel's.
class [[nodiscard]] raw_operation : public operation {
 public:
  using signature = void(error_code, int);
  using fill_function = void (*)(raw_operation& self, io_uring_sqe& entry);

  raw_operation(io_context& context, fill_function how) noexcept;

  bool await_ready() const noexcept { return false; }
  /// The completion's res if it is 0 or more, else 0 with the error. Flags are not kept.
  io_result<int> await_resume() const noexcept { return {error(), result < 0 ? 0 : result}; }
  void fill(io_uring_sqe& entry) { fill_(*this, entry); }

 private:
  fill_function fill_;
};

void fill_raw(io_op& op, io_uring_sqe& entry) noexcept;

}  // namespace detail

namespace uring {

/// The operation of async_submit().
template <class Fill>
class [[nodiscard]] submit_operation : public detail::raw_operation {
 public:
  /// Makes an operation that has not started.
  submit_operation(io_context& context, Fill fill)
      : detail::raw_operation(context, &call), fill_entry_(static_cast<Fill&&>(fill)) {}
  /// Starts the operation. `token` takes (error_code, int).
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<submit_operation&&>(*this), static_cast<Token&&>(token));
  }

 private:
  static void call(detail::raw_operation& self, io_uring_sqe& entry) {
    static_cast<submit_operation&>(self).fill_entry_(entry);
  }
  Fill fill_entry_;
};

namespace functions {

/// Submits one ring entry, which `fill(io_uring_sqe&)` writes: called on the runner, inside a turn,
/// with a zeroed entry. It must not throw, and must not set user_data, IOSQE_CQE_SKIP_SUCCESS or a
/// multishot flag. Memory that the entry refers to must live until completion.
/// Completes with (error_code, int): the completion's `res` if that is not negative, else the error
/// and 0; operation_not_supported on other backends.
/// Cancellation: only by destroying the context. Thread: any.
template <class Fill>
submit_operation<Fill> async_submit(io_context& context, Fill fill) {
  return submit_operation<Fill>(context, static_cast<Fill&&>(fill));
}
/// As above. `token` takes (error_code, int).
template <class Fill, class Token>
auto async_submit(io_context& context, Fill fill, Token&& token) {
  return detail::launch(functions::async_submit(context, static_cast<Fill&&>(fill)),
                        static_cast<Token&&>(token));
}

}  // namespace functions
using namespace functions;

}  // namespace uring

}  // namespace beck
