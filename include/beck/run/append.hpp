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

/// Where append() and prepend() pass their values.
enum class values_place : bool { in_front, behind };

template <values_place Place, class Signature, class... V>
struct extended_signature;
template <class R, class... A, class... V>
struct extended_signature<values_place::in_front, R(A...), V...> {
  using type = R(V..., A...);
};
template <class R, class... A, class... V>
struct extended_signature<values_place::behind, R(A...), V...> {
  using type = R(A..., V...);
};

template <values_place Place, class Handler, class... V>
class extending_handler {
 public:
  template <class H>
  extending_handler(H&& handler, std::tuple<V...>&& values)
      : values_(static_cast<std::tuple<V...>&&>(values)), handler_(static_cast<H&&>(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... A>
  void operator()(A&&... a) {
    std::apply(
        [&](V&... values) {
          if constexpr (Place == values_place::in_front) {
            static_cast<Handler&&>(handler_)(static_cast<V&&>(values)..., static_cast<A&&>(a)...);
          } else {
            static_cast<Handler&&>(handler_)(static_cast<A&&>(a)..., static_cast<V&&>(values)...);
          }
        },
        values_);
  }

 private:
  std::tuple<V...> values_;  // moved first: if that throws, the handler is still whole
  Handler handler_;
};

template <values_place Place, class... V>
class extending_adapter {
 public:
  template <class... A>
  explicit extending_adapter(std::in_place_t, A&&... values)
      : values_(static_cast<A&&>(values)...) {}

  template <class Signature>
  using signature = typename extended_signature<Place, Signature, V...>::type;
  template <class Signature>
  static constexpr bool maps_result = false;

  template <class Signature, class H>
  auto adapt(H&& handler) && {
    return extending_handler<Place, std::decay_t<H>, V...>(
        static_cast<H&&>(handler), static_cast<std::tuple<V...>&&>(values_));
  }

 private:
  std::tuple<V...> values_;
};

/// Calls a handler, and keeps values until then.
template <class Handler, class... V>
class consigning_handler {
 public:
  template <class H>
  consigning_handler(H&& handler, std::tuple<V...>&& values)
      : values_(static_cast<std::tuple<V...>&&>(values)), handler_(static_cast<H&&>(handler)) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  template <class... A>
  auto operator()(A&&... a) -> decltype(std::declval<Handler>()(static_cast<A&&>(a)...)) {
    return static_cast<Handler&&>(handler_)(static_cast<A&&>(a)...);
  }

 private:
  std::tuple<V...> values_;  // destroyed behind the handler, which may refer to them
  Handler handler_;
};

template <class... V>
class consigning_adapter {
 public:
  template <class... A>
  explicit consigning_adapter(std::in_place_t, A&&... values)
      : values_(static_cast<A&&>(values)...) {}

  template <class Signature>
  using signature = Signature;
  template <class Signature>
  static constexpr bool maps_result = true;

  template <class Signature, class H>
  auto adapt(H&& handler) && {
    return consigning_handler<std::decay_t<H>, V...>(static_cast<H&&>(handler),
                                                     static_cast<std::tuple<V...>&&>(values_));
  }
  static void map() noexcept {}
  template <class R>
  static R map(R&& result) {
    return static_cast<R&&>(result);
  }

 private:
  std::tuple<V...> values_;
};

}  // namespace detail

/// The type that append() returns.
template <class Token, class... Values>
using append_t =
    detail::token_adapter<detail::extending_adapter<detail::values_place::behind, Values...>,
                          Token>;
/// The type that prepend() returns.
template <class Token, class... Values>
using prepend_t =
    detail::token_adapter<detail::extending_adapter<detail::values_place::in_front, Values...>,
                          Token>;
/// The type that consign() returns.
template <class Token, class... Values>
using consign_t = detail::token_adapter<detail::consigning_adapter<Values...>, Token>;

namespace functions {

/// Returns a token that passes `values` (decayed copies) to `token` behind the results of the
/// operation: void(error_code) becomes void(error_code, Values...). A co_await that has no more
/// than two values behind the error returns them as usual; as_tuple around it returns any number.
template <class Token, class... Values>
auto append(Token&& token, Values&&... values) {
  using type = append_t<std::decay_t<Token>, std::decay_t<Values>...>;
  using adapter = detail::extending_adapter<detail::values_place::behind, std::decay_t<Values>...>;
  return type(adapter(std::in_place, static_cast<Values&&>(values)...),
              static_cast<Token&&>(token));
}
/// As append(), but passes `values` in front of the results.
template <class Token, class... Values>
auto prepend(Token&& token, Values&&... values) {
  using type = prepend_t<std::decay_t<Token>, std::decay_t<Values>...>;
  using adapter =
      detail::extending_adapter<detail::values_place::in_front, std::decay_t<Values>...>;
  return type(adapter(std::in_place, static_cast<Values&&>(values)...),
              static_cast<Token&&>(token));
}
/// Returns a token that keeps `values` (decayed copies) until `token`'s handler has been called or
/// destroyed: a buffer or an object that the operation works on.
template <class Token, class... Values>
auto consign(Token&& token, Values&&... values) {
  using type = consign_t<std::decay_t<Token>, std::decay_t<Values>...>;
  return type(detail::consigning_adapter<std::decay_t<Values>...>(std::in_place,
                                                                  static_cast<Values&&>(values)...),
              static_cast<Token&&>(token));
}

}  // namespace functions

}  // namespace beck
