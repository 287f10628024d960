// SPDX-License-Identifier: BSL-1.0
// async_compose, and cancellation_state with Asio's filters: a composed operation passes terminal
// requests on to its steps, and others if its program says so.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/run/cancellation.hpp>
#include <beck/run/compose.hpp>

BECK_ASIO_BEGIN

using beck::cancellation_type;
/// Asio's other name for it.
using cancellation_type_t = beck::cancellation_type;

using beck::cancellation_state;

namespace facade {

/// A filter of cancellation_state: passes on the types that are in `Mask`.
template <unsigned Mask>
struct cancellation_filter {
  /// Returns the part of `type` that is in the mask.
  constexpr cancellation_type operator()(cancellation_type type) const noexcept {
    return type & static_cast<cancellation_type>(Mask);
  }
};

}  // namespace facade

/// The filter that passes nothing.
using disable_cancellation = facade::cancellation_filter<0>;
/// The filter that passes terminal requests.
using enable_terminal_cancellation = facade::cancellation_filter<1>;
/// The filter that passes terminal and partial requests.
using enable_partial_cancellation = facade::cancellation_filter<3>;
/// The filter that passes everything.
using enable_total_cancellation = facade::cancellation_filter<7>;

namespace facade {

/// The handler of a composed operation, whose steps listen to the operation's state instead of the
/// handler's slot.
template <class Handler>
class handler_with_state {
 public:
  template <class H>
  explicit handler_with_state(H&& handler) : handler_(static_cast<H&&>(handler)) {}

  const Handler& wrapped_handler() const noexcept { return handler_; }
  beck::cancellation_slot get_cancellation_slot() const noexcept { return state_.slot(); }
  const cancellation_state& state() const noexcept { return state_; }
  template <class... Filters>
  void reset(Filters&&... filters) {
    state_ = cancellation_state(beck::get_associated_cancellation_slot(handler_),
                                static_cast<Filters&&>(filters)...);
  }
  template <class... A>
  void operator()(A&&... results) {
    static_cast<Handler&&>(handler_)(static_cast<A&&>(results)...);
  }

 private:
  Handler handler_;
  cancellation_state state_;
};

/// The `self` of a composed operation: beck's, with Asio's functions for cancellation.
template <class Signature, class Implementation, class Handler, std::size_t Places>
class composed_self : public beck::detail::composed_op<Signature, Implementation,
                                                       handler_with_state<Handler>, Places> {
  using base =
      beck::detail::composed_op<Signature, Implementation, handler_with_state<Handler>, Places>;

 public:
  using base::base;

  /// Returns the slot that the steps listen to.
  beck::cancellation_slot get_cancellation_slot() const noexcept {
    return this->wrapped_handler().get_cancellation_slot();
  }
  /// Returns the state of the operation.
  cancellation_state get_cancellation_state() const noexcept {
    return this->wrapped_handler().state();
  }
  /// Returns the requests so far that passed the filter.
  cancellation_type cancelled() const noexcept { return get_cancellation_state().cancelled(); }
  /// Passes requests on from here on as `filters` say, by default terminal ones.
  template <class... Filters>
  void reset_cancellation_state(Filters&&... filters) {
    this->handler().reset(static_cast<Filters&&>(filters)...);
  }
  /// Runs the next step. No request reaches the one before it any more.
  template <class... T>
  void operator()(T&&... results) {
    get_cancellation_slot().clear();
    this->implementation()(*this, static_cast<T&&>(results)...);
  }
};

/// The initiation of a composed operation.
template <class Signature, std::size_t Places>
class composed_initiation {
 public:
  using executor_type = any_io_executor;
  template <class... P>
  explicit composed_initiation(P&&... places) : places_{beck::detail::executor_at(places)...} {}
  executor_type get_executor() const noexcept { return places_[0]; }

  /// Calls `implementation` with the `self` of the operation and with `args`.
  template <class Handler, class Implementation, class... Args>
  void operator()(Handler&& handler, Implementation&& implementation, Args&&... args) {
    using self_type =
        composed_self<Signature, std::decay_t<Implementation>, std::decay_t<Handler>, Places>;
    if (!places_[0] && beck::detail::runner::current() != nullptr) {
      places_[0] = beck::detail::current_executor();
    }
    const beck::detail::initiating_call call;
    self_type self(static_cast<Implementation&&>(implementation), static_cast<Handler&&>(handler),
                   places_, call);
    self.reset_cancellation_state();
    self(static_cast<Args&&>(args)...);
  }

 private:
  any_io_executor places_[Places];
};

template <class Token, class Signature>
struct compose_function {
  template <class Implementation, class... Places>
  auto operator()(Implementation&& implementation, std::type_identity_t<Token>& token,
                  Places&&... places) const {
    constexpr std::size_t count = sizeof...(Places) == 0 ? 1 : sizeof...(Places);
    return beck::async_initiate<Token, Signature>(composed_initiation<Signature, count>(places...),
                                                  token,
                                                  static_cast<Implementation&&>(implementation));
  }
};

}  // namespace facade

/// Starts a composed operation, as beck::async_compose(). Its steps get terminal requests, until
/// self.reset_cancellation_state(filter). An object, so that argument-dependent lookup does not
/// find beck's function beside it.
template <class Token, class Signature>
inline constexpr facade::compose_function<Token, facade::beck_signature<Signature>> async_compose{};

BECK_ASIO_END
