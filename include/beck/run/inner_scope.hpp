// SPDX-License-Identifier: BSL-1.0
// A scope inside another one, in the frame of a coroutine: what timeouts, stop tokens and branches
// are made of.
#pragma once

#include <beck/run/scope.hpp>

namespace beck {

/// Stopped with the outer scope, which waits for this one as long as it lives.
class inner_scope : public scope {
 public:
  explicit inner_scope(scope& outer) noexcept;
  ~inner_scope();

 private:
  scope& outer_;
};

}  // namespace beck
