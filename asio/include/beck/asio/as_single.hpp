// SPDX-License-Identifier: BSL-1.0
// as_single: a token that gets one value: several results as a std::tuple, one as it is.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/token.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// Whether a signature has several values.
template <class Signature>
inline constexpr bool has_several = false;
template <class A, class B, class... More>
inline constexpr bool has_several<void(A, B, More...)> = true;

template <class Signature>
struct single_form {
  using signature = Signature;
  static constexpr bool maps_result = false;
};
template <class Signature>
  requires has_several<Signature>
struct single_form<Signature> : beck::detail::tuple_form<Signature> {};

/// The adapter of the token; see beck/detail/token_adapter.hpp.
class single_adapter : public beck::detail::tuple_adapter {
 public:
  template <class Signature>
  using signature = typename single_form<Signature>::signature;
  template <class Signature>
  static constexpr bool maps_result = single_form<Signature>::maps_result;

  template <class Signature, class H>
  auto adapt(H&& handler) const {
    if constexpr (has_several<Signature>) {
      return beck::detail::tuple_adapter::adapt<Signature>(static_cast<H&&>(handler));
    } else {
      return std::decay_t<H>(static_cast<H&&>(handler));
    }
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
