// SPDX-License-Identifier: BSL-1.0
// A scope that a stop_token can stop: the way in which other threads reach coroutines.
#pragma once

#include <beck/detail/inner_scope.hpp>
#include <beck/run/stop_token.hpp>

namespace beck::detail {

class stop_relay;

/// Ties a scope to a stop_token: a request stops the scope, inside its executor. The link ends
/// before the scope does. Thread: every function is called from inside the executor.
class stop_link {
 public:
  stop_link() noexcept = default;
  ~stop_link() { disconnect(); }
  stop_link(const stop_link&) = delete;
  stop_link& operator=(const stop_link&) = delete;

  /// Stops `to` when a stop is requested through `token`; at once if that has happened before.
  /// Throws std::bad_alloc.
  void connect(scope& to, const stop_token& token);
  /// Ends the tie: later requests do not stop the scope.
  void disconnect() noexcept;

 private:
  stop_relay* relay_ = nullptr;
};

/// A scope that is stopped with the outer scope, or when a stop is requested through a token.
class token_scope : public inner_scope {
 public:
  explicit token_scope(scope& outer) noexcept : inner_scope(outer) {}

  /// Connects the scope to `token`. Throws std::bad_alloc.
  void stop_with(const stop_token& token) { link_.connect(*this, token); }

 private:
  stop_link link_;
};

}  // namespace beck::detail
