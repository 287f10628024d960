// SPDX-License-Identifier: BSL-1.0
// A scope inside another one, in the frame of a coroutine: what timeouts, stop tokens and branches
// are made of.
#pragma once

#include <beck/detail/scope.hpp>

namespace beck::detail {

/// Stopped with the outer scope, which waits for this one as long as it lives.
class inner_scope : public scope {
 public:
  explicit inner_scope(scope& outer) noexcept;
  ~inner_scope();

 private:
  scope& outer_;
};

/// Not stopped with the outer scope, which still knows what its coroutine waits for.
class shielding_scope : public scope {
 public:
  explicit shielding_scope(scope& outer) noexcept;
  ~shielding_scope() { outer_.stop_waiting(); }

 private:
  scope& outer_;
};

}  // namespace beck::detail
