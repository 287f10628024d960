// SPDX-License-Identifier: BSL-1.0
// Properties of executors: require, prefer and query, with those that a program's own executors
// offer by members.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/run/properties.hpp>
#include <beck/run/thread_pool.hpp>

BECK_ASIO_BEGIN

namespace execution {

using beck::execution::context;
using beck::execution::context_t;

/// Exchanges two executors.
inline void swap(beck::any_io_executor& a, beck::any_io_executor& b) noexcept { a.swap(b); }

/// Executors: those of beck, and classes of a program with execute() and ==.
template <class E>
concept executor = beck::detail::executor_like<E>;
/// Whether E is an executor.
template <class E>
inline constexpr bool is_executor_v = executor<E>;
/// As above, as a type.
template <class E>
struct is_executor : std::bool_constant<executor<E>> {};

/// A property of beck with a value, one of its nested types `Values`: what query() returns.
template <class Property, class... Values>
class property_value : public Property {
 public:
  /// Has no value.
  constexpr property_value() noexcept = default;
  /// Has the value.
  template <class Value>
    requires(std::is_same_v<Value, Values> || ...)
  constexpr property_value(Value) noexcept {
    int index = 0;
    static_cast<void>(((++index, std::is_same_v<Value, Values>) || ...));
    value_ = index;
  }
  friend constexpr bool operator==(property_value a, property_value b) noexcept {
    return a.value_ == b.value_;
  }
  /// Whether query() with a P returns this property.
  template <class P>
  static constexpr bool is_asked_by =
      std::is_base_of_v<property_value, P> || (std::is_same_v<P, Values> || ...);

 private:
  int value_ = 0;
};

/// The type of `blocking`.
using blocking_t =
    property_value<beck::execution::blocking_t, beck::execution::blocking_t::possibly_t,
                   beck::execution::blocking_t::always_t, beck::execution::blocking_t::never_t>;
/// Whether execute() may run a function inside the call, must, or never does.
inline constexpr blocking_t blocking{};
/// The type of `outstanding_work`.
using outstanding_work_t = property_value<beck::execution::outstanding_work_t,
                                          beck::execution::outstanding_work_t::untracked_t,
                                          beck::execution::outstanding_work_t::tracked_t>;
/// Whether the executor counts as work of its context.
inline constexpr outstanding_work_t outstanding_work{};
/// The type of `relationship`.
using relationship_t =
    property_value<beck::execution::relationship_t, beck::execution::relationship_t::fork_t,
                   beck::execution::relationship_t::continuation_t>;
/// Whether a function continues the caller: a hint without effect.
inline constexpr relationship_t relationship{};

/// The values of `mapping`.
struct mapping_values {
  struct thread_t {};
  struct new_thread_t {};
  struct other_t {};
  static constexpr thread_t thread{};
  static constexpr new_thread_t new_thread{};
  static constexpr other_t other{};
};
/// The type of `mapping`.
using mapping_t = property_value<mapping_values, mapping_values::thread_t,
                                 mapping_values::new_thread_t, mapping_values::other_t>;
/// What a function runs on: a thread.
inline constexpr mapping_t mapping{};

/// The values of `inline_exception_handling`.
struct inline_exception_handling_values {
  struct propagate_t {};
  struct capture_t {};
  struct terminate_t {};
  static constexpr propagate_t propagate{};
  static constexpr capture_t capture{};
  static constexpr terminate_t terminate{};
};
/// The type of `inline_exception_handling`.
using inline_exception_handling_t =
    property_value<inline_exception_handling_values, inline_exception_handling_values::propagate_t,
                   inline_exception_handling_values::capture_t,
                   inline_exception_handling_values::terminate_t>;
/// What becomes of an exception of a function that execute() runs inside the call.
inline constexpr inline_exception_handling_t inline_exception_handling{};

/// The type of `allocator`, or of `allocator(a)`.
template <class Allocator>
struct allocator_t {
  /// Returns the property with a value, which has no effect.
  template <class Other>
  constexpr allocator_t<Other> operator()(const Other&) const noexcept {
    return {};
  }
};
/// The allocator of an executor: std::allocator.
inline constexpr allocator_t<void> allocator{};

}  // namespace execution

/// Whether E is an executor. Beck's have no other form.
using execution::is_executor;

namespace facade {

/// Executors of a program that offer a property by themselves.
template <class E, class Property>
concept requires_itself = requires(const E& e, const Property& p) { e.require(p); };
template <class E, class Property>
concept prefers_itself = requires(const E& e, const Property& p) { e.prefer(p); };
template <class E, class Property>
concept answers_itself = requires(const E& e, const Property& p) { e.query(p); };

template <class P>
inline constexpr bool is_allocator = false;
template <class Allocator>
inline constexpr bool is_allocator<execution::allocator_t<Allocator>> = true;
/// Properties that every executor has, so that it stays as it is.
template <class P>
concept changes_nothing = is_allocator<P> || std::is_same_v<P, execution::mapping_t::thread_t>;

/// An executor whose execute() returns when the function has run, or was dropped: the result of
/// `require(executor, execution::blocking.always)`. Requires that another thread runs the executor,
/// or that the caller is inside it. An exception of the function is not passed to the caller.
template <class E>
class blocking_executor {
 public:
  explicit blocking_executor(const E& executor) : inner_(executor) {}
  /// Runs `function`.
  template <class F>
  void execute(F&& function) const {
    std::atomic_flag is_over;
    inner_.execute(call<std::decay_t<F>>(static_cast<F&&>(function), is_over));
    is_over.wait(false);
  }
  auto& context() const noexcept { return inner_.context(); }
  friend bool operator==(const blocking_executor& a, const blocking_executor& b) noexcept {
    return a.inner_ == b.inner_;
  }

