// SPDX-License-Identifier: BSL-1.0
// as_single: a token that makes one value of the completion's arguments: a std::tuple of several,
// and the argument itself if there is only one.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/token.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// How a signature's arguments become one value: as a tuple, or unchanged.
template <class Signature>
struct single_form : beck::detail::tuple_form<Signature> {};
template <class... A>
  requires(sizeof...(A) < 2)
struct single_form<void(A...)> {
  using signature = void(A...);
  template <class Handler>
  using handler = Handler;
  static constexpr bool maps_result = false;
};

/// The adapter of the token; see beck/detail/token_adapter.hpp.
class single_adapter : public beck::detail::tuple_adapter {
 public:
  template <class Signature>
  using signature = typename single_form<Signature>::signature;
  template <class Signature>
  static constexpr bool maps_result = single_form<Signature>::maps_result;

  template <class Signature, class H>
  auto adapt(H&& handler) const {
    using adapted = typename single_form<Signature>::template handler<std::decay_t<H>>;
    return adapted(static_cast<H&&>(handler));
  }
};

}  // namespace facade

namespace experimental {

/// The token that as_single() returns.
template <class Token>
using as_single_t = beck::detail::token_adapter<facade::single_adapter, Token>;

/// Returns a token that completes `token` with one value.
template <class Token>
as_single_t<std::decay_t<Token>> as_single(Token&& token) {
  return as_single_t<std::decay_t<Token>>(facade::single_adapter(), static_cast<Token&&>(token));
}

}  // namespace experimental

BECK_ASIO_END
