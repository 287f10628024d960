// SPDX-License-Identifier: BSL-1.0
// append, prepend and consign: tokens that carry values. The first two pass them to the handler
// beside the results, the third only keeps them until the handler has been called. With Asio's
// names and meaning.
#pragma once

#include <tuple>

#include <beck/detail/functions.hpp>
#include <beck/detail/many_results.hpp>
#include <beck/detail/token_adapter.hpp>

namespace beck {

namespace detail {

/// Where the values go when the handler is called. `nowhere`: they are only kept until then.
enum class values_place : unsigned char { in_front, behind, nowhere };

template <values_place Place, class Signature, class... V>
struct signature_with;
template <class R, class... A, class... V>
struct signature_with<values_place::in_front, R(A...), V...> {
  using type = R(V..., A...);
};
template <class R, class... A, class... V>
struct signature_with<values_place::behind, R(A...), V...> {
  using type = R(A..., V...);
};
template <class Signature, class... V>
struct signature_with<values_place::nowhere, Signature, V...> {
  using type = Signature;
};

/// A handler and the values.
template <values_place Place, class Handler, class... V>
class handler_with_values {
 public:
  template <class H>
  handler_with_values(H&& handler, std::tuple<V...>&& values)
      : values_(static_cast<std::tuple<V...>&&>(values)), handler_(static_cast<H&&>(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... A>
  void operator()(A&&... a) {
    std::apply(
        [&](V&... values) {
          if constexpr (Place == values_place::in_front) {
            static_cast<Handler&&>(handler_)(static_cast<V&&>(values)..., static_cast<A&&>(a)...);
          } else if constexpr (Place == values_place::behind) {
            static_cast<Handler&&>(handler_)(static_cast<A&&>(a)..., static_cast<V&&>(values)...);
          } else {
            static_cast<Handler&&>(handler_)(static_cast<A&&>(a)...);
          }
        },
        values_);
  }

 private:
  // In this order: if a move of the values throws, the handler is still whole; and it is destroyed
  // before the values, to which it may refer.
  std::tuple<V...> values_;
  Handler handler_;
};

template <values_place Place, class... V>
class values_adapter {
 public:
  template <class... A>
  explicit values_adapter(std::in_place_t, A&&... values) : values_(static_cast<A&&>(values)...) {}

  template <class Signature>
  using signature = typename signature_with<Place, Signature, V...>::type;
  template <class Signature>
  static constexpr bool maps_result = Place == values_place::nowhere;

  template <class Signature, class H>
  auto adapt(H&& handler) && {
    return handler_with_values<Place, std::decay_t<H>, V...>(
        static_cast<H&&>(handler), static_cast<std::tuple<V...>&&>(values_));
  }
  static void map() noexcept {}
  template <class R>
  static R map(R&& result) {
    return static_cast<R&&>(result);
  }

 private:
  std::tuple<V...> values_;
};

/// The type that all three functions return.
template <values_place Place, class Token, class... V>
using token_with_values = token_adapter<values_adapter<Place, V...>, Token>;

namespace functions {

template <values_place Place, class Token, class... Values>
auto with_values(Token&& token, Values&&... values) {
  using adapter = values_adapter<Place, std::decay_t<Values>...>;
  return token_adapter<adapter, std::decay_t<Token>>(
      adapter(std::in_place, static_cast<Values&&>(values)...), static_cast<Token&&>(token));
}

}  // namespace functions

}  // namespace detail

/// The type that append() returns.
template <class Token, class... Values>
using append_t = detail::token_with_values<detail::values_place::behind, Token, Values...>;
/// The type that prepend() returns.
template <class Token, class... Values>
using prepend_t = detail::token_with_values<detail::values_place::in_front, Token, Values...>;
/// The type that consign() returns.
template <class Token, class... Values>
using consign_t = detail::token_with_values<detail::values_place::nowhere, Token, Values...>;

namespace functions {

/// Returns a token that passes `values` (decayed copies) to `token` behind the results of the
/// operation: void(error_code) becomes void(error_code, Values...). A co_await that has no more
/// than two values behind the error returns them as usual; as_tuple around it returns any number.
template <class Token, class... Values>
auto append(Token&& token, Values&&... values) {
  return detail::with_values<detail::values_place::behind>(static_cast<Token&&>(token),
                                                           static_cast<Values&&>(values)...);
}
/// As append(), but passes `values` in front of the results.
template <class Token, class... Values>
auto prepend(Token&& token, Values&&... values) {
  return detail::with_values<detail::values_place::in_front>(static_cast<Token&&>(token),
                                                             static_cast<Values&&>(values)...);
}
/// Returns a token that keeps `values` (decayed copies) until `token`'s handler has been called or
/// destroyed: a buffer or an object that the operation works on.
template <class Token, class... Values>
auto consign(Token&& token, Values&&... values) {
  return detail::with_values<detail::values_place::nowhere>(static_cast<Token&&>(token),
                                                            static_cast<Values&&>(values)...);
}

}  // namespace functions

}  // namespace beck