 private:
  template <class F>
  class call {
   public:
    call(F&& function, std::atomic_flag& is_over)
        : function_(static_cast<F&&>(function)), is_over_(&is_over) {}
    call(const F& function, std::atomic_flag& is_over) : function_(function), is_over_(&is_over) {}
    call(call&& other) noexcept
        : function_(static_cast<F&&>(other.function_)),
          is_over_(std::exchange(other.is_over_, nullptr)) {}
    call& operator=(call&&) = delete;
    ~call() {
      if (is_over_ == nullptr) return;
      is_over_->test_and_set();
      is_over_->notify_all();
    }
    void operator()() { function_(); }

   private:
    F function_;
    std::atomic_flag* is_over_;
  };
  E inner_;
};

}  // namespace facade

/// Returns the executor with these properties; one that is not offered does not compile.
template <class E, class First, class... More>
auto require(const E& executor, const First& first, const More&... more) {
  if constexpr (sizeof...(More) > 0) {
    return BECK_ASIO::require(BECK_ASIO::require(executor, first), more...);
  } else if constexpr (facade::requires_itself<E, First>) {
    return executor.require(first);
  } else if constexpr (facade::changes_nothing<First>) {
    return executor;
  } else if constexpr (std::is_same_v<First, execution::blocking_t::always_t>) {
    return facade::blocking_executor<E>(executor);
  } else {
    return beck::require(executor, first);
  }
}
/// Returns the executor with those of the properties that it offers.
template <class E, class First, class... More>
auto prefer(const E& executor, const First& first, const More&... more) {
  if constexpr (sizeof...(More) > 0) {
    return BECK_ASIO::prefer(BECK_ASIO::prefer(executor, first), more...);
  } else if constexpr (facade::prefers_itself<E, First>) {
    return executor.prefer(first);
  } else if constexpr (facade::requires_itself<E, First>) {
    return executor.require(first);
  } else {
    return beck::prefer(executor, first);
  }
}
/// The executor that require() and prefer() return.
template <class E, class... Properties>
struct require_result {
  using type =
      decltype(BECK_ASIO::require(std::declval<const E&>(), std::declval<Properties>()...));
};
/// As above, of prefer().
template <class E, class... Properties>
struct prefer_result {
  using type = decltype(BECK_ASIO::prefer(std::declval<const E&>(), std::declval<Properties>()...));
};
namespace facade {

template <class E>
inline constexpr bool is_blocking = false;
template <class E>
inline constexpr bool is_blocking<blocking_executor<E>> = true;

/// Returns a property of an executor that has no query() for it.
template <class E, class Property>
decltype(auto) property_of(const E& executor, const Property& property) {
  if constexpr (execution::blocking_t::is_asked_by<Property>) {
    if constexpr (is_blocking<E>)
      return execution::blocking_t(execution::blocking_t::always);
    else if constexpr (beck::detail::never_blocks<E>)
      return execution::blocking_t(execution::blocking_t::never);
    else
      return execution::blocking_t(execution::blocking_t::possibly);
  } else if constexpr (execution::outstanding_work_t::is_asked_by<Property>) {
    if constexpr (beck::detail::tracks_work<E>)
      return execution::outstanding_work_t(execution::outstanding_work_t::tracked);
    else
      return execution::outstanding_work_t(execution::outstanding_work_t::untracked);
  } else if constexpr (execution::relationship_t::is_asked_by<Property>) {
    return execution::relationship_t(execution::relationship_t::fork);
  } else if constexpr (execution::mapping_t::is_asked_by<Property>) {
    return execution::mapping_t(execution::mapping_t::thread);
  } else if constexpr (execution::inline_exception_handling_t::is_asked_by<Property>) {
    using handling = execution::inline_exception_handling_t;
    if constexpr (std::is_convertible_v<decltype(executor.context()), beck::thread_pool&>) {
      return handling(handling::terminate);
    } else {
      return handling(handling::capture);
    }
  } else if constexpr (is_allocator<Property>) {
    return std::allocator<void>();
  } else if constexpr (requires { executor.context(); }) {
    static_assert(std::is_same_v<Property, execution::context_t>,
                  "beck's executors have not got this property");
    return executor.context();
  } else {
    return beck::query(executor, property);
  }
}

}  // namespace facade

/// Returns a property of the executor, for example the context that it belongs to, in its own type
/// if the executor says so.
template <class E, class Property>
decltype(auto) query(const E& executor, const Property& property) {
  if constexpr (facade::answers_itself<E, Property>) {
    return executor.query(property);
  } else {
    return facade::property_of(executor, property);
  }
}

using beck::can_require_v;

BECK_ASIO_END
