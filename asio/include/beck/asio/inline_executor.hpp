// SPDX-License-Identifier: BSL-1.0
// inline_executor: an executor whose functions run inside execute(), and async_immediate(), the
// operation that has nothing to do.
#pragma once

#include <type_traits>

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/asio/token.hpp>
#include <beck/run/thread_pool.hpp>

BECK_ASIO_BEGIN

/// Runs each function at once, on the thread of the caller, whose stack it uses: a chain of
/// operations that complete at once nests without a bound. `Terminates`: an exception of the
/// function ends the program; else it leaves execute().
template <bool Terminates>
class basic_inline_executor {
  using handling = execution::inline_exception_handling_t;

 public:
  /// Runs `function`.
  template <class F>
  void execute(F&& function) const noexcept(Terminates) {
    std::decay_t<F> kept(static_cast<F&&>(function));
    static_cast<std::decay_t<F>&&>(kept)();
  }
  /// Returns the context of the system's executor.
  static beck::execution_context& context() { return beck::system_executor().context(); }
  /// As context().
  beck::execution_context& query(execution::context_t) const { return context(); }
  /// Returns that it blocks.
  static constexpr execution::blocking_t query(execution::blocking_t) noexcept {
    return execution::blocking_t::always;
  }
  /// Returns what becomes of exceptions.
  template <class P>
    requires handling::is_asked_by<P>
  static constexpr handling query(P) noexcept {
    if constexpr (Terminates) {
      return handling::terminate;
    } else {
      return handling::propagate;
    }
  }
  /// Returns an executor that propagates exceptions.
  static constexpr basic_inline_executor<false> require(handling::propagate_t) noexcept {
    return {};
  }
  /// Returns an executor whose functions end the program with an exception.
  static constexpr basic_inline_executor<true> require(handling::terminate_t) noexcept {
    return {};
  }
  /// Returns the executor itself, which blocks.
  static constexpr basic_inline_executor require(execution::blocking_t::always_t) noexcept {
    return {};
  }
  /// All are equal.
  friend constexpr bool operator==(basic_inline_executor, basic_inline_executor) noexcept {
    return true;
  }
};
using inline_executor = basic_inline_executor<false>;

/// Runs each function at once, as inline_executor, but belongs to another executor, which runs it
/// where blocking.never is required.
template <class Executor>
class inline_or_executor {
 public:
  using inner_executor_type = Executor;

  explicit inline_or_executor(const Executor& inner) noexcept : inner_(inner) {}
  /// Copies one whose executor has another type.
  template <class Other>
    requires(!std::is_same_v<Other, Executor> && std::is_convertible_v<const Other&, Executor>)
  inline_or_executor(const inline_or_executor<Other>& other) noexcept
      : inner_(other.get_inner_executor()) {}

  Executor get_inner_executor() const noexcept { return inner_; }
  /// Runs `function`. An exception of it leaves.
  template <class F>
  void execute(F&& function) const {
    inline_executor().execute(static_cast<F&&>(function));
  }
  auto& context() const noexcept { return inner_.context(); }
  auto& query(execution::context_t) const noexcept { return context(); }
  template <class P>
    requires execution::blocking_t::is_asked_by<P>
  static constexpr execution::blocking_t query(P) noexcept {
    return execution::blocking_t::always;
  }
  auto require(execution::blocking_t::never_t) const {
    return BECK_ASIO::require(inner_, execution::blocking_t::never);
  }
  inline_or_executor require(execution::blocking_t::possibly_t) const noexcept { return *this; }
  inline_or_executor require(execution::blocking_t::always_t) const noexcept { return *this; }
  friend bool operator==(const inline_or_executor&, const inline_or_executor&) = default;

 private:
  Executor inner_;
};
/// Returns an inline_or_executor of an executor, or of that of a context.
template <class Place>
auto inline_or(Place&& place) {
  if constexpr (beck::detail::executor_like<std::remove_cvref_t<Place>>) {
    return inline_or_executor<std::remove_cvref_t<Place>>(place);
  } else {
    return inline_or_executor<decltype(place.get_executor())>(place.get_executor());
  }
}

namespace facade {

/// The initiation of async_immediate().
class immediate_initiation {
 public:
  explicit immediate_initiation(beck::any_io_executor home) : home_(std::move(home)) {}
  const beck::any_io_executor& get_executor() const noexcept { return home_; }
  template <class Handler>
  void operator()(Handler&& handler) const {
    if constexpr (requires { handler.get_immediate_executor(); }) {
      const auto where = handler.get_immediate_executor();
      if constexpr (std::is_same_v<std::decay_t<decltype(where)>, beck::system_executor> &&
                    !beck::detail::has_associated_executor<std::decay_t<Handler>>) {
        static_cast<Handler&&>(handler)();  // the system's executor runs on any thread
      } else {
        beck::dispatch(where, static_cast<Handler&&>(handler));
      }
    } else {
      beck::post(home_, static_cast<Handler&&>(handler));
    }
  }

 private:
  beck::any_io_executor home_;
};

}  // namespace facade

/// Completes at once: on the immediate executor of the handler, else queued on `where`, an executor
/// or a context.
template <class Where, class Token = beck::deferred_t>
auto async_immediate(Where&& where, Token&& token = Token()) {
  return beck::async_initiate<Token, void()>(
      facade::immediate_initiation(beck::detail::executor_at(where)), token);
}

BECK_ASIO_END
