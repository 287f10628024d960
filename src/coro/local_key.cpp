// SPDX-License-Identifier: BSL-1.0
// Looking for a coroutine-local value.
#include <beck/coro/local_key.hpp>

namespace beck::detail {

const void* local_value::find(const local_value* at, const void* key) noexcept {
  while (at != nullptr && at->key_ != key) at = at->outer_;
  return at != nullptr ? at->value_ : nullptr;
}

}  // namespace beck::detail
