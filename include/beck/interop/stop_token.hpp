// SPDX-License-Identifier: BSL-1.0
// Bridges between beck::stop_token and std::stop_token, both ways. Opt-in, because <stop_token>
// costs half a second a file.
#pragma once

#include <beck/coro/within.hpp>
#include <beck/detail/functions.hpp>
#include <beck/run/stop_token.hpp>
#include <stop_token>
#include <utility>

namespace beck {

/// Passes the stop of a std::stop_token, of a std::jthread for instance, on to a beck::stop_token,
/// as long as it lives. Neither copied nor moved. Thread: the stop is passed on by the thread that
/// requests it.
class [[nodiscard]] from_std_stop_token {
 public:
  /// Listens to `token`. Throws std::bad_alloc.
  explicit from_std_stop_token(std::stop_token token)
      : passing_(static_cast<std::stop_token&&>(token), pass_on{&source_}) {}
  from_std_stop_token(const from_std_stop_token&) = delete;
  from_std_stop_token& operator=(const from_std_stop_token&) = delete;

  /// Returns the token that is stopped.
  stop_token get_token() const noexcept { return source_.get_token(); }
  /// Converts to the token that is stopped.
  operator stop_token() const noexcept { return get_token(); }

 private:
  struct pass_on {
    stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

  stop_source source_;
  std::stop_callback<pass_on> passing_;
};

/// Passes the stop of a beck::stop_token on to a std::stop_token, as long as it lives: for
/// libraries that use the standard's. Neither copied nor moved. Thread: as from_std_stop_token.
class [[nodiscard]] to_std_stop_token {
 public:
  /// Listens to `token`. Throws std::bad_alloc.
  explicit to_std_stop_token(const stop_token& token) : passing_(token, pass_on{&source_}) {}
  to_std_stop_token(const to_std_stop_token&) = delete;
  to_std_stop_token& operator=(const to_std_stop_token&) = delete;

  /// Returns the token that is stopped.
  std::stop_token get_token() const noexcept { return source_.get_token(); }
  /// Converts to the token that is stopped.
  operator std::stop_token() const noexcept { return get_token(); }

 private:
  struct pass_on {
    std::stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

  std::stop_source source_;
  stop_callback<pass_on> passing_;
};

namespace detail {

/// A scope that a std::stop_token stops.
class std_token_scope : public token_scope {
 public:
  using token_scope::token_scope;
  void stop_with(const std::stop_token& token) {
    bridge_.emplace(token);
    token_scope::stop_with(bridge_->get_token());
  }

 private:
  deferred_init<from_std_stop_token> bridge_;
};

class std_token_limit {
 public:
  using scope_type = std_token_scope;
  explicit std_token_limit(std::stop_token token) noexcept
      : token_(static_cast<std::stop_token&&>(token)) {}
  static void enter(deferred_init<std_token_scope>& place, scope& outer) noexcept {
    place.emplace(outer);
  }
  void set_on(std_token_scope& inner) const { inner.stop_with(token_); }

 private:
  std::stop_token token_;
};

}  // namespace detail

namespace functions {

/// Ends an operation or a task when a stop is requested through `token`; as with_stop() with a
/// beck::stop_token.
template <detail::scoped_awaitable A>
auto with_stop(std::stop_token token, A awaitable) {
  return detail::within(detail::std_token_limit(static_cast<std::stop_token&&>(token)),
                        static_cast<A&&>(awaitable));
}

}  // namespace functions

}  // namespace beck
