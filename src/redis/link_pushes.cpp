// SPDX-License-Identifier: BSL-1.0
// The parts of a link that take pushes of the server: subscriptions and caches.
#include <new>

#include "redis/link.hpp"

namespace beck::redis::detail {

// --- subscriptions

void link::join(subscriber& one) noexcept {
  router_.join(one);
  if (is_closed_) router_.end(one, beck::error::operation_aborted);
}

void link::leave(subscriber& one) noexcept {
  one.clear();
  router_.end(one, beck::error::operation_aborted);
  router_.leave(one);
  if (is_ready_) flush_soon();
}

void link::subscribe(std::unique_ptr<add_call> call, const topic_names& names) noexcept {
  add_call* const begun = call.get();
  error_code ec = is_closed_ ? error_code(beck::error::operation_aborted) : begin_living();
  try {
    if (!ec) router_.add(call, names, now());
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (ec) {
    static_cast<void>(call.release());  // it destroys itself
    return begun->complete(ec);
  }
  if (is_ready_) flush_soon();
}

void link::end_subscribing(add_call& call) noexcept {
  router_.end(call, beck::error::operation_aborted);
  if (is_ready_) flush_soon();
}

void link::unsubscribe(subscriber& from, const topic_names& names) noexcept {
  router_.remove(from, names);
  if (is_ready_) flush_soon();
}

// --- caches: their keys are tracked on the connection

void link::join(cache_core& one) noexcept { caches_.push_back(one); }

void link::take_push(const value& message) {
  const value_item root = message.root();
  if (root.size() != 2 || (*root.begin()).text() != "invalidate") return router_.take_push(message);
  for (cache_core& one : caches_) one.invalidate(root[1]);
}

/// A message of changes that is too large is one of all keys.
void link::take_cut_push(const value& message) {
  const value_item root = message.root();
  const bool is_change = root.size() == 2 && (*root.begin()).text() == "invalidate";
  return is_change ? empty_caches() : router_.take_cut_push(message);
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
