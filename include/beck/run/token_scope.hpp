// SPDX-License-Identifier: BSL-1.0
// A scope that a stop_token can stop: the door through which other threads reach coroutines.
#pragma once

#include <beck/run/inner_scope.hpp>
#include <beck/run/stop_token.hpp>

namespace beck {

/// Carries one stop request from the thread that makes it to the executor of a scope.
class stop_relay;

/// Stopped with the outer scope, or when a stop is requested through the token.
class token_scope : public inner_scope {
 public:
  explicit token_scope(scope& outer) noexcept : inner_scope(outer) {}
  ~token_scope();

  /// From here on the token counts. Throws std::bad_alloc.
  void stop_with(const stop_token& token);

 private:
  stop_relay* relay_ = nullptr;
};

}  // namespace beck
