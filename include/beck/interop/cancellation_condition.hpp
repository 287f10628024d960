// SPDX-License-Identifier: BSL-1.0
// The conditions of parallel groups: which end of an operation cancels the others. With Asio's
// names and meaning (asio/experimental/cancellation_condition.hpp).
#pragma once

#include <exception>
#include <type_traits>

#include <beck/base/error.hpp>
#include <beck/detail/functions.hpp>
#include <beck/run/cancellation.hpp>

namespace beck {

/// The condition that waits for all operations, and cancels none.
struct wait_for_all {
  /// Returns cancellation_type::none.
  template <class... A>
  constexpr cancellation_type operator()(const A&...) const noexcept {
    return cancellation_type::none;
  }
};

/// The condition that cancels the others when one operation has ended, with any result.
class wait_for_one {
 public:
  /// `type`: the request that the others get.
  explicit constexpr wait_for_one(cancellation_type type = cancellation_type::all) noexcept
      : type_(type) {}
  /// Returns the request for the others.
  template <class... A>
  constexpr cancellation_type operator()(const A&...) const noexcept {
    return type_;
  }

 private:
  cancellation_type type_;
};

namespace detail {

namespace functions {

/// Whether a completion reports a failure. One without an error is a success.
inline bool is_failure() noexcept { return false; }
template <class First, class... A>
bool is_failure(const First& first, const A&...) noexcept {
  if constexpr (std::is_same_v<First, error_code>) {
    return static_cast<bool>(first);
  } else if constexpr (std::is_same_v<First, std::exception_ptr>) {
    return first != nullptr;
  } else {
    return false;
  }
}

}  // namespace functions

}  // namespace detail

/// The condition that cancels the others when one operation has succeeded: its first result is an
/// error_code or std::exception_ptr without an error, or neither.
class wait_for_one_success {
 public:
  /// `type`: the request that the others get.
  explicit constexpr wait_for_one_success(cancellation_type type = cancellation_type::all) noexcept
      : type_(type) {}
  /// Returns the request for the others.
  template <class... A>
  constexpr cancellation_type operator()(const A&... results) const noexcept {
    return detail::is_failure(results...) ? cancellation_type::none : type_;
  }

 private:
  cancellation_type type_;
};

/// The condition that cancels the others when one operation has failed.
class wait_for_one_error {
 public:
  /// `type`: the request that the others get.
  explicit constexpr wait_for_one_error(cancellation_type type = cancellation_type::all) noexcept
      : type_(type) {}
  /// Returns the request for the others.
  template <class... A>
  constexpr cancellation_type operator()(const A&... results) const noexcept {
    return detail::is_failure(results...) ? type_ : cancellation_type::none;
  }

 private:
  cancellation_type type_;
};

}  // namespace beck
