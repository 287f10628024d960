// SPDX-License-Identifier: BSL-1.0
// Bridges between beck::stop_token and std::stop_token, both ways. Opt-in, because <stop_token>
// costs half a second a file.
#pragma once

#include <beck/coro/within.hpp>
#include <beck/run/stop_token.hpp>
#include <stop_token>
#include <utility>

namespace beck {

/// A beck::stop_token that hears what a std::stop_token hears, as long as the bridge lives: of a
/// std::jthread, for instance. It stays where it is. Throws std::bad_alloc. Thread: the request is
/// passed on by the thread that makes it.
class [[nodiscard]] from_std_stop_token {
 public:
  explicit from_std_stop_token(std::stop_token token)
      : passing_(static_cast<std::stop_token&&>(token), pass_on{&source_}) {}
  from_std_stop_token(const from_std_stop_token&) = delete;
  from_std_stop_token& operator=(const from_std_stop_token&) = delete;

  stop_token get_token() const noexcept { return source_.get_token(); }
  operator stop_token() const noexcept { return get_token(); }

 private:
  struct pass_on {
    stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

  stop_source source_;
  std::stop_callback<pass_on> passing_;
};

/// A std::stop_token that hears what a beck::stop_token hears, as long as the bridge lives: for
/// libraries that know the standard's only. As above.
class [[nodiscard]] to_std_stop_token {
 public:
  explicit to_std_stop_token(const stop_token& token) : passing_(token, pass_on{&source_}) {}
  to_std_stop_token(const to_std_stop_token&) = delete;
  to_std_stop_token& operator=(const to_std_stop_token&) = delete;

  std::stop_token get_token() const noexcept { return source_.get_token(); }
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
  late<from_std_stop_token> bridge_;
};

class std_token_limit {
 public:
  using scope_type = std_token_scope;
  explicit std_token_limit(std::stop_token token) noexcept
      : token_(static_cast<std::stop_token&&>(token)) {}
  static void enter(late<std_token_scope>& place, scope& outer) noexcept { place.emplace(outer); }
  void set_on(std_token_scope& inner) const { inner.stop_with(token_); }

 private:
  std::stop_token token_;
};

}  // namespace detail

/// As with_stop() with a token of this library.
template <detail::scoped_awaitable A>
auto with_stop(std::stop_token token, A awaitable) {
  return detail::within(detail::std_token_limit(static_cast<std::stop_token&&>(token)),
                        static_cast<A&&>(awaitable));
}

}  // namespace beck
