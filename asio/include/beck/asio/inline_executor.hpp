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
/// operations that complete at once nests without a bound.
class inline_executor {
 public:
  /// Runs `function`. An exception of it leaves.
  template <class F>
  void execute(F&& function) const {
    std::decay_t<F> kept(static_cast<F&&>(function));
    static_cast<std::decay_t<F>&&>(kept)();
  }
  /// Returns the context of the system's executor.
  static beck::execution_context& context() { return beck::system_executor().context(); }
  /// As context().
  beck::execution_context& query(execution::context_t) const { return context(); }
  /// Returns that it blocks.
  static constexpr execution::blocking_t query(execution::blocking_t) noexcept {
    return execution::blocking_t::always_t();
  }
  /// All are equal.
  friend constexpr bool operator==(inline_executor, inline_executor) noexcept { return true; }
};

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
