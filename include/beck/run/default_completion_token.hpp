// SPDX-License-Identifier: BSL-1.0
// default_completion_token: the token of operations that are started without one. With Asio's name
// and meaning.
#pragma once

#include <beck/run/async_result.hpp>

namespace beck {

/// The token of operations on an object with executor E that are started without one: E's
/// default_completion_token_type, or else deferred. May be specialised.
template <class E>
struct default_completion_token {
  /// The token.
  using type = deferred_t;
};
template <class E>
  requires requires { typename E::default_completion_token_type; }
struct default_completion_token<E> {
  /// The token.
  using type = typename E::default_completion_token_type;
};
/// The token of operations on an object with executor E that are started without one.
template <class E>
using default_completion_token_t = typename default_completion_token<E>::type;

namespace detail {

template <class Object>
using default_token_of =
    default_completion_token_t<std::decay_t<decltype(std::declval<Object&>().get_executor())>>;

}  // namespace detail

}  // namespace beck
