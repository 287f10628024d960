// SPDX-License-Identifier: BSL-1.0
// Completion conditions, which decide when a composed read or write is done: called with the error
// so far and the number of bytes moved so far, a condition returns how many more bytes may be asked
// for at most; 0 ends the operation. Asio's protocol.
#pragma once

#include <cstddef>

#include <beck/base/error.hpp>
#include <beck/detail/functions.hpp>

namespace beck {

namespace detail {

/// The most bytes that one step of a composed operation with a condition asks for.
inline constexpr std::size_t transfer_step_max = 65536;

}  // namespace detail

/// Transfers until the buffers are used up or an error occurs.
class transfer_all {
 public:
  /// Has no state.
  transfer_all() noexcept {}
  /// Returns 0 after an error, else no limit.
  std::size_t operator()(const error_code& ec, std::size_t) const noexcept {
    return ec ? 0 : static_cast<std::size_t>(-1);
  }
};

/// Transfers until at least this many bytes were moved or an error occurs. A step may move more.
class transfer_at_least {
 public:
  /// Sets the number of bytes that is enough.
  explicit transfer_at_least(std::size_t bytes) noexcept : bytes_(bytes) {}
  /// Returns 0 if enough was moved or after an error, else the most bytes of one step.
  std::size_t operator()(const error_code& ec, std::size_t moved) const noexcept {
    return ec || moved >= bytes_ ? 0 : detail::transfer_step_max;
  }

 private:
  std::size_t bytes_;
};

/// Transfers until this many bytes were moved or an error occurs, and never more.
class transfer_exactly {
 public:
  /// Sets the number of bytes to move.
  explicit transfer_exactly(std::size_t bytes) noexcept : bytes_(bytes) {}
  /// Returns the number of bytes that are missing; 0 after an error.
  std::size_t operator()(const error_code& ec, std::size_t moved) const noexcept {
    return ec || moved >= bytes_ ? 0 : bytes_ - moved;
  }

 private:
  std::size_t bytes_;
};

namespace detail {

/// A callable with a completion condition's signature (a token never has it). It must not throw: it
/// is called between the steps of an operation, where an exception ends the program.
template <class C>
concept completion_condition = requires(C& c, const error_code& ec, std::size_t moved) {
  { c(ec, moved) } -> std::convertible_to<std::size_t>;
};

namespace functions {

/// Asks a condition. As in Asio, one that returns a bool says whether the operation is done.
template <completion_condition C>
std::size_t bytes_wanted(C& condition, const error_code& ec, std::size_t moved) {
  if constexpr (std::is_same_v<decltype(condition(ec, moved)), bool>) {
    return condition(ec, moved) ? 0 : transfer_step_max;
  } else {
    return static_cast<std::size_t>(condition(ec, moved));
  }
}

}  // namespace functions

}  // namespace detail

}  // namespace beck
