// SPDX-License-Identifier: BSL-1.0
// The end of a primitive that is still waited for.
#include <beck/detail/waiter.hpp>

namespace beck::detail {

waiter_list::~waiter_list() {
  waiter_chain abandoned;
  take_all(abandoned);
  abandoned.wake_all(waiter::dropped);
}

}  // namespace beck::detail
