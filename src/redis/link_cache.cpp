// SPDX-License-Identifier: BSL-1.0
// The caches of a client: their keys are tracked on its connection, and the server's messages about
// them come as pushes.
#include <memory>

#include "redis/cache_core.hpp"
#include "redis/link.hpp"

namespace beck::redis::detail {

void link::join(cache_core& one) noexcept { caches_.push_back(one); }

void link::take_push(const value& message) {
  const value_item root = message.root();
  if (root.size() != 2 || (*root.begin()).text() != "invalidate") return router_.take_push(message);
  for (cache_core& one : caches_) one.invalidate(root[1]);
}

/// Drops the replies of a connection that is lost: no message comes any more when they change.
void link::empty_caches() noexcept {
  for (cache_core& one : caches_) one.lose_all();
}

/// Returns whether the server has to be asked to track keys, before the next command: once on each
/// connection, unless it refuses for now. Requires that the connection is ready.
bool link::needs_tracking() noexcept {
  if (caches_.empty() || greeting_->version() != protocol::resp3) return false;
  return !tracking_ ||
         (!tracking_->is_under_way() && is_refused_for_now(tracking_->result().error()));
}

}  // namespace beck::redis::detail
