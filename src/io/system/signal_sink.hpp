// SPDX-License-Identifier: BSL-1.0
// Where a system delivers signals: a small door, because a real one calls it from inside a signal
// handler.
#pragma once

#include <beck/io/signal_set.hpp>

namespace beck::detail {

class signal_sink {
 public:
  static constexpr int number_max = 64;

  /// Thread: any, at any point of its program. Whatever it does is async-signal-safe.
  virtual void signalled(const signal_info& info) noexcept = 0;

 protected:
  ~signal_sink() = default;
};

}  // namespace beck::detail
