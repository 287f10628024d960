// SPDX-License-Identifier: BSL-1.0
// The outcome of an operation that completes with three values or more, none of them an error.
#pragma once

#include <tuple>

#include <beck/detail/awaited_result.hpp>

namespace beck::detail {

/// As the forms for fewer values; `value()` is a tuple.
template <class T, class U, class V, class... More>
struct bare_result<T, U, V, More...> {
  template <class... A>
  explicit bare_result(A&&... values) : value_(static_cast<A&&>(values)...) {}
  std::tuple<T, U, V, More...> value() && {
    return static_cast<std::tuple<T, U, V, More...>&&>(value_);
  }
  template <class H, class... First>
  void spread(H&& handler, First&&... first) && {
    std::apply(
        [&](auto&&... values) {
          static_cast<H&&>(handler)(static_cast<First&&>(first)...,
                                    static_cast<decltype(values)>(values)...);
        },
        static_cast<std::tuple<T, U, V, More...>&&>(value_));
  }
  std::tuple<T, U, V, More...> value_;
};

}  // namespace beck::detail
