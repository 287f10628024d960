// SPDX-License-Identifier: BSL-1.0
//
// The result of an operation: an error_code and its values, all always present, because an
// operation that failed may still have moved bytes. The data is public so that `auto [ec, n] = ...`
// needs no tuple protocol. There are constructors because g++ 12 destroys aggregates in a co_await
// expression twice.
#pragma once

#include <beck/base/error.hpp>
#include <beck/detail/functions.hpp>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace beck {

namespace functions {

/// Drops a result on purpose: `beck::ignore(co_await op)`.
template <class R>
constexpr void ignore(R&& result) noexcept {
  if constexpr (requires { result.ignore(); }) result.ignore();
}

}  // namespace functions

/// An error and no, one or two values. Structured bindings have the error first: `auto [ec, n] =
/// ...`. Bind only results whose values are trivially destructible (g++ 15 leaks the others); take
/// a socket by `std::move(result).value()`. Thread: as the values.
template <class... Values>
class io_result;

/// The result of an operation without values.
template <>
class [[nodiscard]] io_result<> {
 public:
  /// The type of value().
  using value_type = void;

  /// Makes success.
  io_result() noexcept = default;
  /// Converts from an error_code, a result_error or an enumerator of errors.
  template <std::convertible_to<result_error> Error>
  io_result(const Error& ec) noexcept : error_(ec) {}

  /// Returns whether there is no error.
  explicit operator bool() const noexcept { return !error_; }
  /// Returns the error.
  error_code error() const noexcept { return error_; }

  /// Throws io_error if there is an error.
  void value() const {
    if (error_) [[unlikely]]
      detail::throw_result(error_);
  }

  result_error error_;  ///< public for structured bindings only; use error()
};

/// The result of an operation with one value.
template <class T>
class [[nodiscard]] io_result<T> {
  static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>>,
                "an io_result holds values: no references, no const");

 public:
  /// The type of value().
  using value_type = T;

  /// Makes success with a default value.
  io_result() noexcept(std::is_nothrow_default_constructible_v<T>)
    requires std::is_default_constructible_v<T>
      : error_(), value_() {}
  /// Makes a result of this error and value.
  io_result(result_error ec, T value) noexcept(std::is_nothrow_move_constructible_v<T>)
      : error_(ec), value_(std::move(value)) {}

  /// Returns whether there is no error.
  explicit operator bool() const noexcept { return !error_; }
  /// Returns the error.
  error_code error() const noexcept { return error_; }

  /// Returns a copy of the value, because a reference into a temporary result would dangle. Throws
  /// io_error if there is an error; it has the number of bytes moved if the value is a std::size_t.
  T value() const&
    requires std::copy_constructible<T>
  {
    check();
    return value_;
  }
  /// As above, and moves the value out.
  T value() && {
    check();
    return std::move(value_);
  }

  /// Returns the value, whether or not there is an error.
  T& operator*() & noexcept { return value_; }
  /// As above.
  const T& operator*() const& noexcept { return value_; }
  /// As above, and moves the value out.
  T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) { return std::move(value_); }
  /// Accesses the value's members, whether or not there is an error.
  T* operator->() noexcept { return &value_; }
  /// As above.
  const T* operator->() const noexcept { return &value_; }

 private:
  void check() const {
    if (!error_) [[likely]]
      return;
    if constexpr (std::same_as<T, std::size_t>) {
      detail::throw_result(error_, value_);
    } else {
      detail::throw_result(error_);
    }
  }

 public:
  result_error error_;  ///< public for structured bindings only; use error() and value()
  T value_;             ///< public for structured bindings only
};

/// The result of an operation with two values.
template <class T, class U>
class [[nodiscard]] io_result<T, U> {
  static_assert(std::is_object_v<T> && std::same_as<T, std::remove_cv_t<T>>,
                "an io_result holds values: no references, no const");
  static_assert(std::is_object_v<U> && std::same_as<U, std::remove_cv_t<U>>,
                "an io_result holds values: no references, no const");

 public:
  /// The type of value().
  using value_type = std::pair<T, U>;

  /// Makes a result of this error and these values.
  io_result(result_error ec, T first, U second) noexcept(std::is_nothrow_move_constructible_v<T> &&
                                                         std::is_nothrow_move_constructible_v<U>)
      : error_(ec), first_(std::move(first)), second_(std::move(second)) {}

  /// Returns whether there is no error.
  explicit operator bool() const noexcept { return !error_; }
  /// Returns the error.
  error_code error() const noexcept { return error_; }

  /// Returns both values. Throws io_error if there is an error; it has the number of bytes moved if
  /// the first value is a std::size_t.
  value_type value() const&
    requires std::copy_constructible<T> && std::copy_constructible<U>
  {
    check();
    return value_type(first_, second_);
  }
  /// As above, and moves the values out.
  value_type value() && {
    check();
    return value_type(std::move(first_), std::move(second_));
  }

 private:
  void check() const {
    if (!error_) [[likely]]
      return;
    if constexpr (std::same_as<T, std::size_t>) {
      detail::throw_result(error_, first_);
    } else {
      detail::throw_result(error_);
    }
  }

 public:
  result_error error_;  ///< public for structured bindings only; use error() and value()
  T first_;             ///< public for structured bindings only
  U second_;            ///< public for structured bindings only
};

}  // namespace beck
