// SPDX-License-Identifier: BSL-1.0
// The system's clock.
#include "tls/system_time.hpp"

#include <ctime>

namespace beck::tls::detail {

long long system_seconds() noexcept {
  timespec now{};
  static_cast<void>(::clock_gettime(CLOCK_REALTIME, &now));
  return now.tv_sec;
}

}  // namespace beck::tls::detail
