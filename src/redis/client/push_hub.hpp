// SPDX-License-Identifier: BSL-1.0
// The users of a client's pushes: subscriptions and caches.
#pragma once

#include <memory>

#include <beck/base/assert.hpp>
#include <beck/detail/intrusive_list.hpp>

#include "redis/cache/cache_core.hpp"
#include "redis/push/push_router.hpp"
#include "redis/session/handshake.hpp"
#include "redis/session/session.hpp"

namespace beck::redis::detail {

/// The subscriptions and caches of one link. Thread: that of its context.
class push_hub final : public push_sink {
 public:
  explicit push_hub(link& of) noexcept : link_(of) {}

  push_router& router() noexcept { return router_; }
  const push_router& router() const noexcept { return router_; }

  // --- subscriptions
  void join(subscriber& one) noexcept;
  void leave(subscriber& one) noexcept;
  /// Takes a call of add(), or completes it with the reason why not.
  void subscribe(std::unique_ptr<add_call> call, const topic_names& names) noexcept;
  /// Ends such a call with operation_aborted.
  void end_subscribing(add_call& call) noexcept;
  void unsubscribe(subscriber& from, const topic_names& names) noexcept;

  // --- caches: their keys are tracked on the connection
  void join(cache_core& one) noexcept { caches_.push_back(one); }
  /// Returns whether the server has said, on a connection that is ready, that it tracks keys.
  bool is_tracking() const noexcept;
  /// Returns the command that asks the server to track keys, if it is to be sent now: once on each
  /// connection, before all others, unless the server refuses for now. `version`: of the
  /// connection. Throws std::bad_alloc.
  exchange* tracking_command(protocol version);
  /// Drops the replies of a connection that is lost: no message comes any more when they change.
  void empty_caches() noexcept;

  /// Takes the end of the connection, from which nothing is under way any more.
  void end_connection() noexcept {
    BECK_ASSERT(!tracking_ || !tracking_->is_under_way(),
                "a CLIENT TRACKING is under way behind the end of its connection");
    tracking_.reset();
  }
  /// Lets the session forget what is under way.
  void drop(session& from) noexcept {
    if (tracking_ && tracking_->is_under_way()) from.forget(*tracking_);
  }

 private:
  void take_push(const value& message) override;
  void take_cut_push(const value& message) override;

  link& link_;
  push_router router_;
  beck::detail::intrusive_list<cache_core, &cache_core::in_link> caches_;
  std::unique_ptr<own_command> tracking_;  // of this connection
};

}  // namespace beck::redis::detail
