// SPDX-License-Identifier: BSL-1.0
// redirect_error: a token that writes the error to a variable; the inner token gets the rest.
// Built-in operations that are awaited need no handler for it.
#pragma once

#include <beck/detail/awaited_result.hpp>
#include <beck/detail/reports_error.hpp>
#include <beck/detail/token_adapter.hpp>

namespace beck {

namespace detail {

template <class Handler, class... A>
class redirecting_handler {
 public:
  template <class H>
  redirecting_handler(H&& handler, error_code& target)
      : handler_(static_cast<H&&>(handler)), target_(&target) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  void operator()(error_code ec, A... a) {
    *target_ = ec;
    static_cast<Handler&&>(handler_)(static_cast<A&&>(a)...);
  }

 private:
  Handler handler_;
  error_code* target_;
};

class redirecting_adapter {
 public:
  explicit redirecting_adapter(error_code& target) noexcept : target_(&target) {}

  template <class Signature>
  struct form {  // nothing to redirect
    using signature = Signature;
    template <class H>
    static std::decay_t<H> adapt(H&& handler, error_code&) {
      return static_cast<H&&>(handler);
    }
  };
  template <class... A>
  struct form<void(error_code, A...)> {
    using signature = void(A...);
    template <class H>
    static redirecting_handler<std::decay_t<H>, A...> adapt(H&& handler, error_code& target) {
      return redirecting_handler<std::decay_t<H>, A...>(static_cast<H&&>(handler), target);
    }
  };
  template <class Signature>
  using signature = typename form<Signature>::signature;
  template <class Signature>
  static constexpr bool maps_result = !std::is_same_v<signature<Signature>, Signature>;

  template <class Signature, class H>
  auto adapt(H&& handler) const {
    return form<Signature>::adapt(static_cast<H&&>(handler), *target_);
  }

  template <reports_error R>
  R map(R&& result) const {
    *target_ = result.error();
    return static_cast<R&&>(result);
  }
  void map(io_result<>&& r) const noexcept { *target_ = r.error_; }
  template <class T>
  T map(io_result<T>&& r) const {
    *target_ = r.error_;
    return static_cast<T&&>(r.value_);
  }
  template <class T, class U>
  std::pair<T, U> map(io_result<T, U>&& r) const {
    *target_ = r.error_;
    return std::pair<T, U>(static_cast<T&&>(r.first_), static_cast<U&&>(r.second_));
  }

 private:
  error_code* target_;
};

}  // namespace detail

/// The type that redirect_error() returns.
template <class Token>
using redirect_error_t = detail::token_adapter<detail::redirecting_adapter, Token>;

/// Returns a token that writes the error (or success) to `target` when the operation completes, and
/// passes only the values to `token`. Requires that `target` lives until then. Signatures without
/// an error_code stay as they are.
template <class Token>
redirect_error_t<std::decay_t<Token>> redirect_error(Token&& token, error_code& target) {
  return redirect_error_t<std::decay_t<Token>>(detail::redirecting_adapter(target),
                                               static_cast<Token&&>(token));
}
/// As above, around the default token.
inline redirect_error_t<deferred_t> redirect_error(error_code& target) {
  return redirect_error(deferred, target);
}

}  // namespace beck
