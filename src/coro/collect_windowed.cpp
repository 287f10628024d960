// SPDX-License-Identifier: BSL-1.0
// What a window of no tasks gives.
#include <beck/coro/collect_windowed.hpp>

#include <stdexcept>

namespace beck::detail {

void refuse_empty_window() {
  throw std::invalid_argument(
      "beck::collect_windowed, for_each_limited: at most 0 tasks at a time would never end; at "
      "least 1");
}

}  // namespace beck::detail
