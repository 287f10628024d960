// SPDX-License-Identifier: BSL-1.0
// Changes of subscriptions leave with the commands of the turn.
#include "redis/client/push_hub.hpp"

#include <new>

#include "redis/client/link.hpp"

namespace beck::redis::detail {

// --- subscriptions

void push_hub::join(subscriber& one) noexcept {
  router_.join(one);
  if (link_.is_closed()) router_.end(one, beck::error::operation_aborted);
}

void push_hub::leave(subscriber& one) noexcept {
  one.clear();
  router_.end(one, beck::error::operation_aborted);
  router_.leave(one);
  link_.connection().flush_soon();
}

void push_hub::subscribe(std::unique_ptr<add_call> call, const topic_names& names) noexcept {
  add_call* const begun = call.get();
  error_code ec =
      link_.is_closed() ? error_code(beck::error::operation_aborted) : link_.begin_living();
  try {
    if (!ec) router_.add(call, names, time_of(link_.executor()));
  } catch (const std::bad_alloc&) {
    ec = no_memory();
  }
  if (ec) {
    static_cast<void>(call.release());  // it destroys itself
    return begun->complete(ec);
  }
  link_.connection().flush_soon();
}

void push_hub::end_subscribing(add_call& call) noexcept {
  router_.end(call, beck::error::operation_aborted);
  link_.connection().flush_soon();
}

void push_hub::unsubscribe(subscriber& from, const topic_names& names) noexcept {
  router_.remove(from, names);
  link_.connection().flush_soon();
}

// --- caches

bool push_hub::is_tracking() const noexcept {
  return link_.connection().is_usable() && tracking_ && !tracking_->is_under_way() &&
         !tracking_->result().error();
}

exchange* push_hub::tracking_command(protocol version) {
  if (caches_.empty() || version != protocol::resp3) return nullptr;
  const bool is_due =
      !tracking_ || (!tracking_->is_under_way() && is_refused_for_now(tracking_->result().error()));
  if (!is_due) return nullptr;
  tracking_ = std::make_unique<own_command>("CLIENT", "TRACKING", "ON", "OPTIN");
  return tracking_.get();
}

void push_hub::take_push(const value& message) {
  const value_item root = message.root();
  if (root.size() != 2 || (*root.begin()).text() != "invalidate") return router_.take_push(message);
  for (cache_core& one : caches_) one.invalidate(root[1]);
}

/// A message of changes that is too large is one of all keys.
void push_hub::take_cut_push(const value& message) {
  const value_item root = message.root();
  const bool is_change = root.size() == 2 && (*root.begin()).text() == "invalidate";
  return is_change ? empty_caches() : router_.take_cut_push(message);
}

void push_hub::empty_caches() noexcept {
  for (cache_core& one : caches_) one.lose_all();
}

}  // namespace beck::redis::detail
