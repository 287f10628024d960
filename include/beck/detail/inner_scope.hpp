// SPDX-License-Identifier: BSL-1.0
// A scope inside another one, in the frame of a coroutine. Timeouts, stop tokens and branches are
// built on it.
#pragma once

#include <beck/detail/scope.hpp>

namespace beck::detail {

/// A scope that is stopped with the outer scope, for which the outer scope waits as long as it
/// lives.
class inner_scope : public scope {
 public:
  explicit inner_scope(scope& outer) noexcept;
  ~inner_scope();

 private:
  scope& outer_;
};

/// A scope that is not stopped with the outer scope; the outer scope still knows the wait of its
/// coroutine.
class shielding_scope : public scope {
 public:
  explicit shielding_scope(scope& outer) noexcept;
  ~shielding_scope() { outer_.stop_waiting(); }

 private:
  scope& outer_;
};

}  // namespace beck::detail
