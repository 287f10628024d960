// SPDX-License-Identifier: BSL-1.0
// executor_with_token: the executor of objects with a default token.
#pragma once

#include <type_traits>

#include <beck/run/any_io_executor.hpp>

namespace beck::detail {

/// An executor whose objects have a default token. Converts from what `Inner` converts from.
template <class Token, class Inner>
class executor_with_token : public Inner {
 public:
  using default_completion_token_type = Token;
  static constexpr bool is_counted = [] {  // for any_io_executor, which takes this for its own
    if constexpr (requires { Inner::is_counted; }) {
      return Inner::is_counted;
    } else {
      return std::is_same_v<Inner, any_io_executor>;
    }
  }();

  template <class E>
    requires(!std::is_base_of_v<executor_with_token, E> && std::is_convertible_v<const E&, Inner>)
  executor_with_token(const E& executor) noexcept : Inner(executor) {}
};

}  // namespace beck::detail
