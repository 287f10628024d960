// SPDX-License-Identifier: BSL-1.0
//
// The treatment of results in the promises of tasks. By default there is none. In programs that are
// compiled with BECK_CHECK_RESULTS, a failed result that a task awaited and dropped ends the
// program, with the place of the await. Only the expression `co_await ...` has another type then:
// the library is the same for both.
#pragma once

#include <beck/base/io_result.hpp>
#include <coroutine>
#include <source_location>

namespace beck::detail {

/// Ends the program: "FILE:LINE: the result of connect was dropped: Connection refused ...". Does
/// nothing while an exception is in flight, nor where a context is being destroyed, because its
/// tasks might have examined the result later.
[[gnu::cold]] void report_dropped(const result_error& error,
                                  const std::source_location& at) noexcept;

#ifdef BECK_CHECK_RESULTS

/// The value of co_await in a task, instead of an io_result; converts to it. Every access to a part
/// of it examines it, also structured bindings. A copy, and an object that it is moved to, have to
/// be examined in its place.
template <class... Values>
class [[nodiscard]] checked_result {
  using result_type = io_result<Values...>;

 public:
  using value_type = typename result_type::value_type;

  checked_result(result_type&& result, const std::source_location& at) noexcept(
      std::is_nothrow_move_constructible_v<result_type>)
      : result_(static_cast<result_type&&>(result)), at_(at), due_(!result_) {}
  checked_result(checked_result&& other) noexcept(std::is_nothrow_move_constructible_v<result_type>)
      : result_(static_cast<result_type&&>(other.result_)),
        at_(other.at_),
        due_(std::exchange(other.due_, false)) {}
  checked_result(const checked_result& other)
    requires std::copy_constructible<result_type>
      : result_(other.result_), at_(other.at_), due_(std::exchange(other.due_, false)) {}
  /// Replaces the result, which has to be examined before.
  checked_result& operator=(checked_result&& other) {
    report_if_due();
    result_ = static_cast<result_type&&>(other.result_);
    at_ = other.at_;
    due_ = std::exchange(other.due_, false);
    return *this;
  }
  /// Replaces the result, which has to be examined before, by a copy.
  checked_result& operator=(const checked_result& other)
    requires std::copyable<result_type>
  {
    if (this == &other) return *this;
    report_if_due();
    result_ = other.result_;
    at_ = other.at_;
    due_ = std::exchange(other.due_, false);
    return *this;
  }
  /// Replaces the result, which has to be examined before. The new one counts as examined.
  checked_result& operator=(result_type result) {
    report_if_due();
    result_ = static_cast<result_type&&>(result);
    due_ = false;
    return *this;
  }
  ~checked_result() { report_if_due(); }

  /// Returns whether the operation succeeded.
  explicit operator bool() const noexcept { return static_cast<bool>(examined()); }
  /// Returns the error.
  error_code error() const noexcept { return examined().error(); }
  /// Returns the value. Throws io_error if the operation failed.
  decltype(auto) value() const&
    requires std::copy_constructible<result_type>
  {
    return examined().value();
  }
  /// Moves the value out. Throws io_error if the operation failed.
  decltype(auto) value() && { return static_cast<result_type&&>(examined()).value(); }
  decltype(auto) operator*() & noexcept { return *examined(); }
  decltype(auto) operator*() const& noexcept { return *examined(); }
  decltype(auto) operator*() && { return *static_cast<result_type&&>(examined()); }
  auto operator->() noexcept { return examined().operator->(); }
  auto operator->() const noexcept { return examined().operator->(); }
  operator result_type() && { return static_cast<result_type&&>(examined()); }
  operator result_type() const&
    requires std::copy_constructible<result_type>
  {
    return examined();
  }

  /// Marks the result as examined. For beck::ignore().
  void ignore() const noexcept { due_ = false; }

  /// Returns part I of the result. For structured bindings.
  template <std::size_t I>
  auto& get() & noexcept {
    return part<I>(examined());
  }
  template <std::size_t I>
  auto& get() const& noexcept {
    return part<I>(examined());
  }
  template <std::size_t I>
  auto&& get() && noexcept {
    return std::move(part<I>(examined()));
  }

 private:
  template <std::size_t I, class R>
  static auto& part(R& result) noexcept {
    if constexpr (I == 0) {
      return result.error_;
    } else if constexpr (sizeof...(Values) == 1) {
      return result.value_;
    } else if constexpr (I == 1) {
      return result.first_;
    } else {
      return result.second_;
    }
  }
  result_type& examined() noexcept {
    due_ = false;
    return result_;
  }
  const result_type& examined() const noexcept {
    due_ = false;
    return result_;
  }
  void report_if_due() noexcept {
    if (due_) [[unlikely]]
      report_dropped(result_.error_, at_);
  }

  result_type result_;
  std::source_location at_;
  mutable bool due_;
};

/// Whether awaiting A directly returns an io_result.
template <class A>
concept gives_checkable_result =
    requires(A& a, const std::source_location& at) { checked_result(a.await_resume(), at); };

/// Awaits an operation of a task, and remembers the place of the await.
template <class Op>
class checking_awaiter {
 public:
  checking_awaiter(Op& op, const std::source_location& at) noexcept : op_(op), at_(at) {}
  bool await_ready() { return op_.await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> coroutine) {
    if constexpr (requires { op_.await_suspend(coroutine, at_); }) {
      return op_.await_suspend(coroutine, at_);
    } else {
      return op_.await_suspend(coroutine);
    }
  }
  auto await_resume() { return checked_result(op_.await_resume(), at_); }

 private:
  Op& op_;
  std::source_location at_;
};

/// The base of promises that makes results checked.
struct result_watch {
  template <class A>
  decltype(auto) await_transform(A&& a,
                                 const std::source_location& at = std::source_location::current()) {
    if constexpr (gives_checkable_result<A>) {
      return checking_awaiter<std::remove_reference_t<A>>(a, at);
    } else {
      return static_cast<A&&>(a);
    }
  }
};

}  // namespace beck::detail

template <class... Values>
struct std::tuple_size<beck::detail::checked_result<Values...>>
    : std::integral_constant<std::size_t, 1 + sizeof...(Values)> {};
template <class... Values>
struct std::tuple_element<0, beck::detail::checked_result<Values...>> {
  using type = beck::result_error;
};
template <class T, class... More>
struct std::tuple_element<1, beck::detail::checked_result<T, More...>> {
  using type = T;
};
template <class T, class U>
struct std::tuple_element<2, beck::detail::checked_result<T, U>> {
  using type = U;
};

#else

struct result_watch {};

}  // namespace beck::detail

#endif
