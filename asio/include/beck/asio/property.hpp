// SPDX-License-Identifier: BSL-1.0
// Properties of executors: require, prefer and query, with those that a program's own executors
// offer by members.
#pragma once

#include <atomic>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/run/properties.hpp>

BECK_ASIO_BEGIN

namespace execution {

using namespace beck::execution;

/// Executors: those of beck, and classes of a program with execute() and ==.
template <class E>
concept executor = beck::detail::executor_like<E>;
/// Whether E is an executor.
template <class E>
inline constexpr bool is_executor_v = executor<E>;
/// As above, as a type.
template <class E>
struct is_executor : std::bool_constant<executor<E>> {};

/// beck's property with a value, so that the query() of a program's executor can return it: one of
/// its three nested properties.
class blocking_t : public beck::execution::blocking_t {
 public:
  /// Has no value.
  constexpr blocking_t() noexcept = default;
  constexpr blocking_t(possibly_t) noexcept : value_(1) {}
  constexpr blocking_t(always_t) noexcept : value_(2) {}
  constexpr blocking_t(never_t) noexcept : value_(3) {}
  friend constexpr bool operator==(blocking_t a, blocking_t b) noexcept {
    return a.value_ == b.value_;  // the base, a list of names, has no comparison
  }

 private:
  int value_ = 0;
};
/// The property.
inline constexpr blocking_t blocking{};

}  // namespace execution

namespace facade {

/// Executors of a program that offer a property by themselves.
template <class E, class Property>
concept requires_itself = requires(const E& e, const Property& p) { e.require(p); };
template <class E, class Property>
concept prefers_itself = requires(const E& e, const Property& p) { e.prefer(p); };
template <class E, class Property>
concept answers_itself = requires(const E& e, const Property& p) { e.query(p); };

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
/// Returns a property of the executor, for example the context that it belongs to, in its own type
/// if the executor says so.
template <class E, class Property>
decltype(auto) query(const E& executor, const Property& property) {
  if constexpr (facade::answers_itself<E, Property>) {
    return executor.query(property);
  } else if constexpr (requires { executor.context(); }) {
    static_assert(std::is_same_v<Property, execution::context_t>,
                  "of an executor of beck only the context can be asked for");
    return executor.context();
  } else {
    return beck::query(executor, property);
  }
}

using beck::can_require_v;

BECK_ASIO_END
